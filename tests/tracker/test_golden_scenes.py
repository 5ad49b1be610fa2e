"""Whole scenes with a known right answer: occlusion, crossing, pan, zoom, crowd, cut, flash."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.types import Face, TrackState
from tests.tracker.scenes import (
    Person,
    covers,
    detections,
    drops,
    face_at,
    follow,
    holes,
    ids,
    straight,
)
from tracker.settings import TrackerSettings
from tracker.tracker import FrameTracks, Tracker

pytestmark = pytest.mark.unit

WIDE = np.random.default_rng(0).normal(0, 1, (60, 800))
for _ in range(3):
    WIDE = (WIDE + np.roll(WIDE, 1, 0) + np.roll(WIDE, 1, 1) + np.roll(WIDE, -1, 1)) / 2
WIDE = 120 + 60 * WIDE / float(np.abs(WIDE).max())


def view(x: int, world: int = 0) -> NDArray[np.uint8]:
    """A 36 × 64 look at a wide textured world; other worlds are other textures."""
    rows = slice(24 * (world % 2), 24 * (world % 2) + 36)
    picture = WIDE[rows, x % 700 : x % 700 + 64]
    return (255 - picture if world else picture).astype(np.uint8)


def last_state(frame: FrameTracks, track_id: int) -> TrackState:
    return next(track.state for track in frame.tracks if track.id == track_id)


def test_a_face_behind_an_occluder_stays_covered_and_keeps_its_id() -> None:
    walker = Person(straight(50, 100, 4, 0), 0, 119)
    released = follow(detections([walker], 120, lambda _, f: not 50 <= f < 62, jitter=0.02))
    assert not holes(released, [walker])
    assert {number for frame in released for number in ids(frame)} == {1}


def test_a_face_unseen_for_too_long_comes_back_under_a_new_id() -> None:
    walker = Person(straight(50, 100, 1, 0), 0, 119)
    forgetful = TrackerSettings(doubt_gap_s=0.3)
    released = follow(detections([walker], 120, lambda _, f: not 50 <= f < 62), forgetful)
    assert not holes(released, [walker])
    assert ids(released[40]) == {1}
    assert ids(released[80]) == {2}
    assert all(track.state is TrackState.DOUBTFUL for f in released[52:62] for track in f.tracks)


def test_crossing_faces_are_doubtful_and_leave_with_new_ids() -> None:
    people = [Person(straight(100, 100, 6, 0), 0, 79), Person(straight(600, 104, -6, 0), 0, 79)]
    released = follow(detections(people, 80, jitter=0.02))
    assert not holes(released, people)
    assert ids(released[20]) == {1, 2}
    meeting = released[41]
    assert {track.state for track in meeting.tracks} == {TrackState.DOUBTFUL}
    assert ids(released[70]).isdisjoint({1, 2})
    assert len(ids(released[70])) == 2


def test_a_face_hidden_behind_another_is_never_mistaken_for_it() -> None:
    people = [Person(straight(100, 100, 6, 0), 0, 79), Person(straight(600, 104, -6, 0), 0, 79)]

    def is_seen(number: int, frame: int) -> bool:
        return number == 0 or abs(people[0].place(frame)[0] - people[1].place(frame)[0]) > 30

    released = follow(detections(people, 80, is_seen, jitter=0.02))
    assert not holes(released, people)
    assert ids(released[20]).isdisjoint(ids(released[70]))


def test_faces_passing_at_a_distance_keep_their_ids() -> None:
    people = [Person(straight(100, 100, 6, 0), 0, 79), Person(straight(600, 180, -6, 0), 0, 79)]
    released = follow(detections(people, 80, jitter=0.02))
    assert {number for frame in released for number in ids(frame)} == {1, 2}


def test_a_fast_pan_over_a_small_face_leaves_no_hole() -> None:
    panned = Person(lambda frame: (50 + 30 * frame, 100.0, 20.0), 0, 39)
    released = follow(detections([panned], 40, jitter=0.02))
    assert not holes(released, [panned])
    assert len(ids(released[30])) == 1


def test_a_pan_from_rest_with_every_second_frame_left_out_leaves_no_hole() -> None:
    panned = Person(lambda frame: (50.0 + 30 * max(0, frame - 20), 100.0, 20.0), 0, 59)
    found = [f if i % 2 == 0 else None for i, f in enumerate(detections([panned], 60))]
    assert not holes(follow(found), [panned])


def test_thumbnails_let_a_face_keep_its_id_through_a_sudden_pan() -> None:
    def turn(frame: int) -> int:
        return 4 * max(0, frame - 20)

    panned = Person(lambda frame: (900.0 - 10 * turn(frame), 100.0, 20.0), 0, 34)
    tracker = Tracker()
    released: list[FrameTracks] = []
    for index, faces in enumerate(detections([panned], 35)):
        released.extend(
            tracker.push(index, index / 25, faces, view(turn(index)), frame_size=(360, 640))
        )
    released.extend(tracker.flush())
    assert {number for frame in released for number in ids(frame)} == {1}
    assert not holes(released, [panned])


def test_a_face_that_grows_threefold_keeps_its_id() -> None:
    nearing = Person(lambda frame: (500.0, 300.0, 20 * 1.015**frame), 0, 79)
    released = follow(detections([nearing], 80, lambda _, frame: frame % 7 != 3, jitter=0.02))
    assert not holes(released, [nearing])
    assert {number for frame in released for number in ids(frame)} == {1}


def test_a_face_that_doubles_within_a_frame_is_someone_else() -> None:
    found = [(face_at(100, 100, 40 if frame < 20 else 80),) for frame in range(40)]
    released = follow(found)
    assert ids(released[10]) == {1}
    assert 1 not in ids(released[30])
    assert last_state(released[19], 1) is TrackState.DOUBTFUL


def test_sixty_faces_leave_no_hole() -> None:
    people = [
        Person(straight(100 + 90 * (i % 10), 100 + 90 * (i // 10), (i % 5) / 3, (i % 3) / 3), 0, 79)
        for i in range(60)
    ]
    missed = [drops(80, 5, 0.15, seed) for seed in range(60)]
    found = detections(people, 80, lambda number, frame: frame not in missed[number], jitter=0.02)
    released = follow(found)
    assert not holes(released, people)
    assert len(ids(released[40])) >= 60


def cut_at(cut: int) -> list[FrameTracks]:
    """The same face on both sides of a cut, unseen for four frames on each side."""
    still = Person(straight(100, 100, 0, 0), 0, 59)
    found = detections([still], 60, lambda _, frame: not cut - 4 <= frame < cut + 4)
    return follow(found, thumbnails=lambda frame: view(0, world=int(frame >= cut)))


def test_a_cut_ends_tracks_and_nothing_is_interpolated_across() -> None:
    released = cut_at(30)
    assert {number for frame in released[:29] for number in ids(frame)} == {1}
    assert {number for frame in released[31:] for number in ids(frame)} == {2}
    states = {track.state for frame in released[26:34] for track in frame.tracks}
    assert states == {TrackState.EXTENDED, TrackState.DOUBTFUL}


def test_ghosts_in_the_frames_beside_a_cut_are_covered_but_never_swapped() -> None:
    released = cut_at(30)
    assert ids(released[29]) == ids(released[30]) == {1, 2}
    assert last_state(released[29], 2) is TrackState.DOUBTFUL
    assert last_state(released[30], 1) is TrackState.DOUBTFUL


@pytest.mark.parametrize("away", [0, 1, 4])
@pytest.mark.parametrize("ahead", [0, 3, 10, 25])
def test_no_cover_reaches_farther_across_a_cut_than_the_frame_that_may_be_blended(
    ahead: int, away: int
) -> None:
    """The first scene's faces, first alone, then those of the second, then of both at one place."""
    cut, here, there = 30, straight(100, 100, 0, 0), straight(300, 100, 0, 0)
    for places in ([(here, 0)], [(here, 1)], [(here, 0), (there, 1)], [(here, 0), (here, 1)]):
        people = [
            Person(place, 0, cut - 1 - away) if scene == 0 else Person(place, cut + away, 59)
            for place, scene in places
        ]
        released = follow(
            detections(people, 60),
            TrackerSettings(lookahead_frames=ahead),
            thumbnails=lambda frame: view(0, world=int(frame >= cut)),
        )
        seen = [{one.id: one for one in frame.tracks} for frame in released]
        early = set().union(*seen[: cut - 1])
        late = set().union(*seen[cut + 1 :])
        assert not early & late
        assert len(early) == sum(scene == 0 for _, scene in places)
        assert len(late) == sum(scene == 1 for _, scene in places)
        for number in early & seen[cut].keys():
            assert seen[cut][number].state is TrackState.DOUBTFUL
        for number in late & seen[cut - 1].keys():
            assert seen[cut - 1][number].state is TrackState.DOUBTFUL


def test_a_flash_ends_no_track_and_leaves_no_hole() -> None:
    still = Person(straight(100, 100, 0, 0), 0, 59)
    found = detections([still], 60, lambda _, frame: frame not in {30, 31})

    def flashing(frame: int) -> NDArray[np.uint8]:
        return view(0, world=1) if frame in {30, 31} else view(0)

    released = follow(found, thumbnails=flashing)
    assert not holes(released, [still])
    assert {number for frame in released for number in ids(frame)} == {1}


def test_a_different_looking_face_in_the_same_place_gets_a_new_id() -> None:
    def looks(track_id: int, frame: int, face: Face) -> float | None:
        return None if frame < 5 else (0.9 if frame == 20 else 0.1)

    tracker = Tracker(appearance=looks)
    released: list[FrameTracks] = []
    for index in range(40):
        released.extend(tracker.push(index, index / 25, (face_at(100, 100),)))
    released.extend(tracker.flush())
    assert ids(released[10]) == {1}
    assert ids(released[25]) == {2}
    assert last_state(released[19], 1) is TrackState.DOUBTFUL


def test_an_appearance_that_is_not_a_number_is_doubted() -> None:
    tracker = Tracker(appearance=lambda track_id, frame, face: float("nan"))
    released: list[FrameTracks] = []
    for index in range(3):
        released.extend(tracker.push(index, index / 25, (face_at(100, 100),)))
    released.extend(tracker.flush())
    assert len({number for frame in released for number in ids(frame)}) == 3


def test_a_face_that_appears_elsewhere_leaves_its_old_place_covered_too() -> None:
    """Nobody can tell a jump from one face lost and another found: both stay covered."""
    here, there = face_at(100, 100, 40), face_at(160, 100, 40)
    found = [(here if frame < 20 else there,) for frame in range(40)]
    released = follow(found)
    for frame in released[20:24]:
        assert any(covers(track, (100, 100, 40)) for track in frame.tracks)
    for frame in released[16:20]:
        assert any(covers(track, (160, 100, 40)) for track in frame.tracks)
    assert 1 not in ids(released[35])
