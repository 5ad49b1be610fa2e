"""One stream's frames in, its composites out: detection, tracking, replacement, compositing.

No I/O and no clock: time is the frames' own. Frames wait in a look-ahead as long as the
tracker needs to know what later frames say about them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, runtime_checkable

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.blending.compositor import Composite, compose, compose_unknown
from engines.blending.covers import Cover
from engines.face.glance import glance_of
from engines.types import Face, Frame
from stream.finding.finding import FaceFinder
from stream.finding.frame_search import FrameSearch, Searched, SearchInTurn
from stream.finding.span_search import SpanSearch
from stream.finding.unseen_places import UnseenPlaces
from stream.finding.weak_gaps import WeakGaps
from stream.pipeline.replacement import AheadReplacer, FaceReplacer, Replacement
from stream.pipeline.stage_clock import StageClock
from stream.pipeline.tally import Tally
from stream.swap.track_embedding import Foresighted
from tracker.schedule import DetectionSchedule
from tracker.spans import KeySchedule
from tracker.tracker import FrameTracks, Tracker

__all__ = ["Anonymizer", "Closable"]

_THUMBNAIL = (36, 64)  # rows, columns


@runtime_checkable
class Closable(Protocol):
    """A replacer that holds something until the stream ends, whatever else it can do."""

    def close(self) -> None:
        """Forgets the stream; idempotent."""


@dataclass(frozen=True, slots=True)
class _Begun:
    """A frame whose faces are being replaced."""

    frame: Frame
    found: FrameTracks
    replaced: Callable[[], Replacement]


class Anonymizer:
    """Turns frames into composites, some frames later, in order and without gaps.

    A composite comes out for each frame that went in. A fault of any engine shows as a
    cover on the faces it concerns; where the faces themselves are unknown, on the frame.

    Args:
        finder: runs the detector.
        schedule: says at which scale each frame is searched; key frames look ahead, for files.
        tracker: follows the faces and decides when a frame may leave.
        replacer: makes synthetic faces; `CoverEveryFace` makes none.
        cover: lies over every face without a patch.
        margin: size of a cover over size of the detected box; larger hides more hair.
        clock: gets the duration of the stages `track`, `lend`, `replace` and `compose`.
    """

    def __init__(
        self,
        finder: FaceFinder,
        schedule: DetectionSchedule | KeySchedule,
        tracker: Tracker,
        replacer: FaceReplacer,
        cover: Cover,
        margin: float,
        clock: StageClock,
    ) -> None:
        self._finder = finder
        self._unseen = UnseenPlaces(tracker.settings.low_score)
        self._gaps = WeakGaps()
        self._search = _search(finder, schedule, tracker)
        self._tracker = tracker
        self._replacer = replacer
        self._ahead_replacer = replacer if isinstance(replacer, AheadReplacer) else None
        self._cover = cover
        self._margin = margin
        self._clock = clock
        self._waiting: deque[Frame] = deque()
        self._begun: deque[_Begun] = deque()
        if isinstance(replacer, Foresighted):
            replacer.foresee(self._faces_ahead)
        self.tally = Tally()

    def push(self, frame: Frame) -> Sequence[Composite]:
        """Takes the next frame, whose buffers it owns from here on.

        Returns:
            The composites that are now complete: none at first, later usually one.

        Raises:
            EngineFault: the detector is dead; no frame was let through.
        """
        self.tally.read += 1
        self.tally.damaged += frame.is_damaged
        composites: list[Composite] = []
        for searched in self._search.push(frame, _thumbnail(frame)):
            composites += self._tracked(searched)
        return composites

    def flush(self) -> Sequence[Composite]:
        """Completes every frame still inside; the end of the stream.

        Raises:
            EngineFault: the detector is dead.
        """
        composites: list[Composite] = []
        for searched in self._search.flush():
            composites += self._tracked(searched)
        for tracks in self._tracker.flush():
            composites += self._composites(tracks)
        while self._begun:
            composites.append(self._finished(self._begun.popleft()))
        return composites

    def close(self) -> None:
        """Ends the workers, and forgets the stream wherever it was known; idempotent."""
        self._search.close()
        if isinstance(self._replacer, Closable):
            self._replacer.close()

    def _tracked(self, searched: Searched) -> list[Composite]:
        frame, findings = searched.frame, searched.findings
        self._waiting.append(frame)
        with self._clock.measure("track"):
            released = self._tracker.push(
                frame.index,
                frame.time_s,
                findings.faces,
                searched.thumbnail,
                unknown=bool(findings.failure),
                frame_size=(frame.picture.height, frame.picture.width),
                least_px=findings.least_px,
                look=partial(glance_of, frame.picture),
            )
        composites: list[Composite] = []
        for tracks in released:
            composites += self._composites(tracks)
        return composites

    def _composites(self, found: FrameTracks) -> list[Composite]:
        """Begins on a frame, and completes those that wait before it, as many as are due.

        Where others work on faces, they are given the next frames' while this one's wait to be
        laid, and that one's composite comes some calls later.
        """
        frame = self._waiting.popleft()
        assert frame.index == found.frame_index, "the tracker released frames out of order"
        found = self._settled(frame, found)
        composites: list[Composite] = []
        if self._begun and len(self._begun) >= self._ahead:
            composites.append(self._finished(self._begun.popleft()))
        self._begun.append(_Begun(frame, found, self._replacing(frame, found)))
        while len(self._begun) > self._ahead:
            composites.append(self._finished(self._begun.popleft()))
        return composites

    def _settled(self, frame: Frame, found: FrameTracks) -> FrameTracks:
        """The tracks after a closer look at those that no search found in this frame."""
        if frame.is_damaged or found.is_unknown:
            return found
        look = partial(self._finder.look_closer, frame)
        size = (frame.picture.height, frame.picture.width)
        doubted = self._gaps.doubted(frame, found.tracks, self._faces_ahead)
        tracks = self._unseen.settled(found.tracks, look, frame.time_s, size, doubted)
        return replace(found, tracks=tracks)

    @property
    def _ahead(self) -> int:
        """Frames that are begun before the first of them is completed."""
        return self._ahead_replacer.ahead if self._ahead_replacer else 0

    def _replacing(self, frame: Frame, found: FrameTracks) -> Callable[[], Replacement]:
        """Begins on the faces of a frame; where that fails, all of them are covered."""
        if frame.is_damaged or found.is_unknown:
            return Replacement
        if self._ahead_replacer is None:
            return partial(self._replacer.replace, frame, found.tracks)
        try:
            with self._clock.measure("lend"):
                return self._ahead_replacer.begin(frame, found.tracks)
        except Exception:
            return partial(_failed, found)

    def _finished(self, begun: _Begun) -> Composite:
        frame, found = begun.frame, begun.found
        if frame.is_damaged:
            composite = compose_unknown(frame, "damaged")
        elif found.is_unknown:
            composite = compose_unknown(frame, "detector_fault")
        else:
            composite = self._with_faces(begun)
        self.tally.add_composite(composite, found.tracks)
        return composite

    def _with_faces(self, begun: _Begun) -> Composite:
        with self._clock.measure("replace"):
            replacement = _replacement(begun)
        with self._clock.measure("compose"):
            return compose(
                begun.frame,
                begun.found.tracks,
                replacement.patches,
                self._cover,
                replacement.causes,
                margin=self._margin,
            )

    def _faces_ahead(self, track: int) -> list[tuple[Frame, Face]]:
        """Where a track's face is in the frames that have not left yet."""
        faces = dict(self._tracker.ahead(track))
        return [(frame, faces[frame.index]) for frame in self._waiting if frame.index in faces]


def _replacement(begun: _Begun) -> Replacement:
    try:
        return begun.replaced()
    except Exception:
        return _failed(begun.found)


def _failed(found: FrameTracks) -> Replacement:
    return Replacement(causes={track.id: "engine_fault" for track in found.tracks})


def _search(
    finder: FaceFinder, schedule: DetectionSchedule | KeySchedule, tracker: Tracker
) -> FrameSearch:
    if isinstance(schedule, KeySchedule):
        return SpanSearch(finder, schedule)
    return SearchInTurn(finder, schedule, tracker.moving)


def _thumbnail(frame: Frame) -> NDArray[np.uint8]:
    """36×64 uint8 luma, for scene cuts and motion."""
    plane = frame.picture.planes[0]
    if plane.ndim == 3:
        plane = plane[..., 1]
    small = np.asarray(cv2.resize(plane, _THUMBNAIL[::-1], interpolation=cv2.INTER_AREA))
    return (small / (1 << (frame.picture.bit_depth - 8))).astype(np.uint8)
