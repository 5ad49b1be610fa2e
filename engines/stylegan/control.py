"""Control maps: where the parts of a face lie, drawn, and its low-frequency light.

The generator sees a subject through these two arrays only. The map carries geometry (pose,
expression, gaze) and no texture; the light carries 4x4 colours.
"""

from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.stylegan.topology import (
    BROW_LEFT_SLICE,
    BROW_RIGHT_SLICE,
    EYE_LEFT_SLICE,
    EYE_RIGHT_SLICE,
    LIPS_INNER_SLICE,
    LIPS_OUTER_SLICE,
    NOSE_BASE_SLICE,
    NOSE_BRIDGE_SLICE,
    OVAL_SLICE,
    PUPIL_IMAGE_LEFT,
    PUPIL_IMAGE_RIGHT,
)

MAP_SIZE: Final = 64
MAP_CHANNELS: Final = 7
"""Oval, brows, eyes, pupils, lips, inner mouth, nose."""
LIGHT_SIZE: Final = 4

_DRAW_SIZE: Final = 128
_SHIFT: Final = 4
_PUPIL_RADIUS: Final = 0.028

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]


def control_map_from_points(points: Float32) -> UInt8:
    """Draw the parts of one face.

    Args:
        points: float32[POINTS, >=2], crop units; may lie outside [0, 1].

    Returns:
        uint8[MAP_SIZE, MAP_SIZE, MAP_CHANNELS], 0 outside and 255 inside a part.

    >>> from engines.stylegan.topology import POINTS
    >>> control_map_from_points(np.full((POINTS, 2), 0.5, np.float32)).shape
    (64, 64, 7)
    """
    scaled = np.clip(points[:, :2], -1.0, 2.0) * _DRAW_SIZE - 0.5
    fixed = np.round(scaled * (1 << _SHIFT)).astype(np.int32)
    planes = [np.zeros((_DRAW_SIZE, _DRAW_SIZE), np.uint8) for _ in range(MAP_CHANNELS)]
    _fill(planes[0], fixed[OVAL_SLICE])
    _fill(planes[1], fixed[BROW_LEFT_SLICE])
    _fill(planes[1], fixed[BROW_RIGHT_SLICE])
    _fill(planes[2], fixed[EYE_LEFT_SLICE])
    _fill(planes[2], fixed[EYE_RIGHT_SLICE])
    for pupil in (PUPIL_IMAGE_LEFT, PUPIL_IMAGE_RIGHT):
        centre = (int(fixed[pupil, 0]), int(fixed[pupil, 1]))
        radius = int(_PUPIL_RADIUS * _DRAW_SIZE * (1 << _SHIFT))
        cv2.circle(planes[3], centre, radius, 255, -1, cv2.LINE_AA, _SHIFT)
    np.minimum(planes[3], planes[2], out=planes[3])
    _fill(planes[4], fixed[LIPS_OUTER_SLICE])
    _fill(planes[5], fixed[LIPS_INNER_SLICE])
    _line(planes[6], fixed[NOSE_BRIDGE_SLICE])
    _line(planes[6], fixed[NOSE_BASE_SLICE])
    drawn = cv2.merge(planes)
    small = cv2.resize(drawn, (MAP_SIZE, MAP_SIZE), interpolation=cv2.INTER_AREA)
    return small.astype(np.uint8, copy=False)


def light_from_crop(crop: UInt8) -> Float32:
    """Mean colours of a 4x4 grid over the crop.

    Args:
        crop: uint8[S, S, 3], any channel order, S divisible by LIGHT_SIZE.

    Returns:
        float32[LIGHT_SIZE, LIGHT_SIZE, 3] in [-1, 1], the crop's channel order.

    >>> float(light_from_crop(np.full((8, 8, 3), 255, np.uint8)).min())
    1.0
    """
    cell = crop.shape[0] // LIGHT_SIZE
    grid = crop.reshape(LIGHT_SIZE, cell, LIGHT_SIZE, cell, 3).mean(axis=(1, 3), dtype=np.float32)
    return np.asarray(grid / 127.5 - 1.0, dtype=np.float32)


def _fill(plane: UInt8, polygon: npt.NDArray[np.int32]) -> None:
    cv2.fillPoly(plane, [polygon], 255, cv2.LINE_AA, _SHIFT)


def _line(plane: UInt8, polyline: npt.NDArray[np.int32]) -> None:
    cv2.polylines(plane, [polyline], False, 255, 3, cv2.LINE_AA, _SHIFT)
