"""What is covered for how little evidence, how long, and how far."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engines.types import Face
from tests.tracker.scenes import Person, detections, face_at, follow, holes, ids, straight
from tracker.settings import TrackerSettings
from tracker.tracker import FrameTracks, Tracker

pytestmark = pytest.mark.unit

FILE = TrackerSettings(lookahead_frames=25)
LIVE = TrackerSettings(lookahead_frames=5)


def covered(released: list[FrameTracks]) -> list[int]:
    return [frame.frame_index for frame in released if frame.tracks]


def found_at(scores: dict[int, float], size: float = 40.0, frames: int = 60) -> list[FrameTracks]:
    """What a file's tracker releases where one place is found with these scores by frame."""
    found = [
        (face_at(50, 50, size, score=scores[index]),) if index in scores else ()
        for index in range(frames)
    ]
    return follow(found, FILE)


@pytest.mark.parametrize(
    ("scores", "size", "is_face"),
    [
        ({20: 0.49}, 40, False),
        ({20: 0.5}, 40, True),
        ({20: 0.4, 24: 0.2}, 40, True),
        ({20: 0.39, 24: 0.39}, 40, False),
        ({20: 0.3, 23: 0.2, 26: 0.2}, 40, True),
        ({20: 0.29, 23: 0.29, 26: 0.29}, 40, False),
        ({20 + 2 * index: 0.2 for index in range(5)}, 40, False),
        ({20 + 2 * index: 0.2 for index in range(6)}, 40, True),
        ({20: 0.29}, 16, False),
        ({20: 0.3}, 16, True),
        ({20: 0.2, 24: 0.2}, 16, True),
    ],
)
def test_a_place_is_covered_by_its_finds_and_their_best_score(
    scores: dict[int, float], size: float, is_face: bool
) -> None:
    released = found_at(scores, size)
    assert bool(covered(released)) == is_face
    if is_face:
        assert set(range(min(scores), max(scores) + 1)) <= set(covered(released))


@pytest.mark.parametrize(
    ("scores", "eyes", "is_face"),
    [
        ((0.35,) * 8, 0.05, False),
        ((0.35,) * 8, 0.2, True),
        ((0.45,) * 2, 0.05, True),
        ((0.6,), 0.05, True),
    ],
)
def test_what_is_hardly_found_from_the_side_is_covered_only_if_it_is_found_better(
    scores: tuple[float, ...], eyes: float, is_face: bool
) -> None:
    """The planted faults: the gap between two people was covered; so was no face in profile."""
    found: list[tuple[Face, ...]] = [()] * 60
    for place, score in enumerate(scores):
        face = face_at(50, 50, 40, score=score)
        marks = face.landmarks_px.copy()
        marks[:2, 0] = 50 - 20 * eyes, 50 + 20 * eyes
        found[20 + place] = (replace(face, landmarks_px=marks),)
    assert bool(covered(follow(found, FILE))) == is_face


@pytest.mark.parametrize(
    ("size", "score", "is_face"),
    [(50, 0.35, True), (60, 0.35, False), (60, 0.42, True)],
)
def test_what_is_large_and_hardly_found_however_often_is_no_face(
    size: float, score: float, is_face: bool
) -> None:
    """The planted faults: the hair of somebody in focus was covered; so was no face in the dark."""
    scores = {8 + 2 * index: score for index in range(12)}
    assert bool(covered(found_at(scores, size))) == is_face


def test_a_face_that_turns_to_the_side_stays_covered_however_hardly_it_is_found() -> None:
    """The planted fault: what had been a face was none once most of its finds were in profile."""
    front = face_at(50, 50, 40, score=0.35)
    marks = front.landmarks_px.copy()
    marks[:2, 0] = 49, 51
    side = replace(front, landmarks_px=marks)
    found = [(front,) if index < 4 else (side,) for index in range(60)]
    assert covered(follow(found, FILE)) == list(range(60))


def test_a_find_that_turns_out_late_to_be_a_face_is_covered_back_to_it() -> None:
    assert 20 in covered(found_at({20: 0.25, 25: 0.25, 30: 0.25, 35: 0.6}))


def test_what_the_look_ahead_told_to_be_no_face_is_none_at_the_end_of_the_file_either() -> None:
    """The planted fault: a plant beside a head was covered in the last second of a clip."""
    plant = dict.fromkeys(range(20, 60, 4), 0.32)
    assert not covered(found_at(plant, size=76))


@pytest.mark.parametrize("first", [45, 50, 55])
def test_what_may_be_a_face_and_comes_just_before_the_end_is_covered_to_it(first: int) -> None:
    weak = dict.fromkeys(range(first, 60, 4), 0.3)
    assert set(range(first, 60)) <= set(covered(found_at(weak, size=76)))


def test_the_end_of_a_short_file_is_covered_as_what_is_seen_live() -> None:
    weak = dict.fromkeys(range(0, 12, 4), 0.3)
    assert covered(found_at(weak, size=76, frames=12)) == list(range(12))


def test_a_weak_find_is_covered_live_before_its_evidence_is_judged_and_then_let_go() -> None:
    found: list[tuple[Face, ...]] = [()] * 60
    found[20] = (face_at(50, 50, 40, score=0.3),)
    assert covered(follow(found, LIVE)) == list(range(15, 26))
    assert not covered(follow(found, FILE))


def test_a_face_found_weakly_in_every_frame_is_covered_live_from_its_first() -> None:
    found = [(face_at(50, 50, 40, score=0.25),) if index >= 20 else () for index in range(60)]
    assert set(range(20, 60)) <= set(covered(follow(found, LIVE)))


@pytest.mark.parametrize("every", [4, 5, 6, 8])
def test_a_face_found_weakly_now_and_then_has_no_hole_live(every: int) -> None:
    """The planted fault: covered from its third find, bare once evidence was due."""
    found = [
        (face_at(50, 50, 40, score=0.25),) if index % every == 0 else () for index in range(100)
    ]
    bare = sorted(set(range(100)) - set(covered(follow(found, LIVE))))
    assert bare == list(range(len(bare))), "covered without a gap from some frame on"
    assert len(bare) <= 2 * every


@pytest.mark.parametrize("settings", [FILE, LIVE])
@pytest.mark.parametrize("sizes", [(18, 18.5, 21, 21, 21), (19, 19.5, 20.5, 19.5, 22)])
def test_a_small_face_that_comes_nearer_stays_covered(
    settings: TrackerSettings, sizes: tuple[float, ...]
) -> None:
    found: list[tuple[Face, ...]] = [()] * 60
    for index, size in enumerate(sizes):
        found[10 + 10 * index] = (face_at(50, 50, size, score=0.25),)
    # A single find of so low a score is none yet, unless the look-ahead knows of the second.
    first = 10 if settings is FILE else 20
    assert set(range(first, 51)) <= set(covered(follow(found, settings)))


@pytest.mark.parametrize(("gap", "is_covered"), [(0, True), (8, True), (15, False)])
def test_a_weak_find_where_a_face_jumped_to_is_covered(gap: int, is_covered: bool) -> None:
    """The planted fault: long after it had gone, what lay near its place was covered for it."""
    jumped = (face_at(180, 50, 40, score=0.25),)
    found = [*[(face_at(100, 50, 40),)] * 30, *[()] * gap, jumped, *[()] * 30]
    released = follow(found, FILE)
    covers = [track.face.box_px[2] >= 190 for track in released[30 + gap].tracks]
    assert any(covers) == is_covered


@pytest.mark.parametrize("gap", [10, 20, 30, 36])
def test_what_stands_still_stays_one_track_covered_through_a_gap(gap: int) -> None:
    found = [
        () if 30 <= index < 30 + gap else (face_at(50, 50, 40, score=0.6),) for index in range(100)
    ]
    released = follow(found, FILE)
    assert covered(released) == list(range(100))
    assert len(ids(released[29])) == 1


def test_what_was_clearly_a_face_is_held_longer_than_what_may_be_one() -> None:
    face = [(face_at(50 + 9 * index, 50, 40, score=0.8),) for index in range(20)]
    blip = [(face_at(50 + 9 * index, 50, 40, score=0.42),) for index in range(20)]
    assert covered(follow([*face, *[()] * 40], FILE))[-1] == 31
    assert covered(follow([*blip, *[()] * 40], FILE))[-1] == 24


@pytest.mark.parametrize(
    ("score", "size", "is_tight"), [(0.45, 40, True), (0.55, 40, False), (0.45, 20, False)]
)
def test_what_was_never_clearly_found_is_hardly_extended_where_the_look_ahead_is_long(
    score: float, size: float, is_tight: bool
) -> None:
    wanted = replace(FILE, weak_hold_s=0.09)
    seen = [(face_at(50 + 9 * index, 50, size, score),) for index in range(5)]
    shown = covered(follow([*[()] * 20, *seen, *[()] * 40], wanted))
    assert shown == list(range(18, 27) if is_tight else range(15, 30))


def test_a_small_face_is_covered_back_to_the_thorough_search_that_did_not_find_it() -> None:
    def first_covered(size: float) -> int:
        tracker, released = Tracker(FILE), list[FrameTracks]()
        for index in range(60):
            is_full = index % 12 == 0
            faces = (face_at(50, 50, size),) if is_full and index > 20 else ()
            released += tracker.push(index, index / 25, faces, least_px=0.0 if is_full else 30.0)
        return covered(released + list(tracker.flush()))[0]

    assert first_covered(24) == 13
    assert first_covered(40) == 19


@pytest.mark.parametrize("gap_s", [1.0, 2.0, 4.0])
def test_covers_of_frames_seconds_apart_are_as_large_as_the_face(gap_s: float) -> None:
    """The picture is held for seconds in the middle of a walk."""
    mover = Person(straight(100, 100, 2, 0, size=60), 0, 59)
    tracker, released = Tracker(FILE), list[FrameTracks]()
    for index, faces in enumerate(detections([mover], 60)):
        time_s = index / 30 + (gap_s if index >= 30 else 0.0)
        released += tracker.push(index, time_s, faces)
    released += tracker.flush()
    assert not holes(released, [mover])
    areas = [
        float(np.prod(track.face.box_px[2:] - track.face.box_px[:2]))
        for frame in released
        for track in frame.tracks
    ]
    assert max(areas) < 1.7 * 60**2


def test_a_time_lapse_of_a_moving_face_has_covers_as_large_as_the_face() -> None:
    mover = Person(straight(100, 100, 6, 0, size=60), 0, 29)
    tracker, released = Tracker(FILE), list[FrameTracks]()
    for index, faces in enumerate(detections([mover], 30, lambda _, frame: frame != 14)):
        released += tracker.push(index, float(index), faces)
    released += tracker.flush()
    assert not holes(released, [mover])
    widths = [float(np.ptp(t.face.box_px[[0, 2]])) for frame in released for t in frame.tracks]
    assert max(widths) < 1.5 * 60
