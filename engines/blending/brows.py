"""How dark and how warm brows are beside the skin, and about the same for a surrogate.

Brows go with the hair, which stays in view: pale ones under dark hair look bare, and black or
bluish ones under fair hair look painted on. Two numbers are told of the head that is seen; nothing
of its brows' shape is.
"""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.stylegan.drawing import box_around, brightness, filled_around, spread_coarsely
from engines.stylegan.topology import BROW_LEFT_SLICE, BROW_RIGHT_SLICE

__all__ = ["BROW_GAINS", "BROW_WARMTHS", "brow_darkness", "brow_warmth", "with_brows"]

BROW_GAINS: Final = (0.55, 1.25)
"""How much fainter, and how much stronger, brows become at most. More smudges pale brows, whose
ends and shades become dark with them; who has dark hair rather gets another surrogate."""
BROW_WARMTHS: Final = (-0.2, 0.45)
"""How much warmer brows become at most; see `brow_warmth`."""
_LEAST_PX: Final = 6.0
"""Width of a brow below which it is not looked at."""
_DARK: Final = 0.3
"""Quantile of the brightness of its place that tells a brow."""
_BRIGHT: Final = 0.7
"""The same of what is about it that tells skin: eyes, hair and the rims of glasses are darker."""
_MIDDLE: Final = 0.5
"""The same from which what is about it tells the hue of skin."""
_HAIRY: Final = 0.35
"""How much darker than skin, a share of it, a place is that surely shows hair."""
_REACH: Final = 0.2
"""How far around a brow it is drawn anew, and the skin about it is looked at: shares of its
width."""
_SMALL: Final = 24
"""Width at which the skin about a brow is told, px."""
_SOFT: Final = 0.06
_FAINT: Final = 8.0
"""Grey levels that are added, so that brows in the dark are much alike."""

Float32 = NDArray[np.float32]
Bools = NDArray[np.bool_]
Picture = Float32 | NDArray[np.uint8]


def brow_darkness(luma: Float32, points: Float32) -> float:
    """How much darker brows are than the skin about them, a share of it; 0 where they are small.

    Args:
        luma: float32[S, S] of a crop, grey levels.
        points: float32[POINTS, 2] of the face, shares of the side.
    """
    found = []
    for view, is_brow, is_skin in _seen(luma, points):
        hair, skin = np.quantile(view[is_brow], _DARK), np.quantile(view[is_skin], _BRIGHT)
        found.append(1 - (float(hair) + _FAINT) / (float(skin) + _FAINT))
    return float(np.mean(found)) if found else 0.0


def brow_warmth(pixels: Picture, points: Float32) -> float:
    """How much redder and less blue brows are than the skin about them, a logarithm; NaN if small.

    Args:
        pixels: [S, S, 3] BGR of a crop, 0 to 255.
        points: float32[POINTS, 2] of the face, shares of the side.
    """
    found = []
    for seen, is_brow, is_skin in _seen(pixels, points):
        view = seen.astype(np.float32)
        luma = brightness(view)
        dark = is_brow & (luma <= np.quantile(luma[is_brow], _DARK))
        bright = is_skin & (luma >= np.quantile(luma[is_skin], _MIDDLE))
        hair, skin = (view[one].mean(axis=0) + _FAINT for one in (dark, bright))
        found.append(float(np.log(hair[2] / hair[0] * (skin[0] / skin[2]))))
    return float(np.mean(found)) if found else float("nan")


def with_brows(pixels: Float32, points: Float32, gain: float, warmth: float = 0.0) -> None:
    """Makes brows stand out from the skin about them by so much more, or less, in place.

    Args:
        pixels: float32[S, S, 3] BGR, 0 to 255.
        points: float32[POINTS, 2] of the face, shares of the side.
        gain: within `BROW_GAINS`.
        warmth: how much warmer they are to become, within `BROW_WARMTHS`; see `brow_warmth`.
    """
    for brow in _brows_of(points) * len(pixels):
        box = _box(brow, len(pixels))
        if box is None:
            continue
        left, top, right, bottom = box
        view, inside = pixels[top:bottom, left:right], _place(brow, box)
        skin = spread_coarsely(view, 1 - inside, _SMALL, _REACH)
        if warmth:
            _warm(view, skin, inside, warmth)
        if gain < 1:
            view += np.minimum(view - skin, 0) * (inside * np.float32(gain - 1))[..., None]
            continue
        luma = brightness(view)
        darker = np.minimum(luma - brightness(skin), 0) * inside * np.float32(gain - 1)
        view *= np.maximum(1 + darker / (luma + 1), 0)[..., None]


def _seen(picture: Picture, points: Float32) -> list[tuple[Picture, Bools, Bools]]:
    """What is seen of both brows, and which places are brow and which skin; nothing of small ones.

    Args:
        picture: [S, S(, 3)] of a crop.
        points: float32[POINTS, 2] of the face, shares of the side.
    """
    found = []
    for brow in _brows_of(points) * len(picture):
        box = _box(brow, len(picture))
        if box is None:
            return []
        left, top, right, bottom = box
        inside = _place(brow, box)
        is_brow, is_skin = np.asarray(inside > 0.5), np.asarray(inside < 0.05)
        if not is_brow.any() or not is_skin.any():
            return []
        found.append((picture[top:bottom, left:right], is_brow, is_skin))
    return found


def _warm(view: Float32, skin: Float32, inside: Float32, warmth: float) -> None:
    """Makes what is darker than the skin redder and less blue, as bright as it was, in place."""
    luma, bright = brightness(view), brightness(skin)
    hair = inside * np.minimum(np.maximum(bright - luma, 0) / (_HAIRY * bright + 1), 1)
    view[..., 0] *= np.exp(np.float32(-warmth / 2) * hair)
    view[..., 2] *= np.exp(np.float32(warmth / 2) * hair)
    view *= ((luma + 1) / (brightness(view) + 1))[..., None]


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
