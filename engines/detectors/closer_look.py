"""A closer look at one place of a picture, where a search found nothing but something may be.

The detector sees the place and what is around it enlarged or reduced to one size, and is asked
down to scores that would be no use in a search: what it does not find then is not there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.detectors.detector import Detector
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


def faces_at(detector: Detector, picture: Picture, box: Box, min_score: float) -> tuple[Face, ...]:
    """Finds the faces at a place.

    Args:
        detector: is shown a small crop.
        picture: the frame's pixels; not changed.
        box: (4,) x0 y0 x1 y1 px of the place.
        min_score: least score of a face.

    Returns:
        Faces in pixels of the picture, best first, whose middle lies near that of the place.

    Raises:
        EngineFault: the network failed, or the box is not finite.
    """
    middle, side = (box[:2] + box[2:]) / 2, float((box[2:] - box[:2]).max())
    crop_from_frame = _crop_around(middle, side * _AROUND)
    crop = crop_from_picture(picture, crop_from_frame, SIZE_PX)
    found = (
        _in_frame(face, crop_from_frame) for face in detector.detect(crop, min_score=min_score)
    )
    return tuple(
        face
        for face in found
        if np.abs(face.box_px.reshape(2, 2).mean(axis=0) - middle).max() <= _NEAR * side
    )


def _crop_around(middle: NDArray[np.floating], side: float) -> Similarity:
    """The map from the frame to a crop that shows a square of this side, px."""
    scale = SIZE_PX / max(side, 1.0)
    shift = SIZE_PX / 2 - scale * middle
    return np.array([[scale, 0, shift[0]], [0, scale, shift[1]]], np.float32)


def _in_frame(face: Face, crop_from_frame: Similarity) -> Face:
    back = inverse_of(crop_from_frame)
    corners, landmarks = (
        moved(back, points).astype(np.float32)
        for points in (face.box_px.reshape(2, 2), face.landmarks_px)
    )
    return replace(face, box_px=corners.reshape(4), landmarks_px=landmarks)
