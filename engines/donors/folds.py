"""Folds beside nose and mouth, which smiling donors bring along and lamps on one side deepen.

A surrogate has them in its texture whatever it does, and the cheek of a turned head shows them
drawn wide: dark furrows. What is darker than the cheek around it by more than a faint fold is
lightened. Beards, which are wider, stay, and so do nostrils and lips, which lie elsewhere.
"""

from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.stylegan.drawing import brightness
from engines.stylegan.topology import (
    EYE_LEFT_SLICE,
    EYE_RIGHT_SLICE,
    LIPS_OUTER_SLICE,
    NOSE_BASE_SLICE,
)

__all__ = ["with_faint_folds"]

_WIDEST: Final = 0.16
"""Width up to which what is dark is a fold, in distances of the eyes; more takes beards for one."""
_FAINT: Final = 0.06
"""How much darker than the cheek around it a fold may be, where black to white is 2."""
_TAKEN: Final = 0.75
"""Share of what is beyond that which is lightened: none of a fold looks like a mask."""
_PLACES: Final = (
    (NOSE_BASE_SLICE.start, LIPS_OUTER_SLICE.start, -1),
    (NOSE_BASE_SLICE.stop - 1, LIPS_OUTER_SLICE.start + 10, 1),
)
"""Wing of the nose, corner of the mouth, and which way is outwards, of both sides."""
_BESIDE_NOSE: Final = (0.05, -0.05)
_BESIDE_MOUTH: Final = (0.15, 0.0)
"""How far out of those, and down, folds begin and end, in distances of the eyes."""
_REACH: Final = 0.22
"""Width of the band in which they lie, and over a quarter of which it fades, likewise."""

Float32 = npt.NDArray[np.float32]


def with_faint_folds(texture: Float32, face: Float32) -> Float32:
    """A texture whose folds are faint, a new array.

    Args:
        texture: float32[S, S, 3] BGR in about [-1, 1].
        face: float32[>= MESH_POINTS, 2] of the canonical face on it, crop units.
    """
    size = texture.shape[0]
    left, right = (face[eye].mean(axis=0) for eye in (EYE_LEFT_SLICE, EYE_RIGHT_SLICE))
    apart = size * float(np.linalg.norm(right - left))
    width = max(round(_WIDEST * apart), 3)
    luma = cv2.GaussianBlur(brightness(texture), (0, 0), 1.0)
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (width, width))
    around = cv2.GaussianBlur(cv2.morphologyEx(luma, cv2.MORPH_CLOSE, disc), (0, 0), width / 4)
    beyond = np.maximum(around - luma - np.float32(_FAINT), 0)
    lighter = np.float32(_TAKEN) * beyond * _where_folds_lie(face, size, apart)
    return np.asarray(texture + lighter[..., None], np.float32)


def _where_folds_lie(face: Float32, size: int, apart: float) -> Float32:
    """Two bands from the nose past the mouth's corners, float32[S, S] in [0, 1]."""
    drawn = np.zeros((size, size), np.float32)
    for wing, corner, outwards in _PLACES:
        ends = [
            face[place] * size + apart * np.array([outwards * out, down])
            for place, (out, down) in ((wing, _BESIDE_NOSE), (corner, _BESIDE_MOUTH))
        ]
        first, last = (tuple(np.rint(end).astype(int).tolist()) for end in ends)
        cv2.line(drawn, first, last, 1.0, max(round(_REACH * apart), 1))
    return np.asarray(cv2.GaussianBlur(drawn, (0, 0), max(_REACH * apart / 4, 0.5)), np.float32)
