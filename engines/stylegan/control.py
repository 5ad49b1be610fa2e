"""Control maps: where the parts of a face lie, drawn.

They carry geometry (pose, expression, gaze) and no texture.
"""

from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.stylegan.sizes import DRAW_SIZE, LINE_WIDTH, MAP_CHANNELS, MAP_SIZE, PUPIL_RADIUS
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

_SHIFT: Final = 4

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
    scaled = np.clip(points[:, :2], -1.0, 2.0) * DRAW_SIZE - 0.5
    fixed = np.round(scaled * (1 << _SHIFT)).astype(np.int32)
    planes = [np.zeros((DRAW_SIZE, DRAW_SIZE), np.uint8) for _ in range(MAP_CHANNELS)]
    _fill(planes[0], fixed[OVAL_SLICE])
    _fill(planes[1], fixed[BROW_LEFT_SLICE])
    _fill(planes[1], fixed[BROW_RIGHT_SLICE])
    _fill(planes[2], fixed[EYE_LEFT_SLICE])
    _fill(planes[2], fixed[EYE_RIGHT_SLICE])
    for pupil in (PUPIL_IMAGE_LEFT, PUPIL_IMAGE_RIGHT):
        centre = (int(fixed[pupil, 0]), int(fixed[pupil, 1]))
        radius = int(PUPIL_RADIUS * DRAW_SIZE * (1 << _SHIFT))
        cv2.circle(planes[3], centre, radius, 255, -1, cv2.LINE_AA, _SHIFT)
    np.minimum(planes[3], planes[2], out=planes[3])
    _fill(planes[4], fixed[LIPS_OUTER_SLICE])
    _fill(planes[5], fixed[LIPS_INNER_SLICE])
    _line(planes[6], fixed[NOSE_BRIDGE_SLICE])
    _line(planes[6], fixed[NOSE_BASE_SLICE])
    drawn = cv2.merge(planes)
    small = cv2.resize(drawn, (MAP_SIZE, MAP_SIZE), interpolation=cv2.INTER_AREA)
    return small.astype(np.uint8, copy=False)


def oval_from_points(points: Float32, size: int) -> Float32:
    """Draw the outline of one face, filled: float32[size, size] in [0, 1].

    Args:
        points: float32[POINTS, >=2], crop units.
        size: height and width, px.
    """
    fixed = np.clip(points[OVAL_SLICE, :2], -1.0, 2.0) * size - 0.5
    plane = np.zeros((size, size), np.uint8)
    _fill(plane, np.round(fixed * (1 << _SHIFT)).astype(np.int32))
    return plane.astype(np.float32) / 255.0


def _fill(plane: UInt8, polygon: npt.NDArray[np.int32]) -> None:
    cv2.fillPoly(plane, [polygon], 255, cv2.LINE_AA, _SHIFT)


def _line(plane: UInt8, polyline: npt.NDArray[np.int32]) -> None:
    cv2.polylines(plane, [polyline], False, 255, LINE_WIDTH, cv2.LINE_AA, _SHIFT)
