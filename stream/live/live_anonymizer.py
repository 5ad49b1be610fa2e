"""Builds the anonymizer of a live stream and counts what became of its faces."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

from config.settings import Settings
from engines.blending.compositor import Composite, compose_slate, compose_unknown
from engines.blending.marking import MarkStyle, mark
from engines.types import Frame
from stream.files.report import ClusterCounts, FaceCounts, FrameCounts
from stream.finding.detection_setup import finder_for, schedule_for, tracker_for
from stream.finding.finding import FaceFinder
from stream.live.counters import Counters
from stream.live.frame_worker import FrameAnonymizer
from stream.live.overload import (
    Overload,
    SheddingReplacer,
    SheddingSchedule,
    shedding_plans,
)
from stream.pipeline.anonymizer import Anonymizer
from stream.pipeline.engine_set import EngineSet
from stream.pipeline.methods import method_cover
from stream.pipeline.replacement import FaceReplacer
from stream.pipeline.stage_clock import StageClock
from stream.pipeline.tally import Tally
from tracker.association import prepare as prepare_association

__all__ = ["FaceTally", "LiveAnonymizers", "live_lookahead"]

_GIVE_UP_AFTER = 10
_LEAST_HOLD_FRAMES = 2
_MOST_HOLD_FRAMES = 100
_LEAST_HOLD_S = 0.5
"""A live look-ahead is too short to see faces come back."""
_ALLOWED_FRAMES = 2
"""Pictures that leave more than so many frames after their look-ahead are late."""
_LOST_FRAMES = 4
"""Those that leave later than this count as lost: a cover now is better."""
ReplacerFactory = Callable[[], FaceReplacer]


class FaceTally:
    """Counts frames and faces by outcome over all anonymizers that a stream has had."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tally = Tally()
        self._tracks = 0
        self._highest = 0

    def add(self, composite: Composite) -> None:
        """Counts one finished picture."""
        with self._lock:
            self._tally.written += 1
            self._tally.add_composite(composite, ())
            self._highest = max([self._highest, *(one.track for one in composite.outcomes)])

    def new_run(self) -> None:
        """Track numbers start over."""
        with self._lock:
            self._tracks += self._highest
            self._highest = 0
            self._tally.new_run()

    def faces(self) -> FaceCounts:
        """Faces so far."""
        with self._lock:
            tracks = self._tracks + self._highest
            return self._tally.faces().model_copy(update={"tracks": tracks})

    def frames(self, read: int, damaged: int) -> FrameCounts:
        """Frames so far; `read` and `damaged` come from the stream's counters."""
        with self._lock:
            return self._tally.frames().model_copy(update={"read": read, "damaged": damaged})


class _Run:
    """Anonymizes one uninterrupted run of frames, marks the composites and counts them.

    What anonymizes is made when the first frame is there, whose size says how far to look ahead.
    Where a run of frames breaks off, the last ones were never searched thoroughly, so a small
    face may be bare in them: they are covered in full.

    Args:
        of: the stream.
    """

    def __init__(self, of: LiveAnonymizers) -> None:
        self._of = of
        self._inner: tuple[Anonymizer, SheddingSchedule] | None = None

    def push(self, frame: Frame) -> Sequence[Composite]:
        """Takes the next frame; gives what is complete by now, marked."""
        if self._inner is None:
            self._inner = self._of.made_for(frame.picture.nbytes)
        self._of.observe()
        return self._marked(self._inner[0].push(frame))

    def flush(self) -> Sequence[Composite]:
        """Completes what is inside."""
        if self._inner is None:
            return ()
        anonymizer, schedule = self._inner
        composites = list(anonymizer.flush())
        searched = max(0, len(composites) - schedule.unsearched)
        composites[searched:] = [_covered(composite) for composite in composites[searched:]]
        return self._marked(composites)

    def close(self) -> None:
        """Ends the anonymizer's workers."""
        if self._inner is not None:
            self._inner[0].close()

    def _marked(self, composites: Sequence[Composite]) -> Sequence[Composite]:
        for composite in composites:
            self._of.count_and_mark(composite)
        return composites


def _covered(composite: Composite) -> Composite:
    """A full cover in the place of a composite."""
    if composite.is_fully_covered:
        return composite
    return compose_slate(
        composite.picture.height,
        composite.picture.width,
        pts=composite.pts,
        time_base=composite.time_base,
        index=composite.index,
        cause="unsearched",
        stream=composite.stream,
    )


def live_lookahead(settings: Settings, frame_bytes: int) -> int:
    """Frames that a live stream looks ahead: as many as are wanted, and as its memory holds.

    >>> live_lookahead(Settings(), 8192 * 4320 * 3 // 2), live_lookahead(Settings(), 1 << 30)
    (5, 0)
    """
    held = int(settings.limits.lookahead_mb * 1e6) // max(1, frame_bytes)
    return min(settings.tracking.lookahead_live_frames, held)


class LiveAnonymizers:
    """Makes the anonymizers of one stream, one per uninterrupted run of frames.

    Args:
        settings: of this stream.
        engines: shared by all streams.
        make_replacer: makes the surrogates' side; called once per run of frames.
        counters: of this stream; tells about drops and latency.
        style: of the visible mark; None for no mark.
        sheds_load: whether to do less under overload.
        now: monotonic seconds.

    Raises:
        UsageRefused: there is no such method.
    """

    def __init__(
        self,
        settings: Settings,
        engines: EngineSet,
        make_replacer: ReplacerFactory,
        counters: Counters,
        style: MarkStyle | None,
        *,
        sheds_load: bool,
        now: Callable[[], float],
    ) -> None:
        self._settings = settings
        self._face_cover = method_cover(settings.method, settings.cover.look)
        self._make_replacer = make_replacer
        self._counters = counters
        self._style = style
        self._now = now
        self._drops = 0
        self._replacer: FaceReplacer | None = None
        self.overload = Overload(is_on=sheds_load)
        self._engines = replace(engines, plans=shedding_plans(engines.plans, self.overload))
        self.tally = FaceTally()
        self.stages = StageClock()

    def make(self) -> FrameAnonymizer:
        """The anonymizer of another run of frames."""
        self.tally.new_run()
        return _Run(self)

    def cover(self, frame: Frame, cause: str) -> Composite:
        """Covers a frame in full that no anonymizer of this stream could make fit to leave."""
        composite = compose_unknown(frame, cause)
        self.count_and_mark(composite)
        return composite

    def count_and_mark(self, composite: Composite) -> None:
        """Counts a finished picture, and draws the visible mark on it where one is wanted."""
        self.tally.add(composite)
        if self._style is not None:
            mark(composite, self._style)

    def clusters(self) -> ClusterCounts:
        """Clusters of the present run."""
        return ClusterCounts() if self._replacer is None else self._replacer.counts()

    def made_for(self, frame_bytes: int) -> tuple[Anonymizer, SheddingSchedule]:
        """What anonymizes frames of so many bytes, and when it searches them."""
        prepare_association()
        settings, live_frames = self._settings, live_lookahead(self._settings, frame_bytes)
        self._replacer = SheddingReplacer(self._make_replacer(), self.overload)
        schedule = SheddingSchedule(
            schedule_for(settings, settings.detection.full_every_s), self.overload, live_frames
        )
        tracker = tracker_for(
            settings,
            live_frames,
            least_hold_frames=max(_LEAST_HOLD_FRAMES, min(live_frames, _MOST_HOLD_FRAMES)),
            least_hold_s=_LEAST_HOLD_S,
        )
        anonymizer = Anonymizer(
            self._finder(),
            schedule,
            tracker,
            self._replacer,
            self._face_cover,
            settings.cover.margin,
            self.stages,
        )
        return anonymizer, schedule

    def _finder(self) -> FaceFinder:
        finder = finder_for(
            self._settings,
            self._engines,
            self.stages,
            workers=1,
            give_up_after=_GIVE_UP_AFTER,
        )
        # Files overlap the search of a frame with the decoding of the next; live, that would
        # hold each picture back until the next one comes.
        finder.workers = 0
        return finder

    def observe(self) -> None:
        """Told of each frame: it is late where another was dropped for it, or it left too late."""
        drops = self._counters.counts().get("dropped_input", 0)
        newest_s, interval_s = self._counters.newest_latency_s, self._counters.interval_s
        frames = self._settings.tracking.lookahead_live_frames
        is_late = newest_s > (frames + _ALLOWED_FRAMES) * interval_s > 0
        is_lost = newest_s > (frames + _LOST_FRAMES) * interval_s > 0
        has_dropped, self._drops = drops > self._drops, drops
        self.overload.observe(is_late or has_dropped, self._now(), is_lost=is_lost or has_dropped)
