"""What is in front of a face: a hand, a microphone, somebody's shoulder.

The landmark network says how surely something is (`training/occlusion.py`); here that is made fit
to act on. Marks count only where they come in from beyond the face's outline, as things in front
do, and hide at most `MOST_HIDDEN` of it: a face of which more is hidden cannot be followed and is
covered. Hair, glasses and beards are the person's and are not meant; a lock or a white beard is
marked now and then. `engines.foreground` draws what is marked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.alignment import EYES, Similarity, inverse_of, scale_of, to_integer_centres
from engines.stylegan.masks import oval_from_points

__all__ = ["MOST_HIDDEN", "Occlusion", "agreed", "is_told_apart", "marked"]

MOST_HIDDEN: Final = 0.45
"""Share of a face's outline that may be hidden by something in front for it to be followed."""
_LEAST_HIDDEN: Final = 0.04
"""Share of the outline that one mark hides at least. Smaller shows more fingertips, and more ears
and locks that are taken for something in front."""
_LEAST_EYES_PX: Final = 24.0
"""Distance of the eyes in the frame below which a hand cannot be told from a cheek."""
_SURE: Final = 0.5
"""Certainty from which a pixel counts as in front."""
_AGREEING: Final = 2
"""Frames of three that must show a mark."""

Float32 = NDArray[np.float32]
UInt8 = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Occlusion:
    """Where something is in front of one face in one frame.

    Attributes:
        marks: uint8[S, S], 1 where it is.
        crop_from_frame: (2, 3) map to the crop of side S px that was read.
    """

    marks: UInt8
    crop_from_frame: Similarity


def is_told_apart(crop_from_frame: Similarity, size: int) -> bool:
    """Whether a face has the pixels to tell a hand from a cheek.

    Args:
        crop_from_frame: map to the kveil crop that was read.
        size: side of that crop, px.
    """
    eyes_px = float(EYES[1, 0] - EYES[0, 0]) * size / scale_of(crop_from_frame)
    return eyes_px >= _LEAST_EYES_PX


def marked(sure: Float32, points: Float32) -> tuple[UInt8 | None, float]:
    """Make marks of what the network is sure of.

    Args:
        sure: float32[S, S] in [0, 1].
        points: float32[POINTS, >=2] of the face in the same crop, crop units.

    Returns:
        uint8[S, S] marks, None where nothing is in front; and the share of the face's outline
        that is hidden, 0 to 1.
    """
    is_sure = np.asarray(sure > _SURE, np.uint8)
    if not is_sure.any():
        return None, 0.0
    face = oval_from_points(points, sure.shape[0]) > 0.5
    marks = _from_beyond(is_sure, face)
    share = float(marks[face].mean()) if face.any() else 0.0
    return (marks if share > 0 else None), share


def agreed(seen: Sequence[Occlusion | None]) -> Occlusion | None:
    """What two of three neighbouring frames say, in the place of the one in the middle.

    A mark that comes and goes with a frame is noise; a hand that moves on loses nothing but what
    no other frame shows.

    Args:
        seen: what was in front in the frame before, in this one, and in the next.
    """
    there = [one for one in seen if one is not None]
    if len(there) < _AGREEING:
        return None
    place = (seen[1] or there[0]).crop_from_frame
    votes = np.sum([_marks_at(place, one) for one in there], axis=0)
    marks = np.asarray(votes >= _AGREEING, np.uint8)
    if not marks.any():
        return None
    return Occlusion(marks, place)


def _marks_at(place: Similarity, seen: Occlusion) -> UInt8:
    """Marks as a crop of another place has them."""
    if place is seen.crop_from_frame:
        return seen.marks
    size = seen.marks.shape[0]
    way = place[:, :2] @ inverse_of(seen.crop_from_frame)
    way[:, 2] += place[:, 2]
    moved = cv2.warpAffine(
        seen.marks, to_integer_centres(way), (size, size), flags=cv2.INTER_NEAREST
    )
    return np.asarray(moved, np.uint8)


def _from_beyond(is_sure: UInt8, face: NDArray[np.bool_]) -> UInt8:
    """Keeps the connected parts that hide some of the face and reach beyond it."""
    count, labels = cv2.connectedComponents(is_sure, connectivity=4)
    inside = np.bincount(labels[face], minlength=count)
    beyond = np.bincount(labels[~face], minlength=count)
    is_kept = (inside >= _LEAST_HIDDEN * np.count_nonzero(face)) & (beyond > 0)
    is_kept[0] = False  # the background
    return np.asarray(is_kept[labels], np.uint8)
