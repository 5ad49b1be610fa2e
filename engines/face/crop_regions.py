"""Regions of a crop: the frame's inside, boxes of faces, their middle, hulls of points, edges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.face.alignment import Similarity, moved
from engines.pictures import Picture
from engines.types import Box

__all__ = [
    "disc",
    "faded",
    "filled",
    "finite_box",
    "inside_of",
    "middle_of_box",
    "within_boxes",
]

_FAR_PX: Final = 2**14

Float32 = NDArray[np.float32]
UInt8 = NDArray[np.uint8]


def filled(shapes: Sequence[NDArray[np.floating]], side: int) -> UInt8:
    """uint8[side, side], 1 inside the convex hulls of points in px of the crop."""
    canvas = np.zeros((side, side), np.uint8)
    for points in shapes:
        near = np.clip(points, -_FAR_PX, _FAR_PX)
        hull = cv2.convexHull(np.round(near).astype(np.int32))
        cv2.fillConvexPoly(canvas, hull, 1)
    return canvas


def disc(radius_px: float) -> UInt8:
    """Kernel that dilates by a radius, of a pixel at least: uint8[S, S].

    >>> disc(2.2).shape
    (5, 5)
    """
    side = 2 * max(round(radius_px), 1) + 1
    return np.asarray(cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (side, side)), np.uint8)


def within_boxes(boxes: Sequence[Box], crop_from_frame: Similarity, side: int) -> UInt8:
    """Where boxes of the frame lie in a crop: uint8[side, side], 1 there.

    Args:
        boxes: x0 y0 x1 y1 px of the frame.
        crop_from_frame: (2, 3) float32 map of the crop.
        side: its side, px.
    """
    return filled([moved(crop_from_frame, _corners(box)) for box in boxes], side)


def inside_of(picture: Picture, crop_from_frame: Similarity, side: int) -> UInt8:
    """Where a crop lies inside the frame: uint8[side, side], 1 there and 0 beyond.

    Args:
        picture: gives the frame's size.
        crop_from_frame: (2, 3) float32 map of the crop.
        side: its side, px.
    """
    whole = np.array([0, 0, picture.width, picture.height], np.float32)
    return within_boxes([whole], crop_from_frame, side)


@lru_cache(maxsize=8)
def faded(side: int, width_px: float) -> Float32:
    """1 inside a crop, falling to 0 at its edges over a width; float32[side, side], shared."""
    steps = np.minimum(np.arange(side), np.arange(side)[::-1]) / width_px
    return np.asarray(np.clip(np.minimum.outer(steps, steps), 0, 1), np.float32)


def finite_box(box: Box, height: int, width: int) -> tuple[float, float, float, float]:
    """A box x0 y0 x1 y1 px as numbers; the whole crop where it is empty or not finite."""
    x0, y0, x1, y1 = box.tolist()
    is_usable = all(map(math.isfinite, (x0, y0, x1, y1))) and x1 > x0 and y1 > y0
    return (x0, y0, x1, y1) if is_usable else (0.0, 0.0, float(width), float(height))


def middle_of_box(box: Box, height: int, width: int) -> tuple[slice, slice]:
    """Rows and columns of the central half of a box inside a crop of that size; never empty.

    >>> middle_of_box(np.array([0.0, 0.0, 8.0, 8.0]), 100, 100)
    (slice(2, 6, None), slice(2, 6, None))
    """
    x0, y0, x1, y1 = finite_box(box, height, width)
    return _central(y0, y1, height), _central(x0, x1, width)


def _central(low: float, high: float, limit: int) -> slice:
    quarter = (high - low) / 4
    start = min(max(math.floor(low + quarter), 0), limit - 1)
    end = max(min(math.ceil(high - quarter), limit), start + 1)
    return slice(start, end)


def _corners(box: Box) -> NDArray[np.float64]:
    x0, y0, x1, y1 = box.tolist()
    return np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]], np.float64)
