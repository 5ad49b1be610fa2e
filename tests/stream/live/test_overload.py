from __future__ import annotations

import itertools

import numpy as np
import pytest

from engines.blending.compositor import Composite
from engines.detectors.multiscale import DetectionPlan
from engines.types import Face, Track, TrackState
from stream.finding.finding import Scale
from stream.live.overload import (
    Effort,
    Overload,
    SheddingReplacer,
    SheddingSchedule,
    shedding_plans,
)
from stream.pipeline.replacement import AheadReplacer, CoverEveryFace
from tests.stream.live.fakes import frame_at
from tests.stream.pipeline.test_anonymizer import (
    AheadOfItself,
    ScriptedDetector,
    anonymizer,
    assert_every_face_hidden,
    frames,
    seen,
)
from tracker.schedule import ScheduleSettings

pytestmark = pytest.mark.unit
KINDS = ("begun", "ended")
EVERY = ScheduleSettings(full_every_s=0.0, max_skipped=0, max_still_skipped=0)


def overload_at(effort: Effort) -> Overload:
    overload = Overload()
    overload.effort = effort
    return overload


def test_load_is_shed_in_the_stated_order_and_taken_back_slowly() -> None:
    overload = Overload(worse_s=1.0, better_s=5.0)
    efforts: list[Effort] = []
    for tick in range(600):
        effort = overload.observe(tick < 200, tick / 10)
        if not efforts or efforts[-1] is not effort:
            efforts.append(effort)
    down = [Effort.FULL, Effort.COARSE, Effort.SPARSE, Effort.COVER]
    assert efforts == [*down, *reversed(down[:-1])]


def test_single_late_frames_shed_nothing() -> None:
    overload = Overload(worse_s=0.0)
    assert all(overload.observe(tick % 20 == 0, tick / 10) is Effort.FULL for tick in range(500))


def test_shedding_turned_off_keeps_full_effort() -> None:
    overload = Overload(is_on=False, worse_s=0.0)
    assert all(overload.observe(True, tick / 10) is Effort.FULL for tick in range(100))


@pytest.mark.parametrize("effort", list(Effort))
@pytest.mark.parametrize("lookahead", [0, 1, 2, 5, 12])
@pytest.mark.parametrize("fps", [5, 15, 60])
def test_thorough_search_falls_into_every_look_ahead_whatever_the_load(
    effort: Effort, lookahead: int, fps: int
) -> None:
    schedule = SheddingSchedule(ScheduleSettings(), overload_at(effort), lookahead)
    still = np.zeros((36, 64), np.uint8)
    passes = [schedule.decide(tick / fps, still) for tick in range(200)]
    thorough = [tick for tick, choice in enumerate(passes) if choice == "full"]
    assert thorough[0] == 0
    assert max(later - sooner for sooner, later in itertools.pairwise(thorough)) <= max(
        1, lookahead
    )


def test_coarse_effort_looks_thoroughly_no_oftener_than_it_must() -> None:
    schedule = SheddingSchedule(EVERY, overload_at(Effort.COARSE), 10)
    passes = [schedule.decide(tick / 10) for tick in range(50)]
    assert [tick for tick, choice in enumerate(passes) if choice == "full"] == [0, 10, 20, 30, 40]
    assert "skip" not in passes


def test_sparse_effort_never_leaves_two_frames_in_a_row_unsearched() -> None:
    schedule = SheddingSchedule(EVERY, overload_at(Effort.SPARSE), 5)
    passes = [schedule.decide(tick / 10) for tick in range(100)]
    assert passes.count("skip") >= 30
    assert ("skip", "skip") not in list(itertools.pairwise(passes))


def test_frames_since_the_last_thorough_search_are_known() -> None:
    schedule = SheddingSchedule(ScheduleSettings(), overload_at(Effort.COARSE), 4)
    counts = []
    for tick in range(6):
        schedule.decide(tick / 25)
        counts.append(schedule.unsearched)
    assert counts == [0, 1, 2, 3, 0, 1]
    schedule.fail()
    assert schedule.unsearched == 3


def test_failed_search_is_made_up_for_at_once() -> None:
    schedule = SheddingSchedule(EVERY, overload_at(Effort.SPARSE), 5)
    for tick in range(20):
        schedule.decide(tick / 10)
        schedule.fail()
        assert schedule.decide(tick / 10 + 0.05) == "full"


def test_last_step_covers_and_says_why() -> None:
    box = np.array([0, 0, 5, 5], np.float32)
    face = Face(box, np.zeros((5, 2), np.float32), 0.9)
    track = Track(7, face, TrackState.DETECTED, 3)
    replacer = SheddingReplacer(CoverEveryFace("method"), overload_at(Effort.COVER))
    assert replacer.replace(frame_at(0.0), (track,)).causes == {7: "overload"}


def test_replacer_inside_is_begun_ahead_and_closed() -> None:
    inner = AheadOfItself(2)
    replacer = SheddingReplacer(inner, overload_at(Effort.SPARSE))
    assert isinstance(replacer, AheadReplacer)
    assert replacer.ahead == 2
    replacer.close()
    assert inner.is_closed


def test_replacer_inside_that_begins_nothing_ahead_has_nothing_to_close() -> None:
    replacer = SheddingReplacer(CoverEveryFace("method"), overload_at(Effort.FULL))
    assert replacer.ahead == 0
    replacer.close()


@pytest.mark.parametrize("ahead", [0, 1, 2])
def test_overload_covers_from_one_frame_to_the_next_and_what_was_begun_is_completed(
    ahead: int,
) -> None:
    inner, overload = AheadOfItself(ahead), overload_at(Effort.FULL)
    subject = anonymizer(ScriptedDetector(seen), SheddingReplacer(inner, overload))
    made: list[Composite] = []
    for frame in frames(24):
        overload.effort = Effort.COVER if 8 <= frame.index < 16 else Effort.FULL
        made += subject.push(frame)
    made += subject.flush()
    subject.close()
    assert_every_face_hidden(made)
    assert len(made) == 24
    causes = [one.outcomes[0].cause for one in made]
    assert [cause for cause, _ in itertools.groupby(causes)] == ["method", "overload", "method"]
    assert causes.count("overload") == 8
    begun, ended = ([one for kind, one in inner.events if kind == event] for event in KINDS)
    assert begun == ended == [one for one, cause in enumerate(causes) if cause == "method"]
    assert inner.is_closed


def test_covers_of_an_overload_leave_no_later_than_without_other_processes() -> None:
    overload = overload_at(Effort.COVER)
    subject, plain = (
        anonymizer(ScriptedDetector(seen), one)
        for one in (SheddingReplacer(AheadOfItself(2), overload), CoverEveryFace())
    )
    for frame, same in zip(frames(12), frames(12), strict=True):
        made, at_once = subject.push(frame), plain.push(same)
        assert [one.index for one in made] == [one.index for one in at_once]
    for one in (subject, plain):
        one.close()


def test_frames_that_are_late_but_not_lost_never_make_covers_of_swaps() -> None:
    overload = Overload(worse_s=0.0)
    efforts = {overload.observe(True, tick / 10, is_lost=False) for tick in range(900)}
    assert efforts == {Effort.FULL, Effort.COARSE, Effort.SPARSE}


def test_each_step_up_that_fails_doubles_the_wait_for_the_next() -> None:
    overload = Overload(worse_s=1.0, better_s=5.0)
    rises: list[float] = []
    for tick in range(6000):
        before = overload.effort
        after = overload.observe(before < Effort.SPARSE, tick / 10)
        if after < before:
            rises.append(tick / 10)
    gaps = [later - sooner for sooner, later in itertools.pairwise(rises)]
    assert len(gaps) >= 3
    assert all(later > 1.5 * sooner for sooner, later in itertools.pairwise(gaps[:3]))
    assert max(gaps) < 200.0


def test_overload_seeks_large_faces_at_a_scale_that_is_compiled_already() -> None:
    usual: dict[Scale, DetectionPlan] = {
        "near": DetectionPlan(512),
        "coarse": DetectionPlan(768),
        "full": DetectionPlan(1280, also_px=(320,)),
    }
    for effort in Effort:
        plans = shedding_plans(lambda height, width: usual, overload_at(effort))(720, 1280)
        assert plans["near"].long_side_px == (512 if effort is Effort.FULL else 320)
        assert plans["coarse"] is usual["coarse"]
        assert plans["full"] is usual["full"]
