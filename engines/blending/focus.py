"""How much a picture is out of focus, or blurred by movement: the width of its strongest edges."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_BLUR", "edge_width", "slopes_of"]

MOST_BLUR: Final = 3.0
"""Width from which on edges are all the same, px."""
_LEAST_EDGE: Final = 6.0
"""Strength of the strongest edges, grey levels per px, below which focus cannot be told."""
_STRONGEST: Final = 96.0
_FIRST_BLUR: Final = 0.7
_SECOND_BLUR: Final = 1.5
"""Blurs that tell a sharp edge, which they weaken, from a soft one, which they hardly do; px."""
_LEAST_PIXELS: Final = 64

Float32 = NDArray[np.float32]


def slopes_of(grey: Float32) -> tuple[Float32, Float32]:
    """Slopes of a picture float32[H, W] that is blurred a little, and of one that is more."""
    return _slope(grey, _FIRST_BLUR), _slope(grey, _SECOND_BLUR)


def edge_width(slopes: tuple[Float32, Float32], where: NDArray[np.bool_]) -> float:
    """Deviation of the blur of the strongest edges, px, `MOST_BLUR` at most; NaN without edges.

    Args:
        slopes: as from `slopes_of`.
        where: bool[H, W], the places that count.
    """
    if where.sum() < _LEAST_PIXELS:
        return float("nan")
    edges = slopes[0][where]
    least = float(np.percentile(edges, _STRONGEST))
    if least < _LEAST_EDGE:
        return float("nan")
    strong = edges >= least
    kept = float(np.median(slopes[1][where][strong] / edges[strong]))
    # The slope of an edge of width s falls as 1 / sqrt(s² + blur²).
    square = (kept**2 * _SECOND_BLUR**2 - _FIRST_BLUR**2) / max(1 - kept**2, 1e-3)
    return float(np.sqrt(np.clip(square, 0.0, MOST_BLUR**2)))


def _slope(grey: Float32, blur: float) -> Float32:
    soft = cv2.GaussianBlur(grey, (0, 0), blur)
    across = cv2.Scharr(soft, cv2.CV_32F, 1, 0, scale=1 / 32)
    down = cv2.Scharr(soft, cv2.CV_32F, 0, 1, scale=1 / 32)
    return np.asarray(cv2.magnitude(across, down), np.float32)
