"""The tracker as a whole: what it takes, what it releases, and when it refuses."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from engines.types import Face, TrackState
from tests.tracker.scenes import Person, detections, face_at, follow, holes, ids, straight
from tracker.errors import FrameOutOfOrder
from tracker.settings import TrackerSettings
from tracker.tracker import FrameTracks, Tracker

pytestmark = pytest.mark.unit

STILL = Person(straight(50, 50, 0, 0), 0, 999)


def test_every_frame_pushed_is_released_once_in_order() -> None:
    released = follow(detections([STILL], 40))
    assert [frame.frame_index for frame in released] == list(range(40))
    assert {track.id for frame in released for track in frame.tracks} == {1}
    assert all(frame.tracks[0].state is TrackState.DETECTED for frame in released)
    assert all(frame.tracks[0].is_confirmed for frame in released)


def test_each_frame_leaves_exactly_lookahead_frames_later() -> None:
    tracker = Tracker(TrackerSettings(lookahead_frames=4))
    for index in range(20):
        released = tracker.push(index, index / 25, ())
        assert [frame.frame_index for frame in released] == ([index - 4] if index >= 4 else [])
    assert [frame.frame_index for frame in tracker.flush()] == [16, 17, 18, 19]


def test_detections_ahead_are_those_of_frames_still_held_back() -> None:
    tracker = Tracker(TrackerSettings(lookahead_frames=4))
    for index in range(10):
        tracker.push(index, index / 25, None if index == 8 else (face_at(50, 50),))
    assert [frame for frame, _ in tracker.ahead(1)] == [6, 7, 9]
    assert tracker.ahead(2) == ()
    left = tracker.flush()
    next(left)
    assert [frame for frame, _ in tracker.ahead(1)] == [7, 9]
    assert [frame.frame_index for frame in left] == [7, 8, 9]
    assert tracker.ahead(1) == ()


def test_a_gap_in_a_moving_track_is_interpolated() -> None:
    mover = Person(straight(50, 50, 3, 0), 0, 39)
    released = follow(detections([mover], 40, lambda _, frame: not 15 <= frame < 23))
    assert not holes(released, [mover])
    for index in range(15, 23):
        (track,) = released[index].tracks
        assert track.state is TrackState.FILLED
        assert abs(track.face.box_px[[0, 2]].mean() - (50 + 3 * index)) < 1.0


def test_a_late_first_detection_is_covered_backwards() -> None:
    mover = Person(straight(50, 50, 2, 1), 0, 59)
    released = follow(detections([mover], 60, lambda _, frame: frame >= 5))
    assert not holes(released, [mover])
    assert [frame.tracks[0].age_frames for frame in released[:6]] == list(range(-5, 1))
    assert {frame.tracks[0].state for frame in released[:5]} == {TrackState.EXTENDED}


def test_frames_after_the_last_detection_stay_covered_for_the_hold_only() -> None:
    mover = Person(straight(50, 50, 2, 1), 0, 29)
    released = follow(detections([mover], 60, lambda _, frame: frame < 20))
    assert not holes(released[:30], [mover])
    assert released[31].tracks
    assert not any(frame.tracks for frame in released[32:])


def test_guessed_boxes_grow_away_from_the_detection() -> None:
    released = follow(detections([STILL], 40, lambda _, frame: frame < 20))
    widths = [
        float(np.ptp(frame.tracks[0].face.box_px[[0, 2]]))
        for frame in released[19:30]
        if frame.tracks
    ]
    assert widths == sorted(widths)
    assert 1.1 * widths[0] < widths[-1] <= 1.51 * widths[0]


def test_frames_without_a_detector_run_are_filled() -> None:
    mover = Person(straight(50, 50, 4, 0), 0, 39)
    found = [faces if i % 2 == 0 else None for i, faces in enumerate(detections([mover], 40))]
    released = follow(found)
    assert not holes(released, [mover])
    assert {track.id for frame in released for track in frame.tracks} == {1}


def test_a_weak_blip_is_covered_but_never_confirmed() -> None:
    found: list[tuple[Face, ...] | None] = [()] * 30
    found[15] = (face_at(50, 50, 20, score=0.35),)
    released = follow(found)
    assert released[15].tracks[0].state is TrackState.DETECTED
    tracks = [track for frame in released for track in frame.tracks]
    assert len(tracks) > 10
    assert not any(track.is_confirmed for track in tracks)


def test_a_score_below_the_low_one_is_ignored() -> None:
    assert not any(frame.tracks for frame in follow([(face_at(50, 50, score=0.1),)] * 5))


def test_weak_detections_continue_a_track_without_confirming_another() -> None:
    found = [(face_at(50, 50, score=0.9 if index < 5 else 0.3),) for index in range(40)]
    assert {track.id for frame in follow(found) for track in frame.tracks} == {1}


def test_a_failed_detector_makes_the_frame_unknown() -> None:
    found = detections([STILL], 20)
    found[10] = None
    released = follow(found, unknown=[10])
    assert [frame.frame_index for frame in released if frame.is_unknown] == [10]


def test_tracks_on_both_sides_vouch_for_an_unknown_frame_when_allowed() -> None:
    found = detections([STILL], 20)
    found[10] = None
    vouching = TrackerSettings(vouch_unknown=True)
    assert not any(frame.is_unknown for frame in follow(found, vouching, unknown=[10]))


@pytest.mark.parametrize("is_seen", [lambda _, frame: frame < 10, lambda _, frame: frame > 10])
def test_a_track_on_one_side_only_vouches_for_nothing(is_seen: Callable[[int, int], bool]) -> None:
    found = detections([STILL], 20, is_seen)
    vouching = TrackerSettings(vouch_unknown=True)
    assert [f.frame_index for f in follow(found, vouching, unknown=[10]) if f.is_unknown] == [10]


def test_an_empty_scene_vouches_for_nothing() -> None:
    vouching = TrackerSettings(vouch_unknown=True)
    assert follow([()] * 20, vouching, unknown=[10])[10].is_unknown


@pytest.mark.parametrize(
    "broken",
    [
        Face(np.array([0, 0, np.nan, 9], np.float32), np.zeros((5, 2), np.float32), 0.9),
        Face(np.array([0, 0, np.inf, 9], np.float32), np.zeros((5, 2), np.float32), 0.9),
        Face(np.array([9, 0, 0, 9], np.float32), np.zeros((5, 2), np.float32), 0.9),
        Face(np.array([0, 0, 9, 9], np.float32), np.full((5, 2), np.nan, np.float32), 0.9),
        Face(np.array([0, 0, 9, 9], np.float32), np.zeros((5, 2), np.float32), math.nan),
    ],
    ids=["nan box", "endless box", "inside-out box", "nan landmarks", "nan score"],
)
def test_a_detector_that_returns_nonsense_makes_the_frame_unknown(broken: Face) -> None:
    found = detections([STILL], 20)
    found[10] = (face_at(50, 50, 40), broken)
    released = follow(found)
    assert [frame.frame_index for frame in released if frame.is_unknown] == [10]
    assert not holes(released, [STILL])


def test_more_faces_than_can_be_followed_make_the_frame_unknown() -> None:
    crowd = tuple(face_at(100 * index, 50) for index in range(6))
    released = follow([crowd] * 3, TrackerSettings(max_faces=5))
    assert all(frame.is_unknown for frame in released)
    released = follow([crowd] * 3, TrackerSettings(max_tracks=11))
    assert [frame.is_unknown for frame in released] == [False, True, True]


def test_a_frame_left_out_or_repeated_is_refused() -> None:
    tracker = Tracker()
    tracker.push(7, 0.0, ())
    for wrong in (7, 9):
        with pytest.raises(FrameOutOfOrder, match="push every frame"):
            tracker.push(wrong, 0.08, ())


def test_variable_frame_intervals_keep_one_track() -> None:
    mover = Person(straight(50, 50, 3, 0), 0, 59)
    found = detections([mover], 60, lambda _, frame: frame % 5 != 3)
    tracker, time_s = Tracker(), 0.0
    released: list[FrameTracks] = []
    for index, faces in enumerate(found):
        time_s += (0.02, 0.04, 0.1)[index % 3]
        released.extend(tracker.push(index, time_s, faces))
    released.extend(tracker.flush())
    assert not holes(released, [mover])


@pytest.mark.parametrize("times", ["repeat", "backwards", "nan"])
def test_broken_timestamps_leave_no_hole(times: str) -> None:
    mover = Person(straight(50, 50, 3, 0), 0, 59)
    wrong = {"repeat": 0.0, "backwards": -1.0, "nan": math.nan}[times]
    tracker = Tracker()
    released: list[FrameTracks] = []
    for index, faces in enumerate(detections([mover], 60, lambda _, frame: frame % 5 != 3)):
        time_s = wrong if 20 <= index < 30 else index / 25
        released.extend(tracker.push(index, time_s, faces))
    released.extend(tracker.flush())
    assert not holes(released, [mover])


def test_a_slide_show_at_one_frame_a_second_keeps_its_tracks() -> None:
    released = follow(detections([STILL], 20, lambda _, frame: frame % 4 != 2), rate=1.0)
    assert not holes(released, [STILL])


def test_moving_tells_size_and_speed_and_admits_when_speed_is_unknown() -> None:
    tracker = Tracker()
    tracker.push(0, 0.0, (face_at(50, 50, 40),))
    (newcomer,) = tracker.moving()
    assert newcomer.size_px == pytest.approx(40)
    assert newcomer.speed_sizes_per_s == math.inf
    for index in range(1, 30):
        tracker.push(index, index / 25, (face_at(50 + 4 * index, 50, 40),))
    (known,) = tracker.moving()
    assert known.speed_sizes_per_s == pytest.approx(2.5, rel=0.05)


def test_memory_does_not_grow_with_the_stream() -> None:
    tracker = Tracker()
    mover = Person(lambda frame: (300 + 200 * math.sin(frame / 30), 200, 40), 0, 1500)
    sizes = []
    for index, faces in enumerate(detections([mover, STILL], 1500, lambda _, f: f % 7 != 3)):
        tracker.push(index, index / 25, faces)
        held = tracker._lifecycle.trajectories
        sizes.append(sum(len(trajectory.observations) for trajectory in held))
    assert max(sizes[750:]) <= max(sizes[:750])
    assert max(sizes) <= 2 * (12 + tracker.settings.lookahead_frames + 1)


def test_two_people_far_apart_keep_their_ids() -> None:
    people = [Person(straight(50, 50, 1, 0), 0, 49), Person(straight(500, 50, -1, 0), 0, 49)]
    assert {frozenset(ids(frame)) for frame in follow(detections(people, 50))} == {
        frozenset({1, 2})
    }


def panned(seen: dict[int, Face], frames: int, step_px: float) -> list[FrameTracks]:
    """Frames of a camera that pans: the whole picture, 360×640, moves by `step_px` a frame."""
    wall = np.random.default_rng(4).integers(0, 255, (36, 20)).astype(np.uint8)
    wide = np.repeat(wall, 16, axis=1)
    tracker = Tracker(TrackerSettings(lookahead_frames=10))
    released: list[FrameTracks] = []
    for index in range(frames):
        shift = round(index * step_px / 10)
        thumbnail = np.roll(wide, shift, axis=1)[:, 100:164]
        faces = (seen[index],) if index in seen else None
        released += tracker.push(index, index / 25, faces, thumbnail, frame_size=(360, 640))
    return released + list(tracker.flush())


def test_a_face_seen_once_in_a_pan_is_covered_where_the_pan_takes_it() -> None:
    released = panned({10: face_at(300, 180, 16, 0.3)}, 20, 20.0)
    for frame in (8, 9, 11, 12):
        (track,) = released[frame].tracks
        x0, _, x1, _ = track.face.box_px
        assert x0 < 300 + 20 * (frame - 10) - 4
        assert x1 > 300 + 20 * (frame - 10) + 4


def test_a_face_seen_now_and_then_in_a_pan_is_one_track() -> None:
    seen = {frame: face_at(100 + 20 * frame, 180, 16, 0.3) for frame in (6, 10, 14)}
    released = panned(seen, 20, 20.0)
    assert {track.id for frame in released for track in frame.tracks} == {1}
    for frame in range(6, 15):
        (track,) = released[frame].tracks
        assert abs(track.face.box_px[[0, 2]].mean() - (100 + 20 * frame)) < 6


@pytest.mark.parametrize("score", [0.5, 0.9])
def test_a_face_found_once_is_covered_as_long_before_however_weak(score: float) -> None:
    found: list[tuple[Face, ...] | None] = [()] * 40
    found[30] = (face_at(50, 50, 20, score=score),)
    released = follow(found, TrackerSettings(lookahead_frames=25, preroll_s=0.6))
    assert next(index for index, frame in enumerate(released) if frame.tracks) == 15


@pytest.mark.parametrize("away", [0.3, 0.5, 0.6])
@pytest.mark.parametrize("weak_frames", [1, 10])
def test_a_newcomer_beside_a_face_that_got_weak_takes_its_track_only_in_doubt(
    away: float, weak_frames: int
) -> None:
    found: list[tuple[Face, ...] | None] = [(face_at(100, 50, 40),)] * 30
    for step in range(30):
        stays = face_at(100, 50, 40, score=0.45 if step < weak_frames else 0.9)
        found.append((face_at(100 + 40 * away + 3 * step, 50, 40), stays))
    worn = [
        frame.frame_index
        for frame in follow(found)[30:]
        for track in frame.tracks
        if track.id == 1 and track.is_confirmed and track.state is not TrackState.DOUBTFUL
        if track.face.box_px[0] > 80 + 20 * away + 1.5 * (frame.frame_index - 30)
    ]
    assert not worn
