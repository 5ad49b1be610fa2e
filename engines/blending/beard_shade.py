"""How dark upper lip and chin are beside the cheeks, and no darker for a surrogate.

A shaved donor keeps the shade of a beard, or some of a moustache; on the head of a woman, a boy or
a man without either it looks smeared. One number is told of the head's upper lip and one of its
chin, and nothing of shapes. A surrogate only loses by it. A beard that a head does have is drawn by
`engines.blending.beards`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.blending.beards import beard_places, bearded_and_bare, eyes_of, square_around
from engines.blending.makeup import gain_to
from engines.stylegan.drawing import brightness, filled_around, spread_near
from engines.stylegan.topology import LIPS_OUTER_SLICE, NOSE_BASE_SLICE, OVAL_SLICE

__all__ = ["beard_shades", "is_shade_felt", "shade_gains", "without_beard_shade"]

_ASIDE: Final = 0.22
"""How far beside their middle lip and chin are looked at, too, distances of the eyes."""
_BOX: Final = 0.08
"""Half the side of what is looked at of each, distances of the eyes."""
_LEAST_PX: Final = 20.0
"""Distance of the eyes below which nothing is told."""
_DARK: Final = 0.35
"""Quantile of the brightness that tells a place: hair is darker than the skin between."""
_FAINT: Final = 8.0
"""Grey levels that are added, so that all faces in the dark are much alike."""
_FAINTLY: Final = 0.03
"""What is added to both sides of a gain: two faint shades are much alike."""
_LEAST: Final = 0.15
"""Share of a shade that is left at least."""
_SAME: Final = 0.95
"""Gain from which nothing is done."""
_SIDE: Final = 64
"""Side at which the skin below is spread, px; it is smooth."""
_NEAR: Final = 0.1
"""Deviation of the blur by which it is, a share of the side."""
_SOFT: Final = 0.02
"""Softness of what separates lip from chin, the same."""
_WHOLLY: Final = np.float32(0.4)
"""How surely a beard grows in a place that is wholly changed, and tells no skin: an upper lip is
narrow."""

Float32 = NDArray[np.float32]


def beard_shades(pixels: Float32 | NDArray[np.uint8], points: Float32) -> Float32:
    """How much darker upper lip and chin are than cheeks, shares of them: float32[2].

    Args:
        pixels: [S, S, 3] BGR of a crop, 0 to 255.
        points: float32[POINTS, 2] of the face, shares of the side.

    Returns:
        NaN of a face that is too small.
    """
    _, apart = eyes_of(points)
    if apart * len(pixels) < _LEAST_PX:
        return np.full(2, np.nan, np.float32)
    lip, chin, *cheeks = bearded_and_bare(points)
    grey, half = brightness(pixels), _BOX * apart
    aside = np.array([[step * _ASIDE * apart, 0] for step in (-1, 0, 1)])
    skin = _level(grey, cheeks, half)
    return np.array([1 - _level(grey, one + aside, half) / skin for one in (lip, chin)], np.float32)


def shade_gains(own: Float32, wanted: Float32) -> Float32:
    """How much of a painted shade is to be left for it to be as weak as wanted: float32[2], to 1.

    >>> shade_gains(np.float32([0.35, 0.1]), np.float32([0.07, 0.3])).round(2).tolist()
    [0.25999999046325684, 1.0]
    """
    pairs = zip(own.tolist(), wanted.tolist(), strict=True)
    gains = np.array([gain_to(*pair, _LEAST, _FAINTLY) for pair in pairs], np.float32)
    return np.nan_to_num(gains, nan=1.0)


def is_shade_felt(gains: Float32) -> bool:
    """Whether gains float32[2] of `shade_gains` weaken anything."""
    return float(gains.min()) < _SAME


def without_beard_shade(pixels: Float32, points: Float32, gains: Float32) -> None:
    """Makes what is darker than the skin about it fainter on upper lip and chin, in place.

    Args:
        pixels: float32[S, S, 3] BGR of a painted face, 0 to 255.
        points: float32[POINTS, 2] of it, shares of the side.
        gains: float32[2] of `shade_gains`.
    """
    if not is_shade_felt(gains):
        return
    place = beard_places(points, _SIDE)
    small = np.asarray(cv2.resize(pixels, (_SIDE, _SIDE), interpolation=cv2.INTER_AREA), np.float32)
    skin = spread_near(small, _cheeks(points, place), _NEAR * _SIDE)
    lips = points[LIPS_OUTER_SLICE, 1]
    rows = (np.arange(_SIDE, dtype=np.float32) + 0.5) / _SIDE
    low = np.clip((rows - lips.mean()) / np.float32(_SOFT) + np.float32(0.5), 0, 1)[:, None]
    less = np.minimum(place / _WHOLLY, 1) * (1 - (gains[0] + (gains[1] - gains[0]) * low))
    size = pixels.shape[1::-1]
    wide, weight = (cv2.resize(one, size) for one in (skin, np.asarray(less, np.float32)))
    pixels += np.maximum(wide - pixels, 0) * cv2.merge([weight] * 3)


def _cheeks(points: Float32, place: Float32) -> Float32:
    """How surely places are bare cheeks between eyes and mouth: float32[s, s].

    Args:
        points: float32[POINTS, 2] of the face, shares of the side.
        place: float32[s, s], where beards grow.
    """
    side = len(place)
    eyes, apart = eyes_of(points)
    nose, lips = points[NOSE_BASE_SLICE], points[LIPS_OUTER_SLICE]
    oval = filled_around(points[OVAL_SLICE] * side, place.shape) / np.float32(255)
    rows = (np.arange(side, dtype=np.float32) + 0.5) / side
    columns = rows[None]
    between = (rows > eyes[:, 1].mean() + 0.25 * apart) & (rows < lips[:, 1].mean())
    beside = (columns < nose[:, 0].min()) | (columns > nose[:, 0].max())
    bare = oval * (1 - np.minimum(place / _WHOLLY, 1))
    return np.asarray(bare * between[:, None] * beside + np.float32(1e-4), np.float32)


def _level(grey: Float32, places: Iterable[NDArray[np.float64]], half: float) -> float:
    """The mean over squares around places of how dark each is, grey levels."""
    parts = (grey[square_around(place, half, len(grey))] for place in places)
    found = [float(np.quantile(part, _DARK)) for part in parts if part.size]
    return float(np.mean(found)) + _FAINT if found else _FAINT
