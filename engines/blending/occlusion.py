"""What is in front of a face: a hand, a microphone, somebody's shoulder.

The landmark network says how surely something is (`training/occlusion.py`); here that is made fit
to act on, for what counts is shown as it is (`engines.blending.foreground`). Marks count only where
they come in from beyond the face's outline, as things in front do, and where the picture has an
edge along their rim: a part of the face that is marked by mistake ends anywhere. Eyes and brows are
painted over in any case. Where something else may be before mouth, nose or eyes, or more than
`MOST_HIDDEN` of the face is hidden, the face is covered. Hair, glasses and beards are the person's
and are not meant; a lock or a white beard is marked now and then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.face.alignment import EYES, Similarity, scale_of
from engines.face.crop_regions import disc, filled
from engines.face.motion_grid import sampling_map
from engines.stylegan.masks import oval_from_points
from engines.stylegan.topology import (
    BROW_LEFT_SLICE,
    BROW_RIGHT_SLICE,
    EYE_LEFT_SLICE,
    EYE_RIGHT_SLICE,
    LIPS_OUTER_SLICE,
    NOSE_BASE_SLICE,
)

__all__ = ["MOST_HIDDEN", "SURE", "Marks", "Occlusion", "along_edges", "counted", "is_told_apart"]

MOST_HIDDEN: Final = 0.6
"""Share of a face's outline that may be hidden by something in front for it to be followed."""
_LEAST_HIDDEN: Final = 0.04
"""Share of the outline that one mark surely hides at least. Smaller shows more fingertips, and more
ears and locks that are taken for something in front."""
_LEAST_EYES_PX: Final = 18.0
"""Distance of the eyes in the frame below which a hand cannot be told from a cheek."""
SURE: Final = 0.5
"""Certainty from which a pixel counts as in front."""
_LIKELY: Final = 0.2
"""Certainty of what counts with it where it is joined to it: the rest of a hand."""
_MOST_UNCLEAR: Final = (0.15, 0.25)
"""Mean certainty that something is before mouth, nose and eyes, away from marks that count, above
which no swap begins, and above which none goes on. Larger paints faces over more hands, smaller
covers more free faces."""
_AROUND_PX: Final = 4
"""How far around its landmarks such a feature reaches, px of the crop."""
_OUTLINED: Final = 1.1
"""How much steeper the picture is along the rim of a mark than beside it, at least. Larger shows
fewer mistakes, and fewer things that are out of focus."""
_FLAT: Final = 0.01
"""Slope up to which a picture is plain, shares of its brightness."""
_BESIDE_PX: Final = 7
"""How far off a rim what is along it is compared with, px of the crop."""
_SNAP_PX: Final = 4.0
"""How far rims may move to an edge of the picture, px of the crop."""
_EVEN: Final = 6.0
"""Deviation of grey levels up to which a picture has no edge there."""
_DARKEST: Final = 16.0
"""Grey levels that are added before two brightnesses are divided: noise in the dark is no edge."""
_LEAST_RIM: Final = 8
"""Pixels that make up a rim at least."""
_FEATURES: Final = (LIPS_OUTER_SLICE, NOSE_BASE_SLICE, EYE_LEFT_SLICE, EYE_RIGHT_SLICE)
_EYES: Final = (EYE_LEFT_SLICE, EYE_RIGHT_SLICE, BROW_LEFT_SLICE, BROW_RIGHT_SLICE)
"""Parts that tell most of who it is, and are shown in no case."""
_MOST_OF_EYES: Final = 1 / 3
"""Share of them that a mark hides at most: of a face whose eyes are hidden too little is known."""
_NEXT: Final = np.ones((3, 3), np.uint8)

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
            points: float32[GRID * GRID, 2] px of the frame, see `engines.face.motion_grid`.

        Returns:
            float32[S, S] in the crop of that grid.
        """
        x, y = sampling_map(self.crop_from_frame, points, self.sure.shape[0])
        return np.asarray(cv2.remap(self.sure, x, y, cv2.INTER_LINEAR), np.float32)


def is_told_apart(crop_from_frame: Similarity, size: int, least_px: float = _LEAST_EYES_PX) -> bool:
    """Whether a face has the pixels to tell a hand from a cheek.

    Args:
        crop_from_frame: map to the kveil crop that was read.
        size: side of that crop, px.
        least_px: distance of the eyes in the frame from which it has.
    """
    eyes_px = float(EYES[1, 0] - EYES[0, 0]) * size / scale_of(crop_from_frame)
    return eyes_px >= least_px


@dataclass(frozen=True, slots=True)
class Marks:
    """What counts of what the network is sure of.

    Attributes:
        sure: float32[S, S], 1 where something in front is to be shown and 0 elsewhere; None where
            nothing is.
        share: of the face's outline that is marked, 0 to 1, whether it may be shown or not.
        unclear: how surely something else is before mouth, nose and eyes, 0 to 1.
    """

    sure: Float32 | None = None
    share: float = 0.0
    unclear: float = 0.0

    @property
    def is_clear(self) -> bool:
        """Whether it is known what is in front of mouth, nose and eyes."""
        return self.unclear <= _MOST_UNCLEAR[0]

    @property
    def is_obscure(self) -> bool:
        """Whether it is surely not known."""
        return self.unclear > _MOST_UNCLEAR[1]


def counted(
    sure: Float32, points: Float32, crop: UInt8, pictured: NDArray[np.bool_] | None = None
) -> Marks:
    """What is in front of the face of a crop.

    Args:
        sure: float32[S, S] in [0, 1].
        points: float32[POINTS, >=2] of the face, crop units.
        crop: uint8[C, C, 3] BGR, of any size.
        pictured: bool[S, S], what of the crop lies in the picture; None for all of it. The rest
            of the face is hidden, by nothing that could be shown.
    """
    sure = np.clip(np.nan_to_num(sure), 0, 1)
    beside = [] if pictured is None else [np.asarray(~pictured, np.uint8)]
    sure = sure if pictured is None else sure * pictured
    if sure.max() <= _MOST_UNCLEAR[0] and not beside:
        return Marks()
    face = oval_from_points(points, sure.shape[0]) > 0.5
    found = _from_beyond(sure, face)
    marks = _shown(found, points, crop) if found else np.zeros(sure.shape, np.uint8)
    elsewhere = sure * (1 - cv2.dilate(marks, disc(_BESIDE_PX)))
    unclear = _mean(elsewhere, _parts(points, len(sure), _FEATURES))
    share = _mean(np.maximum.reduce([marks, *found, *beside]), face)
    return Marks(marks.astype(np.float32) if marks.any() else None, share, unclear)


def _mean(values: Float32 | UInt8, where: NDArray[np.bool_]) -> float:
    """The mean of values in [0, 1] somewhere; 1 where that is nowhere: then nothing is known."""
    return float(values[where].mean()) if where.any() else 1.0


def _shown(found: Sequence[UInt8], points: Float32, crop: UInt8) -> UInt8:
    """What of marks uint8[S, S] each may be shown as it is: the same size."""
    size = len(found[0])
    seen = np.asarray(cv2.resize(crop, (size, size), interpolation=cv2.INTER_AREA), np.uint8)
    grey, slopes = cv2.cvtColor(seen, cv2.COLOR_BGR2GRAY).astype(np.float32), _slopes(seen)
    face = oval_from_points(points, size) > 0.5
    eyes, marks = _parts(points, size, _EYES), np.zeros((size, size), np.uint8)
    for rough in found:
        mark = _snapped(rough, grey)
        if _mean(mark, eyes) <= _MOST_OF_EYES and _is_outlined(mark, face, slopes):
            marks |= mark * np.asarray(~eyes, np.uint8)
    return marks


def along_edges(marks: Float32, guide: Float32, reach: float) -> Float32:
    """Marks whose rims run along the edges of a picture: the guided filter (He et al. 2010, Eq. 5).

    Where marks are coarser than the picture, so is what is worked out (He and Sun 2015).

    Args:
        marks: float32[s, s].
        guide: float32[S, S], grey levels.
        reach: how far rims may move, px of the marks.

    Returns:
        float32[S, S].
    """
    size, side = marks.shape[::-1], 2 * max(round(reach), 1) + 1
    small = guide
    if guide.shape != marks.shape:
        small = np.asarray(cv2.resize(guide, size, interpolation=cv2.INTER_AREA), np.float32)
    mean, level = cv2.blur(marks, (side, side)), cv2.blur(small, (side, side))
    spread = cv2.blur(small * small, (side, side)) - level * level
    along = cv2.blur(small * marks, (side, side)) - level * mean
    slope = along / (spread + np.float32(_EVEN**2))
    steep, rest = [cv2.blur(one, (side, side)) for one in (slope, mean - slope * level)]
    if small is not guide:
        steep, rest = [cv2.resize(one, guide.shape[::-1]) for one in (steep, rest)]
    return np.asarray(cv2.add(cv2.multiply(steep, guide, dst=steep), rest, dst=rest), np.float32)


def _from_beyond(sure: Float32, face: NDArray[np.bool_]) -> list[UInt8]:
    """Connected parts that surely hide some of the face, and reach beyond it: uint8[S, S] each."""
    count, labels = cv2.connectedComponents(np.asarray(sure > _LIKELY, np.uint8), connectivity=4)
    inside = np.bincount(labels[face & (sure > SURE)], minlength=count)
    beyond = np.bincount(labels[~face], minlength=count)
    is_kept = (inside >= _LEAST_HIDDEN * np.count_nonzero(face)) & (beyond > 0)
    return [np.asarray(labels == one, np.uint8) for one in np.flatnonzero(is_kept) if one]


def _parts(points: Float32, size: int, which: Sequence[slice]) -> NDArray[np.bool_]:
    """Where parts of a face are, as far as they lie in the crop: bool[size, size]."""
    drawn = [filled([points[part, :2] * np.float32(size)], size) for part in which]
    return np.asarray(cv2.dilate(np.maximum.reduce(drawn), disc(_AROUND_PX)) > 0, np.bool_)


def _snapped(mark: UInt8, grey: Float32) -> UInt8:
    """A mark whose rim lies on edges of the picture, and without small holes."""
    rough = along_edges(mark.astype(np.float32), grey, _SNAP_PX)
    return np.asarray(
        cv2.morphologyEx(np.asarray(rough > SURE, np.uint8), cv2.MORPH_CLOSE, disc(_SNAP_PX)),
        np.uint8,
    )


def _is_outlined(mark: UInt8, face: NDArray[np.bool_], slopes: Float32) -> bool:
    """Whether the picture has an edge along the rim of a mark, as far as that lies on the face."""
    within, beyond = (change(mark, disc(_BESIDE_PX)) for change in (cv2.erode, cv2.dilate))
    along, *beside = (_rim(np.asarray(one, np.uint8)) & face for one in (mark, within, beyond))
    steep = [float(slopes[rim].mean()) for rim in beside if np.count_nonzero(rim) >= _LEAST_RIM]
    if np.count_nonzero(along) < _LEAST_RIM or not steep:
        return False
    return float(slopes[along].mean()) >= _OUTLINED * max(float(np.mean(steep)), _FLAT)


def _slopes(crop: UInt8) -> Float32:
    """How steep a picture is in the neighbourhood, shares of its brightness: float32[S, S]."""
    soft = cv2.GaussianBlur(crop, (0, 0), 1.2).astype(np.float32)
    steep = cv2.morphologyEx(soft, cv2.MORPH_GRADIENT, _NEXT).max(axis=2)
    return np.asarray(cv2.dilate(steep / (soft.max(axis=2) + _DARKEST), disc(2)), np.float32)


def _rim(mark: UInt8) -> NDArray[np.bool_]:
    return np.asarray(cv2.dilate(mark, _NEXT) > mark, np.bool_)
