"""Knees of a curve: where more of one thing stops costing as much of another."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Shape", "knees"]

Shape = Literal["concave", "convex"]


def knees(
    x: NDArray[np.floating],
    y: NDArray[np.floating],
    shape: Shape = "concave",
    sensitivity: float = 1.0,
) -> list[int]:
    """Positions of the knees of a rising curve (Satopää et al. 2011, "Kneedle").

    Both axes are scaled to 0…1 and the chord is subtracted. Each local maximum of the
    difference is a candidate; it is a knee when the difference then falls by `sensitivity`
    mean steps of x before it rises above the candidate again. The curve is not smoothed.

    Args:
        x: (n,) strictly ascending.
        y: (n,) values; a falling curve is mirrored by the caller.
        shape: `concave` flattens after the knee; `convex` steepens after it.
        sensitivity: ≥ 0; larger finds fewer and more pronounced knees.

    Returns:
        Ascending positions in x; none for fewer than three points or a flat curve.

    Raises:
        ValueError: x is not ascending, or the lengths differ.

    >>> x = np.arange(1, 11)
    >>> [int(x[i]) for i in knees(x, np.minimum(x, 4))]
    [4]
    """
    if x.ndim != 1 or x.shape != y.shape or not (np.diff(x) > 0).all():
        raise ValueError("a curve needs as many values as ascending places")
    height = float(np.ptp(y)) if len(y) else 0.0
    if len(x) < 3 or height == 0:
        return []
    across = (x - x[0]) / (x[-1] - x[0])
    up = (y - y.min()) / height
    bulge = up - across if shape == "concave" else across - up
    drop = sensitivity * float(np.diff(across).mean())
    return [peak for peak in _peaks(bulge) if _is_confirmed(bulge, peak, drop)]


def _peaks(bulge: NDArray[np.floating]) -> list[int]:
    return [
        i for i in range(1, len(bulge) - 1) if bulge[i] > bulge[i - 1] and bulge[i] >= bulge[i + 1]
    ]


def _is_confirmed(bulge: NDArray[np.floating], peak: int, drop: float) -> bool:
    for value in bulge[peak + 1 :]:
        if value > bulge[peak]:
            return False
        if value < bulge[peak] - drop + 1e-12:
            return True
    return False
