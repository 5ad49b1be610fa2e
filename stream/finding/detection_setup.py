"""What detection and tracking of a stream are made of, by its settings."""

from __future__ import annotations

from dataclasses import replace

from config.settings import Settings
from stream.finding.finding import FaceFinder
from stream.finding.finding_memory import FindingMemory
from stream.finding.span_search import frames_held
from stream.media.ends import StreamShape
from stream.pipeline.engine_set import EngineSet
from stream.pipeline.stage_clock import StageClock
from tracker.schedule import DetectionSchedule, ScheduleSettings
from tracker.settings import TrackerSettings
from tracker.spans import KeySchedule, SpanSettings
from tracker.tracker import Tracker

__all__ = [
    "file_schedule",
    "finder_for",
    "lookahead_frames",
    "schedule_for",
    "tracker_for",
    "weak_hold_s",
]

_LEAST_FULL_EVERY_S = 0.1
_LATE_S = 0.1
"""Thorough searches come at most so much later than wanted."""
_OPENING_FRAMES = 3
"""Frames at the beginning of a file that are all searched thoroughly."""
_EARLY_SCORE = 0.3
_WEAK_HOLD_S = 0.09
_LONGEST_WEAK_HOLD_S = 10.0
_FORESEEN_S = 0.7
"""Look-ahead that shows whether what is hardly a face is found again."""
_LEAST_LOOKAHEAD = 8
"""Frames that the tracker's own look-ahead keeps of the memory."""


def finder_for(
    settings: Settings,
    engines: EngineSet,
    clock: StageClock,
    *,
    workers: int,
    give_up_after: int,
    memory: FindingMemory | None = None,
) -> FaceFinder:
    """The detector's runner.

    Args:
        settings: of this stream.
        engines: shared by all streams.
        clock: gets the stage `detect`.
        workers: searches under way at once.
        give_up_after: failed frames in a row after which the detector counts as dead.
        memory: what an interrupted run found.
    """
    return FaceFinder(
        engines.detector,
        engines.plans,
        min_score=settings.detection.low_score,
        workers=workers,
        deadline_s=settings.limits.engine_deadline_s,
        give_up_after=give_up_after,
        clock=clock,
        memory=memory,
        closer=engines.detector,
    )


def tracker_for(
    settings: Settings,
    lookahead: int,
    confirm_hits: int = 3,
    least_hold_frames: int = 2,
    least_hold_s: float = 0.0,
    early_score: float = _EARLY_SCORE,
    weak_hold_s: float = _LONGEST_WEAK_HOLD_S,
) -> Tracker:
    """The tracker of a stream.

    Args:
        settings: of this stream.
        lookahead: frames that a result is held back.
        confirm_hits: detections before a face is worth a surrogate.
        least_hold_frames: a track is covered so many frames before and after its detections,
            however slowly frames come.
        least_hold_s: a track is covered so long after its last detection, whatever the settings
            say; a short look-ahead sees less of what comes after it.
        weak_hold_s: see `TrackerSettings`; for look-aheads that show what is found again.
        early_score: score from which a track is covered while its evidence is not complete.
    """
    return Tracker(
        TrackerSettings(
            lookahead_frames=lookahead,
            high_score=settings.detection.high_score,
            low_score=settings.detection.low_score,
            confirm_hits=confirm_hits,
            hold_s=max(settings.tracking.hold_s, least_hold_s),
            preroll_s=settings.tracking.preroll_s,
            weak_hold_s=max(weak_hold_s, least_hold_s),
            unsearched_s=settings.detection.full_every_s + _LATE_S,
            min_hold_frames=least_hold_frames,
            early_score=max(early_score, settings.detection.low_score),
        )
    )


def weak_hold_s(lookahead: int, rate: float) -> float:
    """How long what was never clearly found is covered beyond its finds.

    Args:
        lookahead: frames.
        rate: frames a second.

    >>> weak_hold_s(25, 25.0) < weak_hold_s(8, 25.0)
    True
    """
    return _WEAK_HOLD_S if lookahead / rate >= _FORESEEN_S else _LONGEST_WEAK_HOLD_S


def schedule_for(settings: Settings, full_every_s: float) -> ScheduleSettings:
    """Which frames are searched where nothing is known of those to come."""
    if settings.detection.schedule == "every":
        return ScheduleSettings(full_every_s=full_every_s, max_skipped=0, max_still_skipped=0)
    return ScheduleSettings(full_every_s=full_every_s)


def file_schedule(
    settings: Settings, shape: StreamShape, workers: int
) -> tuple[DetectionSchedule | KeySchedule, int]:
    """Which frames of a recording are searched, and the tracker's look-ahead in frames.

    Key frames far ahead need memory: where pictures are too large for it, and where every
    frame is to be searched, the schedule goes from frame to frame.
    """
    rate, spans = float(shape.rate), SpanSettings()
    lookahead = lookahead_frames(settings, shape)
    span = max(1, min(spans.most_frames, int(spans.longest_s * rate)))
    left = _frames_in_memory(settings, shape) - frames_held(workers, span)
    if settings.detection.schedule == "every" or left < min(_LEAST_LOOKAHEAD, lookahead):
        latest_s = max(lookahead / rate, _LEAST_FULL_EVERY_S)
        wanted = schedule_for(settings, min(settings.detection.full_every_s, latest_s))
        return DetectionSchedule(replace(wanted, full_every_frames=lookahead)), lookahead
    lookahead = min(lookahead, left)
    # A full pass may come half a span late, and the look-ahead must still reach back to the last.
    latest_s = max(0.0, lookahead / rate - spans.longest_s / 2)
    spans = replace(
        spans,
        full_every_s=min(settings.detection.full_every_s, latest_s),
        small_full_every_s=min(spans.small_full_every_s, latest_s),
        opening_frames=_OPENING_FRAMES,
        full_every_frames=lookahead,
    )
    return KeySchedule(spans), lookahead


def lookahead_frames(settings: Settings, shape: StreamShape) -> int:
    """Frames that a file's look-ahead holds: its time, bounded by its memory."""
    by_time = round(settings.tracking.lookahead_s * float(shape.rate))
    return max(1, min(by_time, _frames_in_memory(settings, shape), 300))


def _frames_in_memory(settings: Settings, shape: StreamShape) -> int:
    frame_mb = shape.height * shape.width * 1.5 / 1e6
    return int(settings.limits.lookahead_mb / frame_mb)
