"""Draws ears beside a head whose own lie under the patch.

A patch hides the ears of a head that faces the camera, and a head without ears looks like a mask.
Where neither hair nor the subject's own ear lies beside the patch, an ear is drawn that nobody has
(`engines.ear_shape`), in the colour of the cheek beside it. Of the subject it says nothing; that
ears are not under hair is seen beside the patch anyway.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.alignment import Similarity, inverse_of, moved, to_integer_centres
from engines.ear_shape import EAR_SIZE, ear_picture
from engines.hairline import Hair
from engines.polar import CELL, DOWN, GRID, SIDE, UP, along, wave
from engines.seam import skin_likeness
from engines.stylegan.drawing import box_around, laid_over, rise

__all__ = ["NO_EARS", "draw_ears", "ears_of"]

Float32 = NDArray[np.float32]

NO_EARS: Final = np.zeros((2, 6), np.float32)
"""See `ears_of`."""
_SIDES: Final = (wave(1) < 0, wave(1) > 0)
"""Rays to the left and to the right."""
_BESIDE: Final = (SIDE > 0.8) & (UP < 0.55) & (DOWN < 0.2)
_LOW: Final = (SIDE > 0.8) & (UP < 0.3) & (DOWN < 0.3)
"""Rays that ears lie on, and those on which hair beside a face would hide them."""
_LOOKED_AT: Final = np.arange(0.02, 0.10, 0.02, dtype=np.float32)
"""How far beyond the patch it is looked for hair, and farther out for skin."""
_HAIR: Final = (0.15, 0.03)
_UNSEEN: Final = 0.05
_SKIN: Final = (0.5, 0.3)
"""Shares of what is there that are hair, or skin, from which on an ear is not drawn, and up to
which it is; between them the width of hair under the patch that is as good as all of it."""
_ALIKE: Final = (0.62, 0.75)
_FAR: Final = (0.75, 0.9)
"""How wide the narrower side of a face is, as a share of the wider, from which on ears are drawn,
and wholly; and the narrower side's own: the near ear of a turned head is beside the patch, and the
far one not in sight."""
_TOP: Final = -0.20
_BOTTOM: Final = 0.07
"""Where an ear begins and ends, below the middle of the face, shares of the patch's side."""
_UNDER: Final = 0.045
_WIDTH: Final = (0.04, 0.055)
"""How far it reaches under the face, and beyond it at least and at most."""
_LEANS: Final = 0.07
"""How far its lower end lies nearer to the face than its upper one, as a share of its height."""
_LEVEL: Final = 0.4
_LOBE_UNDER: Final = 0.04
"""How level rays are that meet a face beside its ear; how far lobes reach under it at least."""
_CHEEK: Final = 0.1
"""How far inside its rim a painted face is looked at for its colour: at the rim it is that of what
is behind it."""
_RUDDY: Final = np.array([0.94, 0.95, 1.0], np.float32)
"""Colour of an ear as a share of its skin's, BGR."""
_FAINT: Final = 0.02
_LEAST_BLUR: Final = 0.3


def ears_of(
    around: Float32, painted: Float32, hair: Hair, face: Float32, hidden: Float32
) -> Float32:
    """Where ears are drawn, left and right in the picture.

    Args:
        around: float32[RAYS, STEPS, 3] BGR of the composite.
        painted: float32[RAYS, STEPS, 3] BGR of the patch.
        hair: of the subject.
        face: float32[RAYS], radius at which the painted face ends.
        hidden: float32[RAYS], radius of the patch.

    Returns:
        float32[2, 6], each: how much is seen of it, 0 to 1; how far beside the middle of the face
        it begins, and how far it reaches from there, shares of the patch's side; and its BGR.
    """
    beyond = hidden[:, None] + _LOOKED_AT
    cheek = along(painted, face[:, None] - np.float32(_CHEEK))[:, 0]
    skin = skin_likeness(along(around, beyond + _LOOKED_AT[-1]), cheek[:, None]).mean(axis=1)
    hairy = np.maximum(along(hair.places, beyond).mean(axis=1), hair.hidden / np.float32(_UNSEEN))
    half, whole = (
        np.array([(radii * SIDE)[side & _BESIDE].mean() for side in _SIDES], np.float32)
        for radii in (face, hidden)
    )
    found = NO_EARS.copy()
    found[:, 0] = _in_sight(half)
    found[:, 1] = half - _UNDER
    found[:, 2] = np.clip(whole - half, *_WIDTH) + _UNDER
    for ear, side in zip(found, _SIDES, strict=True):
        ear[1] = min(float(ear[1]), _beside_jaw(face, side))
        ear[0] *= rise(hairy[side & _LOW].mean(), *_HAIR)
        ear[0] *= rise(skin[side & _BESIDE].mean(), *_SKIN)
        ear[3:] = cheek[side & _BESIDE].mean(axis=0) * _RUDDY
    return found


def _beside_jaw(face: Float32, side: NDArray[np.bool_]) -> float:
    """Where an ear begins at most, lest its lobe hang free beside a jaw that is narrow there."""
    at = side & (SIDE > _LEVEL)
    below = face[at] * (DOWN - UP)[at]
    order = np.argsort(below)
    jaw = np.interp(_BOTTOM, below[order], (face * SIDE)[at][order])
    return float(jaw) - _LOBE_UNDER + _LEANS * (_BOTTOM - _TOP) / 2


def _in_sight(half: Float32) -> Float32:
    """Which ears the camera sees from in front, by how wide both sides of a face are: float32[2].

    >>> _in_sight(np.float32([0.4, 0.4])).tolist(), _in_sight(np.float32([0.2, 0.5])).tolist()
    ([1.0, 1.0], [0.0, 0.0])
    """
    share = half / half[::-1]
    near = rise(np.minimum(share, share[::-1]), *_ALIKE)
    return np.asarray(rise(share, *_FAR) * near, np.float32)


def draw_ears(
    pixels: Float32, ears: Float32, grid_from_window: Similarity, softness_px: float
) -> None:
    """Draws ears into what is around a face; changes it.

    Args:
        pixels: float32[H, W, 4] BGR and anything, of a window.
        ears: float32[2, 6], see `ears_of`.
        grid_from_window: the grid's map.
        softness_px: deviation of the blur that they must have to look like the picture, px.
    """
    for side, ear in zip((-1, 1), ears, strict=True):
        if ear[0] > _FAINT:
            _draw(pixels, ear, _corners(side, ear, grid_from_window), softness_px)


def _corners(side: int, ear: Float32, grid_from_window: Similarity) -> Float32:
    """Where an ear's picture has its upper corners and its lower inner one, px: float32[3, 2]."""
    height = _BOTTOM - _TOP
    out = side * np.array([0, ear[2], -_LEANS * height], np.float32)
    places = np.array([[0, _TOP], [0, _TOP], [0, _BOTTOM]], np.float32)
    places[:, 0] = out + np.float32(side * (float(ear[1]) + _LEANS * height / 2))
    return moved(inverse_of(grid_from_window), np.float32(GRID / 2) + CELL * places)


def _draw(pixels: Float32, ear: Float32, corners: Float32, softness_px: float) -> None:
    """Draws one ear, its corners as `_corners` finds them."""
    across, down = corners[1:] - corners[0]
    ends = np.array([corners[0], *corners[1:], corners[0] + across + down])
    left, top, right, bottom = box_around(ends, 0.0, (pixels.shape[1], pixels.shape[0]))
    size = (right - left, bottom - top)
    if min(size) <= 0:
        return
    ear_px = (float(np.hypot(*across)), float(np.hypot(*down)))
    picture = _reduced(ear_px, softness_px)
    first = corners[0] - np.array([left, top], np.float32)
    lies = np.column_stack([across / picture.shape[1], down / picture.shape[0], first])
    seen = cv2.warpAffine(picture, to_integer_centres(lies), size, flags=cv2.INTER_LINEAR)
    part = pixels[top:bottom, left:right, :3]
    skin = seen[..., :1] / np.maximum(seen[..., 1:], np.float32(_FAINT)) * ear[3:]
    part[...] = laid_over(part, np.asarray(skin, np.float32), seen[..., 1] * ear[0])


def _reduced(size_px: tuple[float, float], softness_px: float) -> Float32:
    """The picture of an ear no larger than it is seen, brightness by weight, and weight.

    Args:
        size_px: width and height in which it is seen.
        softness_px: deviation of the blur, px.

    Returns:
        float32[h, w, 2].
    """
    height, width = EAR_SIZE
    size = (int(np.clip(size_px[0], 2, width)), int(np.clip(size_px[1], 2, height)))
    picture = cv2.resize(_weighted(), size, interpolation=cv2.INTER_AREA)
    soft = (softness_px * size[0] / size_px[0], softness_px * size[1] / size_px[1])
    if min(soft) > _LEAST_BLUR:
        edge = cv2.BORDER_CONSTANT
        picture = cv2.GaussianBlur(picture, (0, 0), soft[0], sigmaY=soft[1], borderType=edge)
    return np.asarray(picture, np.float32)


@lru_cache(maxsize=1)
def _weighted() -> Float32:
    """The picture of an ear, brightness by weight, and weight: float32[EAR_SIZE, 2]; shared."""
    shade, where = ear_picture()
    return np.dstack([shade * where, where])
