"""Where a track is between, before, after and at its detections."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.types import TrackState
from tests.tracker.scenes import face_at
from tracker.poses import contain, face_from_pose, grow, pose_from_face
from tracker.settings import TrackerSettings
from tracker.smoothing import line_fit, smoothed_face, track_at
from tracker.trajectory import Trajectory

pytestmark = pytest.mark.unit

RATE = 25.0
SETTINGS = TrackerSettings()


def seen(*frames: int, dx: float = 4.0, size: float = 40.0, score: float = 0.9) -> Trajectory:
    trajectory = Trajectory(scene=0, track_id=1, birth_frame=frames[0])
    for frame in frames:
        trajectory.observe(frame, frame / RATE, face_at(100 + dx * frame, 50, size, score=score))
    return trajectory


def centre_x(trajectory: Trajectory, frame: int) -> float:
    track = track_at(trajectory, frame, frame / RATE, SETTINGS)
    assert track is not None
    return float(track.face.landmarks_px[2, 0])


@pytest.mark.parametrize(
    ("score", "size", "state"),
    [
        (0.3, 40.0, TrackState.EXTENDED),
        (0.9, 40.0, TrackState.FILLED),
        (0.3, 20.0, TrackState.FILLED),
    ],
    ids=["weak", "clear", "small"],
)
def test_far_from_all_its_finds_what_was_never_clearly_found_may_not_be_there(
    score: float, size: float, state: TrackState
) -> None:
    """The planted fault: hair that was found twice was covered for the second between."""
    trajectory = seen(*range(8), *range(24, 32), size=size, score=score)
    found = [track_at(trajectory, frame, frame / RATE, SETTINGS) for frame in (9, 15, 22)]
    assert [one and one.state for one in found] == [TrackState.FILLED, state, TrackState.FILLED]


@pytest.mark.parametrize(
    ("before", "after", "size", "state"),
    [
        (0.3, 0.3, 40.0, TrackState.EXTENDED),
        (0.9, 0.3, 40.0, TrackState.FILLED),
        (0.3, 0.9, 40.0, TrackState.FILLED),
        (0.3, 0.3, 20.0, TrackState.FILLED),
    ],
)
def test_between_unclear_finds_a_face_that_was_clear_before_may_have_gone(
    before: float, after: float, size: float, state: TrackState
) -> None:
    """The planted fault: a jacket that a head had moved away from wore its surrogate."""
    trajectory = seen(*range(8), size=size)
    for frame in range(8, 30):
        if frame not in range(9, 19):
            score = before if frame == 8 else after
            place = face_at(100 + 4 * frame, 50, size, score=score)
            trajectory.observe(frame, frame / RATE, place)
    found = [track_at(trajectory, frame, frame / RATE, SETTINGS) for frame in (10, 14, 17)]
    assert [one and one.state for one in found] == [TrackState.FILLED, state, TrackState.FILLED]


def test_in_a_gap_a_face_that_was_hardly_ever_found_may_not_be_there() -> None:
    """The planted fault: hair wore the surrogate of somebody who was found a second later."""
    trajectory = seen(0, 10, 20, score=0.6)
    found = [track_at(trajectory, frame, frame / RATE, SETTINGS) for frame in (1, 5, 9)]
    states = [TrackState.FILLED, TrackState.EXTENDED, TrackState.FILLED]
    assert [one and one.state for one in found] == states


def test_a_gap_is_filled_on_the_way_and_says_so() -> None:
    trajectory = seen(*range(8), *range(14, 22))
    track = track_at(trajectory, 10, 10 / RATE, SETTINGS)
    assert track is not None
    assert track.state is TrackState.FILLED
    assert centre_x(trajectory, 10) == pytest.approx(140, abs=0.5)


def test_a_gap_in_a_curve_is_filled_nearer_to_the_curve_than_to_a_straight_line() -> None:
    trajectory = Trajectory(scene=0, track_id=1, birth_frame=0)
    for frame in [*range(10), *range(18, 28)]:
        trajectory.observe(frame, frame / RATE, face_at(100 + 0.2 * (frame - 14) ** 2, 50, 40))
    track = track_at(trajectory, 14, 14 / RATE, SETTINGS)
    assert track is not None
    straight_x = 100 + 0.2 * 25 / 2 + 0.2 * 16 / 2
    assert abs(centre_x(trajectory, 14) - 100) < 0.7 * abs(straight_x - 100)


def test_extensions_follow_the_speed_both_ways() -> None:
    trajectory = seen(*range(10, 20))
    assert centre_x(trajectory, 5) == pytest.approx(120, abs=4)
    assert centre_x(trajectory, 24) == pytest.approx(196, abs=4)


def test_beyond_hold_and_preroll_there_is_nothing() -> None:
    trajectory = seen(*range(30, 35))
    trajectory.unseen_since_s, trajectory.unseen_until_s = 29 / RATE, 35 / RATE
    assert track_at(trajectory, 24, 24 / RATE, SETTINGS) is None
    assert track_at(trajectory, 40, 40 / RATE, SETTINGS) is None
    assert track_at(trajectory, 25, 25 / RATE, SETTINGS) is not None
    assert track_at(trajectory, 39, 39 / RATE, SETTINGS) is not None


def test_frames_that_no_search_spoke_for_are_covered_longer() -> None:
    trajectory = seen(*range(30, 35))
    trajectory.unseen_since_s, trajectory.unseen_until_s = 18 / RATE, 46 / RATE
    shown = [f for f in range(70) if track_at(trajectory, f, f / RATE, SETTINGS) is not None]
    assert (shown[0], shown[-1]) == (19, 45)


def test_an_extension_covers_a_face_that_stops_as_well() -> None:
    trajectory = seen(*range(10))
    track = track_at(trajectory, 14, 14 / RATE, SETTINGS)
    assert track is not None
    left, _, right, _ = track.face.box_px.tolist()
    assert left <= 100 + 36 - 10
    assert right >= 100 + 56 + 20


def test_a_gap_between_two_people_is_doubtful() -> None:
    trajectory = seen(*range(8))
    trajectory.rename(2, 14)
    trajectory.observe(14, 14 / RATE, face_at(156, 50, 40))
    track = track_at(trajectory, 10, 10 / RATE, SETTINGS)
    assert track is not None
    assert track.state is TrackState.DOUBTFUL


def test_a_bridge_shows_only_what_lies_between() -> None:
    trajectory = seen(0, 6)
    trajectory.is_bridge = True
    shown = [track_at(trajectory, f, f / RATE, SETTINGS) is not None for f in range(9)]
    assert shown == [False, True, True, True, True, True, False, False, False]


@given(st.lists(st.floats(-3.0, 3.0), min_size=3, max_size=9))
def test_a_detected_box_is_always_inside_the_released_one(jumps: list[float]) -> None:
    trajectory = Trajectory(scene=0, track_id=1, birth_frame=0)
    for frame, jump in enumerate(jumps):
        trajectory.observe(frame, frame / RATE, face_at(100 + 10 * jump, 50, 40 + 5 * jump))
    for observation in trajectory.observations:
        track = track_at(trajectory, observation.frame, observation.time_s, SETTINGS)
        assert track is not None
        assert (track.face.box_px[:2] <= observation.face.box_px[:2]).all()
        assert (track.face.box_px[2:] >= observation.face.box_px[2:]).all()


def test_a_straight_run_is_not_changed_by_smoothing() -> None:
    trajectory = seen(*range(9))
    middle = trajectory.observations[4]
    smooth = smoothed_face(middle, trajectory.observations, 0.2)
    assert np.allclose(smooth.box_px, middle.face.box_px, atol=1e-3)


def test_one_detection_out_of_line_is_not_pulled_back() -> None:
    trajectory = seen(*range(9), dx=0.0)
    jumped = Trajectory(scene=0, track_id=1, birth_frame=0)
    for observation in trajectory.observations:
        x = 140 if observation.frame == 4 else 100
        jumped.observe(observation.frame, observation.time_s, face_at(x, 50, 40))
    smooth = smoothed_face(jumped.observations[4], jumped.observations, 0.2)
    assert float(smooth.landmarks_px[2, 0]) == pytest.approx(140, abs=1)


def test_line_fit_of_one_time_is_the_mean() -> None:
    level, slope = line_fit([0.1, 0.1], [1.0, 3.0])
    assert level.tolist() == [0.25, 0.75]
    assert not slope.any()


def test_pose_and_face_are_inverses() -> None:
    face = face_at(31.5, 77.25, 12.0, 0.75)
    back = face_from_pose(pose_from_face(face), face.score)
    assert np.allclose(back.box_px, face.box_px, atol=1e-4)
    assert np.allclose(back.landmarks_px, face.landmarks_px, atol=1e-4)


def test_growing_and_containing_never_shrink_a_box() -> None:
    face, other = face_at(50, 50, 20), face_at(58, 50, 10)
    assert np.ptp(grow(face, 1.25).box_px[[0, 2]]) == pytest.approx(25)
    assert contain(face, other).box_px.tolist() == [40, 40, 63, 60]
