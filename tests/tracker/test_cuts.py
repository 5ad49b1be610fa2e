"""Cuts, pans and flashes, told from thumbnails."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.tracker.test_golden_scenes import view
from tracker.cuts import CutDetector, difference, registered_change

pytestmark = pytest.mark.unit


def scenes(pictures: Sequence[NDArray[np.uint8] | None]) -> list[int]:
    detector = CutDetector(14.0)
    return [detector.push(frame, picture).scene for frame, picture in enumerate(pictures)]


def test_a_still_or_noisy_scene_has_no_cut() -> None:
    noise = np.random.default_rng(0)
    pictures = [
        np.clip(view(0) + noise.normal(0, 5, (36, 64)), 0, 255).astype(np.uint8) for _ in range(40)
    ]
    assert set(scenes(pictures)) == {0}


def test_another_picture_is_a_cut() -> None:
    assert scenes([view(0)] * 5 + [view(0, world=1)] * 8) == [0] * 5 + [1] * 8


def test_a_pan_is_no_cut_and_its_motion_is_told() -> None:
    detector = CutDetector(14.0)
    sights = [detector.push(frame, view(4 * frame)) for frame in range(30)]
    assert {sight.scene for sight in sights} == {0}
    assert sights[1].turn == pytest.approx((-4 / 64, 0.0), abs=0.005)
    assert all(sight.turn == pytest.approx((0.0, 0.0), abs=0.005) for sight in sights[2:])


def test_brightness_alone_is_no_cut() -> None:
    assert scenes([view(0), (view(0) // 2 + 100).astype(np.uint8)])[-1] == 0


def test_a_jerk_within_the_same_view_is_no_cut() -> None:
    assert set(scenes([view(0)] * 5 + [view(9)] * 5)) == {0}


def test_after_a_flash_the_scene_before_returns() -> None:
    detector = CutDetector(14.0)
    pictures = [view(0)] * 5 + [view(0, world=1)] * 2 + [view(0)] * 5
    sights = [detector.push(frame, picture) for frame, picture in enumerate(pictures)]
    assert [sight.scene for sight in sights] == [0] * 5 + [1] * 2 + [0] * 5
    assert [sight.flash_since for sight in sights] == [None] * 7 + [5] + [None] * 4


def test_a_return_after_a_longer_while_is_a_cut_of_its_own() -> None:
    told = scenes([view(0)] * 5 + [view(0, world=1)] * 6 + [view(0)] * 3)
    assert told == [0] * 5 + [1] * 6 + [2] * 3


def test_frames_without_a_thumbnail_belong_to_the_scene_before() -> None:
    assert scenes([view(0), None, view(0), None]) == [0, 0, 0, 0]


def test_a_new_picture_size_is_a_cut() -> None:
    assert scenes([view(0), view(0)[:, :50]]) == [0, 1]


def test_few_thumbnails_are_kept() -> None:
    detector = CutDetector(14.0)
    for frame in range(200):
        detector.push(frame, view(frame, world=frame // 3))
        assert len(detector._thumbnails) <= 2


def test_a_flat_picture_has_no_motion() -> None:
    flat = np.full((36, 64), 80, dtype=np.uint8)
    assert registered_change(flat, flat) == ((0.0, 0.0), 0.0, 1.0)


def test_a_scene_after_black_is_a_cut() -> None:
    lively = np.random.default_rng(0).integers(0, 255, (36, 64)).astype(np.uint8)
    assert scenes([np.zeros((36, 64), np.uint8)] * 3 + [lively] * 3) == [0] * 3 + [1] * 3


def test_the_difference_after_the_true_shift_is_small() -> None:
    assert difference(view(10), view(13), -3, 0) < 1e-3 < difference(view(10), view(13))
