"""What is in front of a face: a hand, a microphone, somebody's shoulder.

The landmark network says how surely something is (`training/occlusion.py`); here that is made fit
to act on. Marks count only where they come in from beyond the face's outline, as things in front
do, and hide at most `MOST_HIDDEN` of it: a face of which more is hidden cannot be followed and is
covered. Hair, glasses and beards are the person's and are not meant; a lock or a white beard is
marked now and then. `engines.foreground` draws what is marked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.alignment import EYES, Similarity, scale_of
from engines.motion_grid import sampling_map
from engines.stylegan.masks import oval_from_points

__all__ = ["MOST_HIDDEN", "SURE", "Occlusion", "counted", "is_told_apart"]

MOST_HIDDEN: Final = 0.45
"""Share of a face's outline that may be hidden by something in front for it to be followed."""
_LEAST_HIDDEN: Final = 0.04
"""Share of the outline that one mark hides at least. Smaller shows more fingertips, and more ears
and locks that are taken for something in front."""
_LEAST_EYES_PX: Final = 24.0
"""Distance of the eyes in the frame below which a hand cannot be told from a cheek."""
SURE: Final = 0.5
"""Certainty from which a pixel counts as in front."""
_RIM_PX: Final = 7
"""Width of what is kept around marks for their soft rim, px of the crop."""

Float32 = NDArray[np.float32]
UInt8 = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Occlusion:
    """How surely something is in front of one face in one frame.

    Attributes:
        sure: float32[S, S] in [0, 1]; 0 where nothing counts.
        crop_from_frame: (2, 3) map to the crop of side S px that it covers.
    """

    sure: Float32
    crop_from_frame: Similarity

    @property
    def marks(self) -> UInt8:
        """uint8[S, S], 1 where something is in front."""
        return np.asarray(self.sure > SURE, np.uint8)

    def at(self, points: Float32) -> Float32:
        """What it says at points of its frame.

        Args:
            points: float32[GRID * GRID, 2] px of the frame, see `engines.motion_grid`.

        Returns:
            float32[S, S] in the crop of that grid.
        """
        x, y = sampling_map(self.crop_from_frame, points, self.sure.shape[0])
        return np.asarray(cv2.remap(self.sure, x, y, cv2.INTER_LINEAR), np.float32)


def is_told_apart(crop_from_frame: Similarity, size: int) -> bool:
    """Whether a face has the pixels to tell a hand from a cheek.

    Args:
        crop_from_frame: map to the kveil crop that was read.
        size: side of that crop, px.
    """
    eyes_px = float(EYES[1, 0] - EYES[0, 0]) * size / scale_of(crop_from_frame)
    return eyes_px >= _LEAST_EYES_PX


def counted(sure: Float32, points: Float32) -> tuple[Float32 | None, float]:
    """What counts of what the network is sure of.

    Args:
        sure: float32[S, S] in [0, 1].
        points: float32[POINTS, >=2] of the face in the same crop, crop units.

    Returns:
        float32[S, S], 0 where nothing counts, None where that is everywhere; and the share of the
        face's outline that is hidden, 0 to 1.
    """
    is_sure = np.asarray(sure > SURE, np.uint8)
    if not is_sure.any():
        return None, 0.0
    face = oval_from_points(points, sure.shape[0]) > 0.5
    marks = _from_beyond(is_sure, face)
    share = float(marks[face].mean()) if face.any() else 0.0
    if share == 0:
        return None, 0.0
    around = cv2.dilate(marks, np.ones((_RIM_PX, _RIM_PX), np.uint8))
    return np.clip(np.nan_to_num(sure), 0, 1) * around, share


def _from_beyond(is_sure: UInt8, face: NDArray[np.bool_]) -> UInt8:
    """Keeps the connected parts that hide some of the face and reach beyond it."""
    count, labels = cv2.connectedComponents(is_sure, connectivity=4)
    inside = np.bincount(labels[face], minlength=count)
    beyond = np.bincount(labels[~face], minlength=count)
    is_kept = (inside >= _LEAST_HIDDEN * np.count_nonzero(face)) & (beyond > 0)
    is_kept[0] = False  # the background
    return np.asarray(is_kept[labels], np.uint8)
