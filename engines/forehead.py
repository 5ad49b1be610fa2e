"""The forehead of a head that wears a surrogate: its painted skin, drawn up to a high hairline.

A patch ends in the middle of a forehead. Above it the upper face's own skin goes on: its detail is
folded, so that nothing is stretched, and its colours run out along the rays.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.polar import along, distances, smooth_around
from engines.reshaping import Rim
from engines.stylegan.drawing import rise

__all__ = ["forehead_distances", "forehead_tone", "is_forehead", "shading"]

_FOREHEAD: Final = 0.10
_SKIN_RIM: Final = 0.03
"""How much of the upper face is drawn up to a high hairline, but for its rim, which is dull."""
_AROUND: Final = np.array([-0.02, -0.01, 0.0, 0.01, 0.02], np.float32)
_COLOUR_SPREAD: Final = 3.0
"""Where along a ray its colour is seen, from where the forehead begins, and over how many rays."""
_BROADLY: Final = 10.0
_BROADER: Final = (0.0, 0.12)
"""Over how many rays that is so far out, and from where to where it becomes so: what shines on a
forehead would run up it as a streak."""
_TONED: Final = 0.05
"""Over what distance the forehead's colours give way to that."""
_SHADE: Final = 0.10
_SHADE_WIDTH: Final = 0.06
"""How much darker skin is at a hairline, and over what distance that fades."""

Float32 = NDArray[np.float32]


def forehead_distances(rim: Rim) -> Float32:
    """For every place on the rays the distance that its forehead is taken from.

    It is a place's own up to the rim of the painted face, and goes back and forth beyond: skin is
    as large as it was painted.

    Returns:
        float32[RAYS, STEPS], shares of the patch's side.
    """
    inner, out = _inner(rim), distances()
    raised = np.maximum(rim.painted - rim.face, 0)[:, None]
    width = np.float32(_FOREHEAD) - np.minimum(raised, np.float32(_SKIN_RIM))
    way = np.mod(out - inner, 2 * width)
    folded = inner + np.minimum(way, 2 * width - way)
    return np.asarray(np.where(out < inner, out, folded), np.float32)


def forehead_tone(painted: Float32, taken: Float32, rim: Rim) -> Float32:
    """What must be added to it for its colours to run out: float32[RAYS, STEPS, 3].

    Args:
        painted: float32[RAYS, STEPS, 3] BGR, the painted face.
        taken: `forehead_distances`.
        rim: where the face ends.
    """
    inner, out = _inner(rim), distances()
    colour = along(painted, inner + _AROUND).mean(axis=1)
    own = smooth_around(np.asarray(colour, np.float32), _COLOUR_SPREAD)[:, None]
    broad = smooth_around(np.asarray(colour, np.float32), _BROADLY)[:, None]
    own = own + (broad - own) * rise(np.asarray(out - inner, np.float32), *_BROADER)[..., None]
    toned = rise(np.asarray(out - inner, np.float32), 0.0, _TONED) * _raised(rim)
    return np.asarray((own - along(painted, taken)) * toned[..., None])


def is_forehead(rim: Rim) -> Float32:
    """1 where that shows, under the rim of hair too, 0 elsewhere: float32[RAYS, STEPS]."""
    out = distances()
    inside = (out > _inner(rim)) & (out < rim.painted[:, None] + 0.05)
    return np.asarray(inside * _raised(rim), np.float32)


def shading(rim: Rim) -> Float32:
    """How much darker the forehead is towards its hair, from 0 to 1: float32[RAYS, STEPS]."""
    away = np.maximum(rim.painted[:, None] - distances(), 0) / np.float32(_SHADE_WIDTH)
    return np.asarray(np.float32(_SHADE) * rim.altered[:, None] * np.exp(-away), np.float32)


def _raised(rim: Rim) -> Float32:
    return rise(rim.altered, 0.0, 0.1)[:, None]


def _inner(rim: Rim) -> Float32:
    """Radius within which a painted face stays as it is, float32[RAYS, 1]."""
    return (np.minimum(rim.face, rim.painted) - np.float32(_FOREHEAD))[:, None]
