"""What is left of the faces in an anonymized clip: re-detection, flicker, motion."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.alignment import crop_from_picture, kveil_from_landmarks
from engines.errors import EngineFault
from engines.pictures import picture_from_bgr
from engines.types import Face
from evaluation.chains import overlap
from evaluation.clips import FramePair
from evaluation.exposure import FaceFinder, Sighting
from evaluation.metrics.flicker import flicker_ratio, warp_error_ratio
from evaluation.metrics.intervals import Proportion, clustered

__all__ = ["ClipQuality", "QualityFigures"]

_CROP: Final = 96
_LEAST_PX: Final = 40.0
_SAME_PLACE: Final = 0.3


@dataclass(frozen=True, slots=True)
class QualityFigures:
    """Quality of an anonymized clip.

    Attributes:
        redetected: share of face-frames in which a detector still sees a face there.
        flicker: change of a face's brightness between frames, anonymized ÷ original; the
            median over followed faces.
        warp_error: error after following the original's motion, anonymized ÷ original.
        faces: followed faces that flicker and motion were measured on.
    """

    redetected: Proportion
    flicker: float
    warp_error: float
    faces: int


@dataclass(slots=True)
class ClipQuality:
    """Collects sightings; give `keep` to `measure_exposure`.

    Attributes:
        finder: detector for the anonymized frames.
        every: frames between two that are searched again.
        most_faces: followed faces whose crops are kept.
        most_frames: consecutive frames kept of each.
    """

    finder: FaceFinder
    every: int = 10
    most_faces: int = 8
    most_frames: int = 60
    _crops: dict[int, list[tuple[int, NDArray[np.uint8], NDArray[np.uint8]]]] = field(
        default_factory=dict
    )
    _seen: list[tuple[bool, int]] = field(default_factory=list)
    _searched: tuple[int, tuple[Face, ...]] = (-1, ())

    def keep(self, seen: Sighting, pair: FramePair) -> None:
        """Takes one face of one frame."""
        if pair.index % self.every == 0:
            if self._searched[0] != pair.index:
                self._searched = (pair.index, tuple(self.finder.find(pair.anonymized)))
            box = seen.face.box_px
            there = any(overlap(box, face.box_px) >= _SAME_PLACE for face in self._searched[1])
            self._seen.append((there, seen.chain))
        if seen.size_px >= _LEAST_PX:
            self._keep_crop(seen, pair)

    def figures(self) -> QualityFigures:
        """The figures of all that was taken."""
        redetected = clustered([there for there, _ in self._seen], [c for _, c in self._seen])
        flickers, warps = [], []
        for rows in self._crops.values():
            if len(rows) < 5:
                continue
            before, after = [row[1] for row in rows], [row[2] for row in rows]
            flickers.append(flicker_ratio(before, after))
            warps.append(warp_error_ratio(before, after))
        if not flickers:
            return QualityFigures(redetected, float("nan"), float("nan"), 0)
        return QualityFigures(
            redetected, float(np.median(flickers)), float(np.median(warps)), len(flickers)
        )

    def _keep_crop(self, seen: Sighting, pair: FramePair) -> None:
        rows = self._crops.get(seen.chain)
        if rows is None:
            if len(self._crops) >= self.most_faces:
                return
            rows = self._crops.setdefault(seen.chain, [])
        is_next = not rows or rows[-1][0] == pair.index - 1
        if len(rows) >= self.most_frames or not is_next:
            return
        try:
            # One map for a whole chain would show the motion of the head as an error, and
            # one per picture the jitter of landmarks: both pictures share the original's.
            crop_from_frame = kveil_from_landmarks(seen.face.landmarks_px, _CROP)
            before, after = (
                crop_from_picture(picture_from_bgr(image), crop_from_frame, _CROP)
                for image in (pair.original, pair.anonymized)
            )
        except EngineFault:
            return
        rows.append((pair.index, before, after))
