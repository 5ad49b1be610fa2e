"""Lets surroundings run into a painted face: no step of colour shows at its rim.

The difference of face and surroundings along the rim is added to these, fading outwards (after
Pérez, Gangnet and Blake 2003, with the rim's own difference for the membrane). Only what has the
painted skin's colour takes part, brighter or darker as it may be: a neck, an ear, a bare forehead.
Hair and what is behind a head end at a face as they do in photographs. The face itself is left as
it was painted, and learns nothing from its surroundings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.polar import DOWN, along, distances, smooth_around
from engines.stylegan.drawing import LUMA, hue_square, rise

__all__ = [
    "Neighbours",
    "contour_of",
    "farthest",
    "neighbours_of",
    "skin_likeness",
    "toned",
]

_INSIDE: Final = 0.03
_OUTSIDE: Final = 0.02
"""How far on both sides of the rim colours are compared."""
_FADES: Final = 0.12
"""Over what distance the difference fades."""
_BRIGHTER: Final = 50.0
_HUE: Final = 14.0
"""Differences, grey levels, of brightness and of colour at which a place is no more that skin."""
_SPREAD: Final = 2.0
"""Deviation of the blur along the rim, rays."""
_FAINT: Final = 0.02
_IN_SHADE: Final = 0.8
_UNDER_JAW: Final = (0.2, 0.6)
"""How much less what is under a jaw is made brighter, and how steeply rays fall from which on it
is, in part and wholly: a jaw stands out from a neck by its shade."""

Float32 = NDArray[np.float32]


def farthest(difference: Float32) -> Float32:
    """Largest magnitude over the channels of float32[H, W, 3]: float32[H, W]."""
    blue, green, red = cv2.split(np.abs(difference))
    return np.asarray(cv2.max(cv2.max(blue, green), red), np.float32)


def skin_likeness(colours: Float32, skin: Float32) -> Float32:
    """How much colours float32[..., 3] BGR are that skin float32[..., 3] in some light: [...].

    >>> skin = np.float32([90, 110, 150])
    >>> skin_likeness(np.stack([skin, np.full(3, 90, np.float32)]), skin).round(2).tolist()
    [1.0, 0.0]
    """
    apart = colours - skin
    luma = np.asarray(apart @ LUMA, np.float32)
    square = (luma / np.float32(_BRIGHTER)) ** 2
    square += hue_square(apart, luma) / np.float32(_HUE * _HUE)
    return np.asarray(np.exp(-square), np.float32)


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Both sides of a painted face's rim.

    Attributes:
        near: float32[RAYS, 3] BGR inside.
        beside: float32[RAYS, 3] BGR outside.
        like: float32[RAYS], how much that is the same skin, 0 to 1.
    """

    near: Float32
    beside: Float32
    like: Float32


def neighbours_of(drawn: Float32, painted: Float32, face: Float32, rim: Float32) -> Neighbours:
    """What lies on both sides of a rim.

    Args:
        drawn: float32[RAYS, STEPS, 3] BGR, the surroundings as they were drawn in.
        painted: float32[RAYS, STEPS, 3] BGR, the painted face.
        face: float32[RAYS], where it ends.
        rim: float32[RAYS], where surroundings begin: beyond a forehead that it is drawn up to.
    """
    near = smooth_around(along(painted, face[:, None] - np.float32(_INSIDE))[:, 0], 1.0)
    beside = along(drawn, rim[:, None] + np.float32(_OUTSIDE))[:, 0]
    return Neighbours(near, beside, skin_likeness(beside, near))


def toned(drawn: Float32, sides: Neighbours, rim: Float32) -> Float32:
    """What must be added to surroundings: float32[RAYS, STEPS, 3].

    Args:
        drawn: float32[RAYS, STEPS, 3] BGR, the surroundings as they were drawn in.
        sides: of the rim.
        rim: float32[RAYS], where surroundings begin.
    """
    near, like = sides.near, sides.like[:, None]
    total = smooth_around((near - sides.beside) * like, _SPREAD)
    weight = smooth_around(like, _SPREAD)
    step = total / (weight + np.float32(_FAINT))
    in_shade = 1 - np.float32(_IN_SHADE) * rise(DOWN, *_UNDER_JAW)
    step = np.where(step > 0, step * in_shade[:, None], step)
    away = np.maximum(distances() - rim[:, None], 0)
    fading = np.exp(-away / np.float32(_FADES)) * skin_likeness(drawn, near[:, None])
    return np.asarray(step[:, None] * fading[..., None], np.float32)


def contour_of(sides: Neighbours, crisp: float) -> Float32:
    """How much more suddenly a face ends than skin goes over into skin: float32[RAYS], 1 and more.

    Before a wall or in front of a neck in shade the outline of a head is as sharp as the picture.

    Args:
        sides: of the rim.
        crisp: how much more suddenly, where there is no skin beside it.
    """
    apart = smooth_around(1 - sides.like, _SPREAD)
    return np.asarray(1 + np.float32(crisp - 1) * apart, np.float32)
