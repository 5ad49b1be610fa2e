"""How dark brows are beside the skin, and about as dark ones for a surrogate.

Brows go with the hair, which stays in view: pale ones under dark hair look bare, and black ones
under fair hair look painted on. One number is told of the head that is seen; nothing of its brows'
shape is.
"""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.stylegan.drawing import box_around, brightness, filled_around, spread_coarsely
from engines.stylegan.topology import BROW_LEFT_SLICE, BROW_RIGHT_SLICE

__all__ = ["BROW_GAINS", "brow_darkness", "with_brows"]

BROW_GAINS: Final = (0.55, 1.25)
"""How much fainter, and how much stronger, brows become at most. More smudges pale brows, whose
ends and shades become dark with them; who has dark hair rather gets another surrogate."""
_LEAST_PX: Final = 6.0
"""Width of a brow below which it is not looked at."""
_DARK: Final = 0.3
"""Quantile of the brightness of its place that tells a brow."""
_BRIGHT: Final = 0.7
"""The same of what is about it that tells skin: eyes, hair and the rims of glasses are darker."""
_REACH: Final = 0.2
"""How far around a brow it is drawn anew, and the skin about it is looked at: shares of its
width."""
_SMALL: Final = 24
"""Width at which the skin about a brow is told, px."""
_SOFT: Final = 0.06
_FAINT: Final = 8.0
"""Grey levels that are added, so that brows in the dark are much alike."""

Float32 = NDArray[np.float32]


def brow_darkness(luma: Float32, points: Float32) -> float:
    """How much darker brows are than the skin about them, a share of it; 0 where they are small.

    Args:
        luma: float32[S, S] of a crop, grey levels.
        points: float32[POINTS, 2] of the face, shares of the side.
    """
    found = []
    for brow in _brows_of(points) * len(luma):
        box = _box(brow, len(luma))
        if box is None:
            return 0.0
        left, top, right, bottom = box
        view, inside = luma[top:bottom, left:right], _place(brow, box)
        if not (inside > 0.5).any() or not (inside < 0.05).any():
            return 0.0
        hair = float(np.quantile(view[inside > 0.5], _DARK))
        skin = float(np.quantile(view[inside < 0.05], _BRIGHT))
        found.append(1 - (hair + _FAINT) / (skin + _FAINT))
    return float(np.mean(found))


def with_brows(pixels: Float32, points: Float32, gain: float) -> None:
    """Makes brows stand out from the skin about them by so much more, or less, in place.

    Args:
        pixels: float32[S, S, 3] BGR, 0 to 255.
        points: float32[POINTS, 2] of the face, shares of the side.
        gain: within `BROW_GAINS`.
    """
    for brow in _brows_of(points) * len(pixels):
        box = _box(brow, len(pixels))
        if box is None:
            continue
        left, top, right, bottom = box
        view, inside = pixels[top:bottom, left:right], _place(brow, box)
        skin = spread_coarsely(view, 1 - inside, _SMALL, _REACH)
        if gain < 1:
            view += np.minimum(view - skin, 0) * (inside * np.float32(gain - 1))[..., None]
            continue
        luma = brightness(view)
        darker = np.minimum(luma - brightness(skin), 0) * inside * np.float32(gain - 1)
        view *= np.maximum(1 + darker / (luma + 1), 0)[..., None]


def _brows_of(points: Float32) -> Float32:
    """The points of both brows, float32[2, M, 2]."""
    return np.stack([points[BROW_LEFT_SLICE], points[BROW_RIGHT_SLICE]])


def _width(brow: Float32) -> float:
    return float(np.ptp(brow, axis=0).max())


def _box(brow: Float32, size: int) -> tuple[int, int, int, int] | None:
    """Where a brow with the skin about it lies; None where that is too small to be looked at."""
    if _width(brow) < _LEAST_PX:
        return None
    left, top, right, bottom = box_around(brow, _REACH * _width(brow), size)
    return None if min(right - left, bottom - top) < _LEAST_PX / 2 else (left, top, right, bottom)


def _place(brow: Float32, box: tuple[int, int, int, int]) -> Float32:
    """Where a brow is in its box: float32[H, W] in [0, 1]."""
    left, top, right, bottom = box
    drawn = filled_around(brow - (left, top), (bottom - top, right - left))
    soft = max(_SOFT * _width(brow), 0.8)
    wide = cv2.dilate(drawn, np.ones((3, 3), np.uint8), iterations=max(1, round(soft)))
    return np.asarray(cv2.GaussianBlur(wide, (0, 0), soft) / np.float32(255), np.float32)
