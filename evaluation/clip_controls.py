"""Controls of a clip's evaluation, on its own frames, by the same networks.

The exposure attack must find a leak and must not find a cover. The measures of quality must
find nothing changed in a copy, and a surrogate that flickers between two people unsteady.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.types import Face
from evaluation.clip_quality import ClipQuality, QualityFigures
from evaluation.clips import FramePair
from evaluation.exposure import (
    SIZE_EDGES_PX,
    Exposure,
    FaceFinder,
    face_size_px,
    measure_exposure,
)
from evaluation.face_geometry import GeometryProbe
from evaluation.footage_floor import FLOOR_FMR, FootageFloor
from evaluation.metrics.intervals import Z999, wilson
from evaluation.recognisers import Recogniser

__all__ = ["ClipControls", "QualityControls", "run_clip_controls", "run_quality_controls"]

_LEAST_BARE = 0.98
_LEAST_RECOGNISED = 0.9
_LEAST_IDENTIFIED = 0.9
_JPEG_QUALITY = 80
_LEAST_LEAK_PX = 32.0
_MOST_FRAMES = 20
_CONSECUTIVE = 24
_LEAST_RISE = 2.0
_FLICKER_LEVELS = 40


@dataclass(frozen=True, slots=True)
class ClipControls:
    """How the attack did on clips whose truth is known.

    Attributes:
        leak: exposure of a re-compressed original, which leaks every face.
        cover: exposure of frames of one grey, which leak none.
    """

    leak: Exposure
    cover: Exposure

    def hold(self, judges: Sequence[Recogniser]) -> bool:
        """Whether the leak was found and the cover was not called a leak.

        Recognition of the leak is asked of faces of at least 32 px: below that, a
        re-compressed face may be lost to the judge, and A12 has `bare` to find it. One judge
        at least must match these beyond the footage's own floor, or that floor hides leaks;
        the cover is asked not to match beyond it.
        """
        found = self.leak.bare().rate >= _LEAST_BARE and self.cover.bare().hits == 0
        for judge in judges:
            large = self.leak.recognisable(judge.name, _LEAST_LEAK_PX)
            found &= large.rate >= _LEAST_RECOGNISED or not large.probes
            covered = self.cover.identified(judge.name)
            found &= wilson(covered.hits, covered.probes, Z999)[0] <= FLOOR_FMR
        identified = [self.leak.identified(judge.name, _LEAST_LEAK_PX) for judge in judges]
        return found and any(one.rate >= _LEAST_IDENTIFIED or not one.probes for one in identified)


@dataclass(frozen=True, slots=True)
class QualityControls:
    """How the measures of quality did on clips whose truth is known.

    Attributes:
        copy: of the original itself: everything found and recognised, every ratio 1.
        flickering: of faces that are another person's, and darker, in every second frame.
    """

    copy: QualityFigures
    flickering: QualityFigures

    def hold(self) -> bool:
        """Whether the copy is unchanged and the flickering is told; true without faces."""
        copy, flickering = self.copy, self.flickering
        if not copy.steadiness.faces:
            return True
        found = all(one.rate == 1.0 for one in copy.recognised.values())
        steady = copy.steadiness
        found &= all(abs(one - 1) < 1e-6 for one in (steady.flicker, steady.warp_error))
        found &= flickering.steadiness.flicker >= _LEAST_RISE
        found &= flickering.steadiness.warp_error >= _LEAST_RISE
        for name, one in copy.constancy.items():
            if one.tracks and flickering.constancy[name].tracks:
                found &= flickering.constancy[name].spread > _LEAST_RISE * one.spread
        return bool(found)


def run_quality_controls(
    pairs: Iterable[FramePair],
    finder: FaceFinder,
    judges: Sequence[Recogniser],
    probe: GeometryProbe,
) -> QualityControls:
    """Measures the quality of a copy and of a flickering surrogate, on consecutive frames.

    Args:
        pairs: frames of the original; the other side is not looked at. The first 24 with a
            face and their followers are.
        finder: detector for both sides.
        judges: recognisers.
        probe: networks of pose and landmarks.
    """
    frames: list[FramePair] = []
    faces: list[list[Face]] = []
    for pair in pairs:
        seen = [one for one in finder.find(pair.original) if face_size_px(one) >= SIZE_EDGES_PX[0]]
        if seen or frames:
            frames.append(pair)
            faces.append(seen)
        if len(frames) == _CONSECUTIVE:
            break
    known = _Known(frames, faces, finder.name)
    sides = []
    for changed in (_copied, _flickering):
        # An odd step looks at both kinds of frames.
        quality = ClipQuality(known, judges, probe, every=3)
        shown = (changed(pair, seen) for pair, seen in zip(frames, faces, strict=True))
        measure_exposure(shown, known, judges, keep=quality.keep)
        sides.append(quality.figures())
    return QualityControls(*sides)


def run_clip_controls(
    pairs: Iterable[FramePair],
    finder: FaceFinder,
    judges: Sequence[Recogniser],
    *,
    every: int = 15,
    floors: Mapping[str, FootageFloor] | None = None,
) -> ClipControls:
    """Runs both controls on every `every`-th frame of the original.

    Args:
        pairs: frames of the original; the other side is not looked at.
        finder: detector for the originals.
        judges: recognisers.
        every: frames between two that are looked at; at most 20 are.
        floors: of the whole clip, which know more pairs than these few frames.
    """
    sampled = list(islice((pair for pair in pairs if pair.index % every == 0), _MOST_FRAMES))
    leak, cover = (
        measure_exposure(shown(sampled), finder, judges, every=every)
        for shown in (_leaking, _covered)
    )
    if floors is not None:
        leak.floors = cover.floors = dict(floors)
    return ClipControls(leak, cover)


def _leaking(pairs: Iterable[FramePair]) -> Iterator[FramePair]:
    for pair in pairs:
        quality = [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY]
        _, encoded = cv2.imencode(".jpg", pair.original, quality)
        copy = np.asarray(cv2.imdecode(encoded, cv2.IMREAD_COLOR), np.uint8)
        yield FramePair(pair.index, pair.original, copy, pair.time_s)


def _covered(pairs: Iterable[FramePair]) -> Iterator[FramePair]:
    for pair in pairs:
        # Far from every tone of a face, so that a uniform cheek never counts as unchanged.
        flat = np.zeros_like(pair.original)
        flat[..., 0] = 255
        yield FramePair(pair.index, pair.original, flat, pair.time_s)


@dataclass(slots=True)
class _Known:
    """A finder that was asked before, frame by frame, in the same order."""

    frames: Sequence[FramePair]
    faces: Sequence[list[Face]]
    name: str

    def find(self, image: NDArray[np.uint8]) -> Sequence[Face]:
        """The faces of a frame's original, also where the frame was changed since."""
        for pair, seen in zip(self.frames, self.faces, strict=True):
            if image is pair.original:
                return seen
        return ()


def _copied(pair: FramePair, seen: Sequence[Face]) -> FramePair:
    del seen
    return FramePair(pair.index, pair.original, pair.original, pair.time_s)


def _flickering(pair: FramePair, seen: Sequence[Face]) -> FramePair:
    """The faces upside down and darker in every second frame: another person's to a judge."""
    image = pair.original.copy()
    if pair.index % 2:
        height, width = image.shape[:2]
        for face in seen:
            low = np.clip(np.floor(face.box_px[:2]).astype(int), 0, (width - 1, height - 1))
            high = np.clip(np.ceil(face.box_px[2:]).astype(int), low + 1, (width, height))
            window = np.s_[low[1] : high[1], low[0] : high[0]]
            darker = image[window][::-1].astype(np.int16) - _FLICKER_LEVELS
            image[window] = np.clip(darker, 0, 255).astype(np.uint8)
    return FramePair(pair.index, pair.original, image, pair.time_s)
