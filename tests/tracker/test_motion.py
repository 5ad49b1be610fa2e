"""Kalman filters of many boxes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.motion import (
    Motion,
    boxes_from_centres,
    centres_from_boxes,
    correct,
    join,
    predict,
    select,
    sizes_and_speeds,
    spread_sizes,
    start,
    steer,
    unseen_log_spread,
)

pytestmark = pytest.mark.unit

BOX = np.array([[10.0, 20.0, 50.0, 80.0]])
FIRST = np.array([0])


def followed(velocity_px: float, interval_s: float, frames: int = 40) -> Motion:
    motion = start(BOX)
    for frame in range(1, frames):
        moved = BOX + velocity_px * frame * interval_s * np.array([1.0, 0.0, 1.0, 0.0])
        motion = correct(predict(motion, interval_s), FIRST, moved)
    return motion


@given(st.floats(-1e4, 1e4), st.floats(-1e4, 1e4), st.floats(0.5, 1e4), st.floats(0.5, 1e4))
def test_centres_and_boxes_are_inverses(x: float, y: float, width: float, height: float) -> None:
    box = np.array([[x, y, x + width, y + height]])
    assert np.allclose(boxes_from_centres(centres_from_boxes(box)), box, atol=1e-6)


@pytest.mark.parametrize("interval_s", [1 / 60, 1 / 25, 0.1])
def test_a_steady_speed_is_learnt_at_any_frame_rate(interval_s: float) -> None:
    motion = followed(100.0, interval_s)
    assert motion.mean[0, 0, 1] == pytest.approx(100.0, rel=0.02)
    ahead = predict(motion, 0.2).boxes_px[0, 0] - motion.boxes_px[0, 0]
    assert ahead == pytest.approx(20.0, rel=0.02)


def test_two_short_predictions_equal_one_long_one() -> None:
    motion = followed(100.0, 0.04)
    once, twice = predict(motion, 0.08), predict(predict(motion, 0.04), 0.04)
    assert np.allclose(once.mean, twice.mean)
    assert np.allclose(once.spread, twice.spread, rtol=1e-3)


def test_uncertainty_grows_unseen_and_shrinks_when_seen() -> None:
    motion = followed(0.0, 0.04)
    later = predict(motion, 0.4)
    assert spread_sizes(later)[0] > 2 * spread_sizes(motion)[0]
    assert unseen_log_spread(later)[0] > unseen_log_spread(motion)[0]
    assert spread_sizes(correct(later, FIRST, BOX))[0] < spread_sizes(later)[0]


def test_large_and_small_faces_behave_alike() -> None:
    small, large = start(BOX / 10), start(BOX * 10)
    assert np.allclose(spread_sizes(predict(small, 0.1)), spread_sizes(predict(large, 0.1)))


def test_only_the_rows_seen_are_corrected() -> None:
    motion = start(np.concatenate([BOX, BOX + 100]))
    corrected = correct(motion, np.array([1]), BOX + 105)
    assert np.array_equal(corrected.mean[0], motion.mean[0])
    assert corrected.boxes_px[1, 0] > 110


def test_a_long_time_unseen_never_overflows() -> None:
    motion = correct(predict(start(BOX), 0.04), FIRST, BOX * 3)
    for _ in range(1000):
        motion = predict(motion, 10.0)
    assert np.isfinite(motion.boxes_px).all()
    assert np.isfinite(spread_sizes(motion)).all()


def test_a_turning_camera_changes_place_and_speed() -> None:
    motion = followed(50.0, 0.04)
    turned = steer(motion, (7.0, -3.0), 0.04)
    assert np.allclose(turned.boxes_px - motion.boxes_px, [[7, -3, 7, -3]])
    faster = turned.mean[0, :2, 1] - motion.mean[0, :2, 1]
    assert np.allclose(faster, [7 / 0.04, -3 / 0.04])


def test_sizes_and_speeds_are_relative_to_the_face() -> None:
    sizes, speeds = sizes_and_speeds(followed(98.0, 0.04))
    assert sizes[0] == pytest.approx(np.sqrt(40 * 60), rel=0.01)
    assert speeds[0] == pytest.approx(98.0 / np.sqrt(40 * 60), rel=0.05)


def test_rows_are_joined_and_selected_in_order() -> None:
    both = join(start(BOX), start(BOX + 100))
    assert np.allclose(select(both, np.array([False, True])).boxes_px, BOX + 100)
    assert len(join(Motion.none(), both).mean) == 2
