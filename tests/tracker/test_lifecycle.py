"""How tracks begin, go on, become doubtful, and end."""

from __future__ import annotations

import numpy as np
import pytest

from engines.face.glance import Glance
from engines.types import Face
from tests.tracker.scenes import face_at
from tracker.evidence import has_evidence
from tracker.lifecycle import Lifecycle
from tracker.settings import TrackerSettings

pytestmark = pytest.mark.unit

SETTINGS = TrackerSettings()


def observed(*frames: tuple[Face, ...]) -> Lifecycle:
    lifecycle = Lifecycle(SETTINGS)
    for frame, faces in enumerate(frames):
        lifecycle.advance(0.04)
        lifecycle.observe(frame, frame * 0.04, 0, faces)
    return lifecycle


def test_a_track_is_confirmed_by_enough_detections_one_of_them_clear() -> None:
    weak, clear = (face_at(50, 50, score=0.3),), (face_at(50, 50, score=0.8),)
    assert not observed(clear, clear).trajectories[0].is_confirmed(1, SETTINGS)
    assert not observed(weak, weak, weak, weak).trajectories[0].is_confirmed(1, SETTINGS)
    assert observed(weak, weak, clear).trajectories[0].is_confirmed(1, SETTINGS)


@pytest.mark.parametrize(
    ("score", "finds", "size", "is_confirmed"),
    [
        (0.45, 12, 40, True),
        (0.45, 4, 40, False),
        (0.35, 30, 40, False),
        (0.45, 12, 70, False),
    ],
)
def test_a_face_out_of_focus_that_is_found_again_and_again_is_confirmed(
    score: float, finds: int, size: float, is_confirmed: bool
) -> None:
    """The planted faults: a blurred face was covered all the time; hair was painted on."""
    (track,) = observed(*[(face_at(90, 90, size, score),)] * finds).trajectories
    assert track.is_confirmed(1, SETTINGS) == is_confirmed


def test_an_id_that_a_track_took_lately_is_confirmed_by_its_own_detections() -> None:
    """The planted fault: between two doubts a face wore a surrogate in one frame."""
    clear = (face_at(50, 50, score=0.8),)
    seen = observed(*[clear] * 20)
    (track,) = seen.trajectories
    track.rename(7, 20)
    for frame, is_confirmed in ((20, False), (21, False), (22, True)):
        seen.observe(frame, frame / 25, 0, clear)
        assert track.is_confirmed(7, SETTINGS) == is_confirmed
    assert track.is_confirmed(1, SETTINGS)


def carried(size: float, x: float, moved_px: float = -17.0, weak_step: float = -28.0) -> Lifecycle:
    """A turning camera carries two people; the second is found weakly in the last two frames."""
    lifecycle = Lifecycle(SETTINGS)
    for f in range(7):
        lifecycle.advance(0.04, moved_px=(moved_px, 0.0))
        known = face_at(300 - 28 * f, 50, size=12, score=0.6)
        weak = (face_at(x + weak_step * f, 52, size=size, score=0.25),) if f >= 5 else ()
        lifecycle.observe(f, f * 0.04, 0, (known, *weak))
    return lifecycle


def test_a_weak_face_that_a_turning_camera_carries_along_is_covered_in_every_frame() -> None:
    """The planted fault: near people move faster than what is behind them, by which the camera's
    turn is told; a small face began a track in every frame, none with evidence, and was bare."""
    weak = [one for one in carried(size=11, x=250).trajectories if one.best_score < 0.3]
    assert [one.last.frame for one in weak] == [5, 6]
    assert all(has_evidence(one) for one in weak)


@pytest.mark.parametrize(
    ("size", "x", "moved_px", "weak_step"),
    [(11, 250, 0.0, -28.0), (11, 600, -17.0, -28.0), (11, 250, -17.0, -40.0)],
    ids=["still camera", "nobody near", "elsewhere"],
)
def test_two_weak_finds_that_nobody_beside_explains_are_no_evidence(
    size: float, x: float, moved_px: float, weak_step: float
) -> None:
    tracks = carried(size, x, moved_px, weak_step).trajectories
    weak = [one for one in tracks if one.best_score < 0.3]
    assert len(weak) == 2
    assert not any(has_evidence(one) for one in weak)


def test_motion_keeps_one_row_for_each_track() -> None:
    lifecycle = observed(*[(face_at(50, 50), face_at(200 + 90 * (f % 3), 50)) for f in range(9)])
    assert len(lifecycle.motion.mean) == len(lifecycle.trajectories)
    lifecycle.retire(100, 4.0)
    assert not lifecycle.trajectories
    assert not len(lifecycle.motion.mean)


def test_a_track_ends_when_no_frame_can_show_it() -> None:
    lifecycle = observed((face_at(50, 50),))
    lifecycle.observe(1, 0.04, 0, ())
    lifecycle.retire(5, 0.2)
    assert lifecycle.trajectories
    lifecycle.retire(6, 0.24)
    assert not lifecycle.trajectories


def test_tracks_of_another_scene_take_no_part() -> None:
    lifecycle = observed((face_at(50, 50),))
    lifecycle.observe(1, 0.04, 1, (face_at(50, 50),))
    assert [(t.scene, t.track_id, t.hits) for t in lifecycle.trajectories] == [(0, 1, 1), (1, 2, 1)]


def test_a_jump_begins_a_track_and_bridges_the_frames_between() -> None:
    lifecycle = Lifecycle(SETTINGS)
    for frame in range(10):
        lifecycle.advance(0.04)
        lifecycle.observe(frame, frame * 0.04, 0, (face_at(50, 50),))
    lifecycle.advance(0.08)
    lifecycle.observe(11, 0.44, 0, (face_at(90, 50),))
    old, new, bridge = lifecycle.trajectories
    assert old.is_suspect
    assert new.hits == 1
    assert [seen.frame for seen in bridge.observations] == [9, 11]
    assert bridge.is_bridge


@pytest.mark.parametrize(
    ("tone", "score", "is_jump"), [(0.0, 0.3, True), (90.0, 0.3, False), (90.0, 0.9, True)]
)
def test_something_weak_that_looks_otherwise_is_no_jump_and_covered_all_the_same(
    tone: float, score: float, is_jump: bool
) -> None:
    """The planted fault: a face that had gone was bridged to hair beside it, and coasted on."""
    old, other, hair = face_at(50, 50), face_at(85, 50), face_at(70, 50, score=score)
    ramp = np.linspace(0, 90, 768, dtype=np.float32).reshape(16, 16, 3)

    def look(face: Face) -> Glance:
        return ramp + np.float32(tone if face is hair else 0)

    lifecycle = Lifecycle(SETTINGS)
    for frame in range(10):
        lifecycle.advance(0.04)
        lifecycle.observe(frame, frame * 0.04, 0, (old, other), look=look)
    lifecycle.advance(0.08)
    lifecycle.observe(11, 0.44, 0, (hair, other), look=look)
    known = lifecycle.trajectories
    assert known[0].is_suspect == is_jump
    assert any(one.is_bridge for one in known) == is_jump
    assert next(one for one in known if one.last.face is hair).is_vouched


def test_two_weak_blips_apart_are_not_called_one_face() -> None:
    lifecycle = observed((face_at(50, 50, score=0.3),), (face_at(85, 50, score=0.3),))
    assert not any(t.is_suspect for t in lifecycle.trajectories)


def test_a_suspect_seen_where_it_was_expected_is_cleared_under_its_id() -> None:
    here, there = face_at(50, 50), face_at(90, 50)
    lifecycle = observed(*[(here,)] * 9, (there,), (here, there))
    assert lifecycle.trajectories[0].track_id == 1
    assert not lifecycle.trajectories[0].is_suspect


@pytest.mark.parametrize(
    ("again", "is_vouched"), [((), True), ((0.2,), True), ((0.9,), False)], ids=str
)
def test_something_weak_beside_a_face_that_did_not_jump_must_be_a_face_by_itself(
    again: tuple[float, ...], is_vouched: bool
) -> None:
    """The planted faults: a wall beside a face that was missed once stayed covered; where the face
    had jumped indeed, or was hardly seen again, it was bare."""
    here = tuple((face_at(50, 50, score=score),) for score in again)
    lifecycle = observed(*[(face_at(50, 50),)] * 9, (face_at(90, 50, score=0.3),), *here)
    (jumped,) = (one for one in lifecycle.trajectories if one.last.face.score == 0.3)
    assert jumped.is_vouched == is_vouched
    bridges = [one for one in lifecycle.trajectories if one.is_bridge]
    assert all(one.is_vouched == is_vouched for one in bridges)
