"""Key frames, and when the frames between two of them need no look."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from engines.types import Face
from tracker.errors import TrackerSettingsRejected
from tracker.spans import KeyChoice, KeySchedule, SpanSettings, agreement

pytestmark = pytest.mark.unit

GREY = np.full((36, 64), 90, np.uint8)
NOISE = np.random.default_rng(3).integers(0, 255, (36, 64)).astype(np.uint8)
OTHER = np.random.default_rng(4).integers(0, 255, (36, 64)).astype(np.uint8)


def face(x: float = 0.0, side: float = 40.0, score: float = 0.9) -> Face:
    box = np.array([x, 0, x + side, side], np.float32)
    return Face(box, np.full((5, 2), x + side / 2, np.float32), score)


def keys(rate: float, frames: int = 60, settings: SpanSettings | None = None) -> list[int]:
    schedule = KeySchedule(settings)
    return [at for at in range(frames) if schedule.decide(at / rate, GREY).is_key]


@pytest.mark.parametrize(("rate", "step"), [(10, 1), (24, 3), (25, 3), (30, 4), (60, 8)])
def test_keys_lie_at_most_135_ms_apart(rate: float, step: int) -> None:
    found = keys(rate)
    assert found[0] == 0
    assert {after - before for before, after in pairwise(found)} == {step}
    assert step == 1 or step / rate <= 0.135


def test_first_key_is_full_and_full_passes_keep_their_distance() -> None:
    schedule = KeySchedule(SpanSettings(full_every_s=0.5))
    full = [at / 30 for at in range(120) if schedule.decide(at / 30, GREY).is_full]
    assert full[0] == 0
    assert max(b - a for a, b in pairwise(full)) <= 0.5 + 0.135 / 2


def test_small_faces_bring_full_passes_closer() -> None:
    def passes(has_small: bool) -> int:
        schedule = KeySchedule()
        return sum(schedule.decide(at / 30, GREY, has_small=has_small).is_full for at in range(120))

    assert passes(True) > 1.5 * passes(False)


def test_cut_ends_its_scene_with_a_key_and_begins_the_next_with_a_full_one() -> None:
    schedule = KeySchedule()
    choices = [schedule.decide(at / 30, NOISE if at < 7 else OTHER) for at in range(9)]
    assert choices[7] == KeyChoice(is_key=True, is_full=True, ends_before=True)


def test_lively_picture_is_searched_every_second_frame() -> None:
    schedule = KeySchedule()
    shapes = []
    for at in range(9):
        picture = NOISE.copy()
        picture[:12, :16] = 40 + 60 * (at % 2)
        shapes.append(schedule.decide(at / 60, picture).is_key)
    assert shapes == [True, False] * 4 + [True]


@pytest.mark.parametrize(("has_small", "step"), [(True, 1), (False, 2)])
def test_small_faces_in_a_pan_are_searched_in_every_frame(has_small: bool, step: int) -> None:
    wall = np.random.default_rng(5).integers(0, 255, (9, 30)).astype(np.uint8)
    wide = np.kron(wall, np.ones((4, 8), np.uint8))
    schedule = KeySchedule()
    choices = [
        schedule.decide(at / 30, wide[:, 2 * at : 2 * at + 64], has_small=has_small)
        for at in range(40)
    ]
    found = [at for at, choice in enumerate(choices) if choice.is_key]
    assert {after - before for before, after in pairwise(found[1:])} == {step}
    assert all(choice.is_full for choice in choices[1:]) == has_small


def test_time_that_stands_still_or_runs_back_makes_keys() -> None:
    schedule = KeySchedule()
    assert [schedule.decide(at, GREY).is_key for at in (0.0, 0.0, 0.04, 0.02)] == [
        True,
        True,
        False,
        True,
    ]


def test_failure_makes_the_next_frame_a_full_key() -> None:
    schedule = KeySchedule()
    schedule.decide(0.0, GREY)
    schedule.fail()
    assert schedule.decide(1 / 30, GREY) == KeyChoice(is_key=True, is_full=True)


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ((), (), "same"),
        ((face(),), (face(5),), "same"),
        ((face(),), (face(30),), "changed"),
        ((face(),), (face(side=60),), "changed"),
        ((face(),), (), "changed"),
        ((), (face(score=0.35),), "flickering"),
        ((), (face(score=0.22),), "same"),
        ((face(), face(200)), (face(3), face(203)), "same"),
        ((face(), face(6)), (face(3),), "changed"),
        ((face(side=9),), (), "same"),
    ],
)
def test_faces_at_both_ends_are_compared(
    before: tuple[Face, ...], after: tuple[Face, ...], verdict: str
) -> None:
    assert agreement(before, after, SpanSettings(), least_px=14.0) == verdict


def test_unknown_end_is_a_change() -> None:
    assert agreement(None, (), SpanSettings()) == agreement((), None, SpanSettings()) == "changed"


boxes = st.lists(
    st.tuples(st.floats(0, 300), st.floats(8, 80), st.floats(0.2, 1.0)), max_size=5
).map(lambda rows: tuple(face(*row) for row in rows))


@given(boxes, boxes)
def test_agreement_reads_the_same_backwards(
    before: tuple[Face, ...], after: tuple[Face, ...]
) -> None:
    settings = SpanSettings()
    assert agreement(before, after, settings) == agreement(after, before, settings)


@given(boxes)
def test_clear_newcomer_is_always_a_change(faces: tuple[Face, ...]) -> None:
    assert agreement(faces, (*faces, face(900)), SpanSettings()) == "changed"


@pytest.mark.parametrize("wrong", [{"most_frames": 0}, {"longest_s": -1.0}, {"most_resize": 0.5}])
def test_settings_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(TrackerSettingsRejected):
        SpanSettings(**wrong)  # type: ignore[arg-type]


def thumbnails(seed: int) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 255, (36, 64)).astype(np.uint8)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40))
def test_no_stretch_without_a_key_is_longer_than_allowed(views: list[int]) -> None:
    schedule = KeySchedule()
    since = 0
    for at, view in enumerate(views):
        choice = schedule.decide(at / 30, thumbnails(view))
        since = 0 if choice.is_key else since + 1
        assert since <= 3


def full_keys(times: list[float], settings: SpanSettings | None = None) -> list[int]:
    schedule = KeySchedule(settings)
    return [at for at, time_s in enumerate(times) if schedule.decide(time_s, GREY).is_full]


@pytest.mark.parametrize("back_s", [0.4, 10.0, 1e5])
def test_a_clock_set_back_lets_no_full_pass_wait(back_s: float) -> None:
    times = [at / 25 - (back_s if at >= 250 else 0.0) for at in range(500)]
    found = full_keys(times)
    assert max(after - before for before, after in pairwise([*found, 500])) <= 25 * (0.5 + 0.135)


def test_times_packed_together_let_no_full_pass_wait_longer_than_the_frames_allowed() -> None:
    found = full_keys([at / 5_000 for at in range(200)], SpanSettings(full_every_frames=20))
    assert {after - before for before, after in pairwise(found)} == {20}
