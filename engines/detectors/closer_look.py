"""A closer look at places of a picture, where a search found nothing but something may be.

The detector sees the place and what is around it enlarged or reduced to one size, and is asked
down to scores that would be no use in a search: what it does not find then is not there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from engines.detectors.detector import BatchDetector, Detector
from engines.face.alignment import Similarity, crop_from_picture, inverse_of, moved
from engines.pictures import Picture
from engines.types import Box, Face

__all__ = ["SIZE_PX", "faces_at"]

SIZE_PX: Final = 160
"""Side of the crop."""
_AROUND: Final = 3.0
"""Side of what is seen over that of the place: a face is told by its head and shoulders."""
_NEAR: Final = 0.75
"""How far from the middle of the place a face may be found, over its side."""


def faces_at(
    detector: Detector, picture: Picture, boxes: Sequence[Box], min_score: float
) -> list[tuple[Face, ...]]:
    """Finds the faces at some places.

    Args:
        detector: is shown small crops, all at once if it can.
        picture: the frame's pixels; not changed.
        boxes: (4,) x0 y0 x1 y1 px of each place.
        min_score: least score of a face.

    Returns:
        For each place the faces whose middle lies near its own, in pixels of the picture, best
        first.

    Raises:
        EngineFault: the network failed, or a box is not finite.
    """
    maps = [_crop_around(box) for box in boxes]
    crops = [crop_from_picture(picture, one, SIZE_PX) for one in maps]
    if isinstance(detector, BatchDetector):
        found = detector.detect_all(crops, min_score=min_score) if crops else []
    else:
        found = [detector.detect(crop, min_score=min_score) for crop in crops]
    return [
        tuple(_in_frame(face, one) for face in faces if _is_near(face))
        for faces, one in zip(found, maps, strict=True)
    ]


def _is_near(face: Face) -> bool:
    """Whether a face in a crop lies at its place, which is in the middle."""
    off = face.box_px.reshape(2, 2).mean(axis=0) - SIZE_PX / 2
    return bool(np.abs(off).max() <= _NEAR * SIZE_PX / _AROUND)


def _crop_around(box: Box) -> Similarity:
    """The map from the frame to a crop that shows a place and what is around it."""
    middle, side = (box[:2] + box[2:]) / 2, float((box[2:] - box[:2]).max())
    scale = SIZE_PX / max(_AROUND * side, 1.0)
    shift = SIZE_PX / 2 - scale * middle
    return np.array([[scale, 0, shift[0]], [0, scale, shift[1]]], np.float32)


def _in_frame(face: Face, crop_from_frame: Similarity) -> Face:
    back = inverse_of(crop_from_frame)
    corners, landmarks = (
        moved(back, points).astype(np.float32)
        for points in (face.box_px.reshape(2, 2), face.landmarks_px)
    )
    return replace(face, box_px=corners.reshape(4), landmarks_px=landmarks)
