"""Reads where eyes look, which landmarks tell too little of: the network draws all pupils midway.

An iris is as wide as two fifths of the eye in everybody: it is the disc of that size that parts
what is between the lids best into dark and light (Otsu 1979). Both eyes look the same way, and both
tell more than one.
"""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.face.lid_reading import CORNERS_PX, HEIGHT, WIDTH, eye_pictures, maps_of_eyes
from engines.stylegan.drawing import filled_outline
from engines.stylegan.gaze import IRIS
from engines.stylegan.lids import EYES

__all__ = ["gaze_of_crop"]

_USUAL: Final = (0.0, -0.06)
_USUAL_SPREAD: Final = (0.13, 0.06)
"""Where eyes look mostly, and how far beside it, widths of the eye: of discs that part nearly as
well, such as lashes in a corner, the usual one is taken."""
_LEAST_SEEN: Final = 0.25
"""Share of an iris that must be between the lids."""
_WORTH: Final = 0.85
_NEAR: Final = 0.1
"""The middle of the discs beside the best one that are worth so much of it is taken, and how far
beside it they lie at most, widths of the eye."""
_FAINT: Final = 1e-6

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]


def _disc(radius: float) -> Float32:
    reach = int(np.ceil(radius + 1))
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    return np.asarray(np.clip(radius + 0.5 - np.hypot(x, y), 0, 1), np.float32)


_KERNEL: Final = _disc(IRIS * CORNERS_PX)
_Y, _X = (
    ((grid - (side - 1) / 2) / CORNERS_PX).astype(np.float32)
    for grid, side in zip(np.mgrid[:HEIGHT, :WIDTH], (HEIGHT, WIDTH), strict=True)
)
_PRIOR: Final = np.exp(
    -0.5 * np.square((_X - _USUAL[0]) / _USUAL_SPREAD[0])
    - 0.5 * np.square((_Y - _USUAL[1]) / _USUAL_SPREAD[1])
).astype(np.float32)


def gaze_of_crop(crop: UInt8, points: Float32) -> Float32:
    """Where the eyes of a face look, float32[2]: see `engines.stylegan.gaze`.

    Args:
        crop: uint8[S, S, 3] BGR.
        points: float32[>= MESH_POINTS, 2 or 3], crop units; lids as they were read.
    """
    left, right = (
        _worth(eye.astype(np.float32), filled_outline(lids, eye.shape))
        for eye, lids in zip(eye_pictures(crop, points), _lids(crop, points), strict=True)
    )
    worth = (left + right[:, ::-1]) * _PRIOR
    best = np.unravel_index(int(np.argmax(worth)), worth.shape)
    weight = np.maximum(worth - np.float32(_WORTH) * worth[best], 0)
    weight *= np.hypot(_X - _X[best], _Y - _Y[best]) <= _NEAR
    total = float(weight.sum()) + _FAINT
    return np.array([(weight * grid).sum() / total for grid in (_X, _Y)], np.float32)


def _lids(crop: UInt8, points: Float32) -> list[Float32]:
    """Lids float32[16, 2] of both eyes in the pixels of their pictures."""
    places = points[:, :2] * np.float32(crop.shape[0]) - np.float32(0.5)
    return [
        np.asarray(places[lids] @ one[:, :2].T + one[:, 2], np.float32)
        for lids, one in zip(EYES, maps_of_eyes(places), strict=True)
    ]


def _worth(eye: Float32, lids: UInt8) -> Float32:
    """How well the disc about each pixel parts an eye into dark and light, float32[H, W].

    The share of the variance between the lids that lies between disc and rest; 0 where the rest is
    the darker one.
    """
    inside = lids.astype(np.float32) / np.float32(255)
    dark = inside * eye
    count, total = float(inside.sum()) + _FAINT, float(dark.sum())
    mean = total / count
    variance = float((inside * np.square(eye - mean)).sum()) / count + 1
    within = cv2.filter2D(inside, -1, _KERNEL, borderType=cv2.BORDER_CONSTANT)
    sums = cv2.filter2D(dark, -1, _KERNEL, borderType=cv2.BORDER_CONSTANT)
    rest = np.maximum(count - within, _FAINT)
    apart = (total - sums) / rest - sums / np.maximum(within, _FAINT)
    is_seen = (within > _LEAST_SEEN * float(_KERNEL.sum())) & (apart > 0)
    worth = within * rest / count**2 * np.square(apart) / variance
    return np.where(is_seen, worth, 0).astype(np.float32)
