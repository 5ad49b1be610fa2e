"""Colours that hair has, and no hair where a cap has none of them.

Hair is black, brown, fair, red, grey or white: no bluer than green, no greener than red, and red
only with some yellow. Coloured lamps shift that, and skin with it.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.hairline import Hair
from engines.hidden_hair import UPPER
from engines.stylegan.drawing import LUMA, rise

__all__ = ["LEAST_PLACES", "allowed_by", "natural_hair", "naturalness"]

LEAST_PLACES: Final = 3.0
"""Places that must be hair for it to have a colour."""
_RED: Final = (2.5, 25.0)
_UNNATURAL: Final = (20.0, 35.0)
"""How much redder than green hair may be, of how much greener than blue it is, and added to that;
and by how many grey levels, more than skin in the same light, a colour is beyond what hair has for
it to be a cap's, perhaps and surely."""

Float32 = NDArray[np.float32]


def natural_hair(hair: Hair, around: Float32, skin: Float32) -> Hair:
    """Hair as it was read, none where its colour is no hair's: blue, green and scarlet caps stay.

    Args:
        hair: as it was read.
        around: float32[RAYS, STEPS, 3] BGR, the surroundings as they are seen.
        skin: float32[3] BGR of the face, in the same light.
    """
    above = hair.places * UPPER[:, None]
    seen = float(above.sum())
    if seen < LEAST_PLACES:
        return hair
    mean = np.einsum("rs,rsc->c", above, around) / seen
    light = min(float((mean @ LUMA) / max(float(skin @ LUMA), 1.0)), 1.0)
    share = naturalness(mean, allowed_by(skin) * light)
    ends = hair.begins + share * (hair.ends - hair.begins)
    return Hair(hair.begins, np.asarray(ends, np.float32), hair.places * share, hair.hidden)


def naturalness(colour: Float32, allowed: float = 0.0) -> Float32:
    """1 where colours float32[..., 3] BGR are some hair's, 0 where they are none's: float32[...].

    Args:
        colour: colours.
        allowed: how far beyond they may be in this light, grey levels.
    """
    beyond = np.asarray(_unlike_hair(colour) - np.float32(allowed), np.float32)
    return 1 - rise(beyond, *_UNNATURAL)


def allowed_by(colour: Float32) -> float:
    """How far beyond those of hair a colour float32[3] BGR is, if at all, grey levels.

    Skin or hair that is bluish itself shows a lamp in which others may be, too.
    """
    return max(float(_unlike_hair(colour)), 0.0)


def _unlike_hair(colour: Float32) -> Float32:
    """How far colours float32[..., 3] BGR are beyond those of hair: bluer, greener or redder.

    >>> _unlike_hair(np.array([[25, 30, 40], [140, 60, 60]], np.float32)).tolist()
    [-5.0, 80.0]
    """
    blue, green, red = (colour[..., channel] for channel in range(3))
    redder = red - green - _RED[0] * np.maximum(green - blue, 0) - _RED[1]
    return np.asarray(np.maximum(np.maximum(blue - green, green - red), redder), np.float32)
