"""A thorough search of a recording comes before the cover of what it finds would begin too late."""

from __future__ import annotations

from fractions import Fraction

import pytest

from config.settings import Settings, Tracking
from engines.types import Face
from stream.finding.detection_setup import file_schedule, tracker_for
from stream.media.ends import StreamShape
from tests.tracker.scenes import face_at
from tracker.spans import KeySchedule
from tracker.tracker import FrameTracks

pytestmark = pytest.mark.unit


def shape_of(height: int, rate: int) -> StreamShape:
    return StreamShape(height, height * 16 // 9, Fraction(rate), Fraction(1, 90_000), None)


def bare_frames(
    shape: StreamShape, workers: int, enters: int, *, score: float = 0.8, has_small: bool = False
) -> list[int]:
    """Frames in which a face is bare that only thorough searches find."""
    settings, rate = Settings(), float(shape.rate)
    schedule, lookahead = file_schedule(settings, shape, workers)
    tracker = tracker_for(settings, lookahead)
    released: list[FrameTracks] = []
    for frame in range(enters + 120):
        if isinstance(schedule, KeySchedule):
            choice = schedule.decide(frame / rate, has_small=has_small)
            is_searched, is_full = choice.is_key, choice.is_full
        else:
            scale = schedule.decide(frame / rate, None, tracker.moving())
            is_searched, is_full = scale != "skip", scale == "full"
        there: tuple[Face, ...] = ()
        if is_full and frame >= enters:
            there = (face_at(500, 500, 30, score=score),)
        found, least_px = there if is_searched else None, 0.0 if is_full else 40.0
        released += tracker.push(frame, frame / rate, found, least_px=least_px)
    released += tracker.flush()
    return [one.frame_index for one in released[enters : enters + 60] if not one.tracks]


@pytest.mark.parametrize("score", [0.45, 0.8])
@pytest.mark.parametrize("has_small", [False, True])
@pytest.mark.parametrize(
    ("height", "rate", "workers"),
    [(1080, 30, 2), (2160, 24, 4), (2160, 30, 2), (2160, 60, 1), (2880, 24, 1), (4320, 30, 2)],
)
def test_a_face_seen_by_thorough_searches_alone_is_covered_from_its_first_frame(
    height: int, rate: int, workers: int, has_small: bool, score: float
) -> None:
    shape = shape_of(height, rate)
    for enters in range(1, 40, 3):
        assert not bare_frames(shape, workers, enters, score=score, has_small=has_small)


@pytest.mark.parametrize("height", [1080, 2160, 4320])
def test_times_that_stand_still_do_not_put_thorough_searches_beyond_the_look_ahead(
    height: int,
) -> None:
    schedule, lookahead = file_schedule(Settings(), shape_of(height, 30), workers=2)
    since = 0
    for frame in range(200):
        choice = schedule.decide(frame / 90_000)
        is_full = choice.is_full if not isinstance(choice, str) else choice == "full"
        since = 0 if is_full else since + 1
        assert since < lookahead


def test_the_first_frames_of_a_file_are_searched_thoroughly() -> None:
    schedule, _ = file_schedule(Settings(), shape_of(1080, 30), workers=2)
    assert isinstance(schedule, KeySchedule)
    assert [schedule.decide(frame / 30).is_full for frame in range(5)] == [True] * 3 + [False] * 2


def test_thorough_searches_do_not_depend_on_how_far_covers_reach() -> None:
    """Shorter covers must not make a run slower."""

    def full_searches(reach_s: float) -> int:
        settings = Settings(tracking=Tracking(preroll_s=reach_s, hold_s=reach_s))
        schedule, _ = file_schedule(settings, shape_of(1080, 30), workers=2)
        assert isinstance(schedule, KeySchedule)
        return sum(schedule.decide(frame / 30).is_full for frame in range(300))

    assert full_searches(0.05) == full_searches(0.6)
