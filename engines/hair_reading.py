"""What a picture tells of the hair around a painted face: where it begins, its colour, its wall.

All is read off the coarse crop of the composite, where the face has been painted over. The answers
are means over many pixels, without thresholds: one frame's answer is close to the next one's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.hair_cap import LUMA

__all__ = [
    "bare_above",
    "first_with",
    "hair_colour",
    "hair_share",
    "told_from_wall",
    "walls_behind",
]

_MIDDLE: Final = 0.25
"""Half width of the strip above a face in which a bare forehead is looked for, a share of the
outline's width."""
_AS_BRIGHT: Final = 0.9
_DARKER: Final = 0.12
_HUE: Final = 15.0
"""What is skin: from what share of the painted skin's brightness on, over what share it ends to
be, and by how many grey levels its colour may differ."""
_BEHIND: Final = 0.12
_WALL: Final = 50.0
"""Where a wall is looked for, a share of the crop's side from its left and right edge, and the
difference of colour, grey levels, at which hair is well told from it."""
_ALIKE: Final = 40.0
"""Difference of colour, grey levels, from mixtures of hair and wall at which a pixel is neither."""
_LEAST_SEEN: Final = 4
"""Pixels of hair from which on its colour is read off them."""
_FAINT: Final = 1e-4

Float32 = NDArray[np.float32]
Bool = NDArray[np.bool_]


def bare_above(around: Float32, known: Bool, corners: Float32, skin: Float32) -> float:
    """How far a bare forehead or crown is seen above the painted outline, px of the crop.

    Rows above the face count as long as all below them show skin, one that half shows it half.

    Args:
        around: float32[S, S, 3] BGR, 0…255.
        known: bool[S, S], where it may be read.
        corners: float32[M, 2] outline of the painted face, px of the crop.
        skin: float32[3] BGR, mean of the painted face.

    >>> around = np.full((64, 64, 3), 20, np.float32)
    >>> around[10:30] = skin = np.float32([90, 110, 150])
    >>> face = np.float32([[16, 30], [48, 30], [32, 60]])
    >>> round(bare_above(around, np.ones((64, 64), bool), face, skin))
    20
    """
    top, middle = float(corners[:, 1].min()), float(corners[:, 0].mean())
    reach, side = _MIDDLE * float(np.ptp(corners[:, 0])), len(around)
    left, right = (int(np.clip(middle + way * reach, 0, side)) for way in (-1, 1))
    rows = slice(0, int(np.clip(top, 0, side)))
    seen = known[rows, left:right]
    counts = seen.sum(axis=1)
    if not counts.any():
        return 0.0
    like = (_like_skin(around[rows, left:right], skin) * seen).sum(axis=1)
    share = (like[counts > 0] / counts[counts > 0])[::-1]
    hidden = max(top - float(np.flatnonzero(counts)[-1] + 1), 0.0)
    return float(np.cumprod(share).sum()) + hidden * float(share[0])


def hair_colour(around: Float32, known: Bool, above: Bool, skin: Float32) -> Float32:
    """Mean colour of what is known above the face and no skin, or else anywhere; float32[3] BGR.

    Args:
        around: float32[S, S, 3] BGR, 0…255.
        known: bool[S, S], where it may be read.
        above: bool[S, S], the part of the cap above the face.
        skin: float32[3] BGR, mean of the painted face.
    """
    seen = around[first_with((above & known, known), _LEAST_SEEN)]
    weight = 1 - _like_skin(seen, skin) + np.float32(_FAINT)
    return np.asarray(weight @ seen / weight.sum(), np.float32)


def walls_behind(around: Float32, known: Bool, corners: Float32) -> Float32:
    """Mean colours behind the head, read at the crop's upper corners: float32[2, 3] BGR.

    Args:
        around: float32[S, S, 3] BGR, 0…255.
        known: bool[S, S], where it may be read.
        corners: float32[M, 2] outline of the painted face, px of the crop.

    Returns:
        Left and right; NaN where nothing is seen.
    """
    side = len(around)
    width = round(_BEHIND * side)
    rows = slice(0, max(int(corners[:, 1].mean()), 1))
    walls = np.full((2, 3), np.nan, np.float32)
    for wall, columns in zip(walls, (slice(0, width), slice(side - width, side)), strict=True):
        seen = known[rows, columns]
        if seen.any():
            wall[:] = around[rows, columns][seen].mean(axis=0)
    return walls


def told_from_wall(walls: Float32, hair: Float32) -> float:
    """How well hair is told from what is behind the head: 0 where it has a wall's colour, to 1.

    Args:
        walls: float32[2, 3] BGR, see `walls_behind`; hair is told from what is not seen.
        hair: float32[3] BGR.
    """
    apart = np.abs(walls - hair).max(axis=1) / np.float32(_WALL)
    told = 1 - np.exp(-apart * apart)
    return float(np.where(np.isnan(told), 1, told).min())


def hair_share(smooth: Float32, hair: Float32, walls: Float32) -> Float32:
    """How much of every pixel is hair where hair and wall run into each other: float32[S, S].

    Args:
        smooth: float32[S, S, 3] BGR, 0…255.
        hair: float32[3] BGR.
        walls: float32[2, 3] BGR, see `walls_behind`; where none is seen all that has not the
            hair's colour is none.

    >>> walls, hair = np.full((2, 3), 200, np.float32), np.zeros(3, np.float32)
    >>> half = np.full((1, 8, 3), 100, np.float32)
    >>> float(hair_share(half, hair, walls)[0, 0])
    0.5
    """
    left, right = (one if np.isfinite(one).all() else other for one, other in (walls, walls[::-1]))
    along = np.linspace(0, 1, smooth.shape[1], dtype=np.float32)[:, None]
    way = np.nan_to_num(hair - (left + along * (right - left)))
    beyond = [plane - level for plane, level in zip(cv2.split(smooth), hair, strict=True)]
    share = sum((plane * one for plane, one in zip(beyond, way.T, strict=True)), np.float32(0))
    share /= (way * way).sum(axis=-1) + np.float32(_FAINT)
    share = np.clip(1 + share, 0, 1)
    neither = [np.abs(plane + (1 - share) * one) for plane, one in zip(beyond, way.T, strict=True)]
    apart = np.maximum(np.maximum(*neither[:2]), neither[2]) / np.float32(_ALIKE)
    return np.asarray(share * np.exp(-apart * apart), np.float32)


def first_with(places: Sequence[Bool], pixels: int) -> Bool:
    """The first of some places that has so many pixels, or the last."""
    return next((one for one in places if int(one.sum()) >= pixels), places[-1])


def _like_skin(around: Float32, skin: Float32) -> Float32:
    """1 where a picture has the painted skin's hue and is about as bright: float32[...].

    Args:
        around: float32[..., 3] BGR, 0…255.
        skin: float32[3].
    """
    luma, skin_luma = around @ LUMA, max(float(skin @ LUMA), 1.0)
    level = luma / np.float32(skin_luma)
    # Skin in the light is brighter and hardly more colourful: a channel is at its end.
    wanted = np.minimum(level, 1)[..., None] * (skin - np.float32(skin_luma))
    apart = np.abs(around - luma[..., None] - wanted).max(axis=-1) / np.float32(_HUE)
    dark = np.maximum(np.float32(_AS_BRIGHT) - level, 0) / np.float32(_DARKER)
    return np.asarray(np.exp(-(apart**4) - dark * dark), np.float32)
