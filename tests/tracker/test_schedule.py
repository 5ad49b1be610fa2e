"""When the detector may be left out, and when never."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tracker.errors import TrackerSettingsRejected
from tracker.schedule import DetectionSchedule, MovingFace, Pass, ScheduleSettings, local_change

pytestmark = pytest.mark.unit

SLOW = MovingFace(size_px=80.0, speed_sizes_per_s=0.1)
FAST = MovingFace(size_px=80.0, speed_sizes_per_s=8.0)
SMALL = MovingFace(size_px=12.0, speed_sizes_per_s=0.1)
GREY = np.full((36, 64), 90, dtype=np.uint8)
NOISE = np.random.default_rng(1).integers(0, 255, (36, 64)).astype(np.uint8)


def plan(
    frames: int,
    rate: float,
    faces: tuple[MovingFace, ...] = (),
    settings: ScheduleSettings | None = None,
    picture: NDArray[np.uint8] | None = None,
) -> list[Pass]:
    schedule = DetectionSchedule(settings)
    return [schedule.decide(index / rate, picture, faces) for index in range(frames)]


def longest_skip(passes: list[Pass]) -> int:
    runs = "".join("s" if one == "skip" else "." for one in passes).split(".")
    return max(len(run) for run in runs)


def test_the_first_frame_is_run_at_full_scale() -> None:
    assert plan(1, 25.0) == ["full"]


@pytest.mark.parametrize("rate", [24.0, 24000 / 1001, 25.0, 30.0])
def test_at_usual_rates_at_most_one_frame_in_a_row_is_left_out(rate: float) -> None:
    passes = plan(100, rate, (SLOW,))
    assert longest_skip(passes) == 1
    assert passes.count("skip") >= 40


@pytest.mark.parametrize("rate", [1.0, 10.0, 15.0, 20.0])
def test_below_24_frames_a_second_every_frame_is_run(rate: float) -> None:
    assert "skip" not in plan(100, rate, (SLOW,))


def test_a_still_scene_at_a_high_rate_is_left_out_longer() -> None:
    assert longest_skip(plan(100, 60.0, (SLOW,), picture=GREY)) == 3
    assert longest_skip(plan(100, 60.0, (SLOW,))) == 1


def test_with_a_fast_face_every_frame_is_run() -> None:
    assert "skip" not in plan(100, 30.0, (SLOW, FAST))


def test_with_a_face_of_unknown_speed_every_frame_is_run() -> None:
    assert "skip" not in plan(100, 30.0, (MovingFace(80.0, math.inf),))


def test_a_lively_picture_is_run_on_every_frame() -> None:
    schedule = DetectionSchedule()
    blink = GREY.copy()
    blink[:12, :16] = 250
    passes = [schedule.decide(i / 30, blink if i % 2 else GREY, (SLOW,)) for i in range(40)]
    assert "skip" not in passes


def test_a_cut_is_run_at_full_scale_at_once() -> None:
    schedule = DetectionSchedule()
    passes = [schedule.decide(i / 30, GREY if i < 21 else NOISE, (SLOW,)) for i in range(23)]
    assert passes[21] == "full"


def test_after_a_failed_run_the_next_frame_is_run_at_full_scale() -> None:
    schedule = DetectionSchedule()
    schedule.decide(0.0)
    schedule.fail()
    assert schedule.decide(0.04) == "full"


def test_small_faces_bring_full_passes_more_often() -> None:
    def full(faces: tuple[MovingFace, ...]) -> int:
        return plan(100, 25.0, faces).count("full")

    assert full((SMALL,)) > 2 * full((SLOW,))


def test_with_nothing_left_out_every_frame_is_run() -> None:
    careful = ScheduleSettings(max_skipped=0, max_still_skipped=0)
    assert "skip" not in plan(100, 60.0, (SLOW,), careful, GREY)


@given(
    intervals=st.lists(st.sampled_from([1 / 60, 1 / 30, 1 / 25]), min_size=5, max_size=80),
    faces=st.lists(st.sampled_from([SLOW, SMALL, FAST]), max_size=3),
)
@settings(max_examples=80)
def test_no_stretch_is_blind_for_longer_than_allowed(
    intervals: list[float], faces: list[MovingFace]
) -> None:
    wanted = ScheduleSettings()
    schedule, now_s, last_run_s, last_full_s = DetectionSchedule(wanted), 0.0, 0.0, 0.0
    for interval_s in [max(intervals), *intervals]:
        choice = schedule.decide(now_s, None, faces)
        if choice != "skip":
            assert now_s - last_run_s <= wanted.max_blind_s + 1e-9
            last_run_s = now_s
        if choice == "full":
            assert now_s - last_full_s <= wanted.full_every_s + 1e-9
            last_full_s = now_s
        now_s += interval_s


@pytest.mark.parametrize("time_s", [0.0, -1.0, math.nan])
def test_a_time_that_does_not_rise_is_run(time_s: float) -> None:
    schedule = DetectionSchedule()
    for index in range(10):
        schedule.decide(index / 25)
    assert schedule.decide(time_s) != "skip"
    assert schedule.decide(time_s) != "skip"


def test_a_local_change_is_seen_that_the_mean_hides() -> None:
    moved = GREY.copy()
    moved[:6, :8] += 40
    assert local_change(GREY, moved) == 40.0
    assert float(np.abs(moved.astype(int) - GREY).mean()) < 1.0


def test_thumbnails_too_small_for_blocks_are_still_compared() -> None:
    assert local_change(np.zeros((2, 2), np.uint8), np.full((2, 2), 9, np.uint8)) == 9.0


@pytest.mark.parametrize("wrong", [-1.0, math.nan, math.inf])
def test_a_setting_that_makes_no_sense_is_refused(wrong: float) -> None:
    with pytest.raises(TrackerSettingsRejected, match="full_every_s"):
        ScheduleSettings(full_every_s=wrong)


@pytest.mark.parametrize("back_s", [0.4, 10.0, 1e5])
def test_a_clock_set_back_lets_no_full_pass_wait(back_s: float) -> None:
    schedule = DetectionSchedule()
    times = [at / 25 - (back_s if at >= 250 else 0.0) for at in range(500)]
    full = [at for at, time_s in enumerate(times) if schedule.decide(time_s) == "full"]
    assert max(after - before for before, after in pairwise([*full, 500])) <= 25 * 0.35


def test_times_packed_together_let_no_full_pass_wait_longer_than_the_frames_allowed() -> None:
    passes = plan(200, 10_000.0, settings=ScheduleSettings(full_every_frames=20))
    full = [at for at, one in enumerate(passes) if one == "full"]
    assert {after - before for before, after in pairwise(full)} == {20}
