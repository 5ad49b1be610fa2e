"""Temples without what is left of hair there, and of the shade that it throws.

Donors' textures end at the hairline, but strands over a temple and their shadows lie within it. On
a head whose hair lies elsewhere they are dark smudges beside the brows. What is much darker there
than the skin around it becomes as bright; wrinkles and freckles are finer, or fainter.
"""

from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.donors.skin import away_from_features, within_outline
from engines.stylegan.drawing import brightness, rise, spread_near
from engines.stylegan.topology import BROW_LEFT_SLICE, EYE_LEFT_SLICE, EYE_RIGHT_SLICE

__all__ = ["with_bare_temples"]

_OFF: Final = (0.0, 0.02)
"""How far off eyes and brows skin begins, shares of the side."""
_INSIDE: Final = (0.02, 0.05)
_SURELY_INSIDE: Final = (0.05, 0.08)
"""How far within the outline a texture is no plain rim, and surely shows skin, likewise."""
_BELOW: Final = 0.06
"""How far below the eyes temples end, likewise."""
_OUT: Final = 0.06
_OVER: Final = 0.06
"""How far beyond the middle of an eye, and how far above the brows, they begin, likewise."""
_BROAD: Final = 0.012
"""Deviation of the blur beyond which smudges remain, likewise."""
_AROUND: Final = 0.07
"""The same of the blur that spreads skin over them."""
_SKIN: Final = (-0.06, 0.03)
"""Brightness, texture units, from which a place begins to count as skin."""
_FAINT: Final = 0.05
"""How much darker than skin shades may be, the same: foreheads are round."""
_LEAST: Final = 1e-3

Float32 = npt.NDArray[np.float32]


def with_bare_temples(texture: Float32, face: Float32) -> Float32:
    """A texture without smudges at its temples and above its brows, a new array.

    Args:
        texture: float32[S, S, 3] BGR in about [-1, 1].
        face: float32[>= MESH_POINTS, 2] of the canonical face on it, texture units.
    """
    size = len(texture)
    within, off = within_outline(face, size), rise(away_from_features(face, size), *_OFF)
    place = off * rise(within, *_INSIDE) * _where_temples_lie(face, size)
    soft = np.asarray(cv2.GaussianBlur(texture, (0, 0), _BROAD * size), np.float32)
    known = off * rise(within, *_SURELY_INSIDE) * rise(brightness(soft), *_SKIN)
    skin = spread_near(texture, np.asarray(known + _LEAST, np.float32), _AROUND * size)
    lacking = np.maximum(skin - np.float32(_FAINT) - soft, 0)
    return np.asarray(texture + lacking * place[..., None], np.float32)


def _where_temples_lie(face: Float32, size: int) -> Float32:
    """Temples, and the forehead above the brows: float32[S, S] in [0, 1]."""
    steps = (np.arange(size, dtype=np.float32) + 0.5) / np.float32(size)
    (left, _), (right, _) = (face[eye].mean(axis=0) for eye in (EYE_LEFT_SLICE, EYE_RIGHT_SLICE))
    eyes, brows = float(face[EYE_LEFT_SLICE, 1].max()), float(face[BROW_LEFT_SLICE, 1].min())
    beside = rise(np.abs(steps - (left + right) / 2), (right - left) / 2, (right - left) / 2 + _OUT)
    above = 1 - rise(steps, brows - _OVER, brows)
    return np.asarray(
        np.maximum(beside, above[:, None]) * (1 - rise(steps, eyes, eyes + _BELOW))[:, None],
        np.float32,
    )
