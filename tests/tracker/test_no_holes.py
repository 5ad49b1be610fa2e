"""Invariant 2 as properties: a track has no holes, whatever the detector misses."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.types import Face, TrackState
from tests.tracker.scenes import (
    Detections,
    Hole,
    Person,
    Place,
    detections,
    drops,
    face_at,
    follow,
    holes,
    straight,
)
from tracker.schedule import DetectionSchedule
from tracker.settings import TrackerSettings
from tracker.tracker import FrameTracks, Tracker

pytestmark = pytest.mark.unit

FRAMES = 90
unit = st.floats(-1.0, 1.0)


@dataclass(frozen=True)
class Walk:
    """Sways and walks at up to about three sizes a second at 25 frames a second."""

    size: float
    dx: float
    dy: float
    sway: float
    phase: float
    tempo: float
    growth: float
    x: float = 0.0
    y: float = 0.0

    def __call__(self, frame: int) -> Place:
        wave = self.sway * math.sin(self.tempo * frame + 6 * self.phase)
        return (
            1000 + self.x + self.size * (0.06 * self.dx * frame + wave),
            1000 + self.y + self.size * (0.06 * self.dy * frame + 0.5 * wave),
            self.size * math.exp(0.008 * self.growth * frame),
        )


def walkers(most_sway: float = 0.8) -> st.SearchStrategy[Person]:
    walk = st.builds(
        Walk,
        st.floats(12.0, 300.0),
        unit,
        unit,
        st.floats(0.0, most_sway),
        unit,
        st.floats(0.01, 0.1),
        unit,
    )
    return st.builds(Person, walk, st.just(0), st.just(FRAMES - 1))


def holes_between_finds(
    released: list[FrameTracks], person: Person, found: Detections
) -> list[Hole]:
    """Holes after the first find and before the last.

    Beyond them the speed may never have been seen: a face that walks three sizes a second and
    is found twice within the look-ahead, late, cannot be said to be anywhere. What is promised
    there is another property, below.
    """
    seen = [frame for frame, faces in enumerate(found) if faces]
    return [hole for hole in holes(released, [person]) if seen[0] < hole.frame < seen[-1]]


@given(person=walkers(), seed=st.integers(0, 10_000), share=st.floats(0.0, 0.5))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_detections_dropped_at_random_leave_no_hole(
    person: Person, seed: int, share: float
) -> None:
    missed = drops(FRAMES, 8, share, seed)
    found = detections([person], FRAMES, lambda _, frame: frame not in missed, 0.03, seed)
    released = follow(found, TrackerSettings(preroll_s=0.4))
    assert holes_between_finds(released, person, found) == []


@given(
    person=walkers(most_sway=0.3),
    late=st.integers(0, 5),
    early=st.integers(0, 9),
    ahead=st.integers(10, 30),
)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_late_first_and_early_last_detections_leave_no_hole(
    person: Person, late: int, early: int, ahead: int
) -> None:
    """Nobody can extrapolate a turn that was never seen: these walkers sway less."""
    found = detections([person], FRAMES, lambda _, frame: late <= frame < FRAMES - early, 0.03)
    released = follow(found, TrackerSettings(lookahead_frames=ahead))
    assert holes(released, [person]) == []


@given(person=walkers(), seed=st.integers(0, 10_000), rate=st.sampled_from([24.0, 30.0, 60.0]))
@settings(max_examples=30, deadline=None, derandomize=True)
def test_every_second_frame_left_out_leaves_no_hole(person: Person, seed: int, rate: float) -> None:
    missed = drops(FRAMES, 3, 0.2, seed)
    found = detections([person], FRAMES, lambda _, frame: frame not in missed, 0.03, seed)
    found = [faces if frame % 2 == 0 else None for frame, faces in enumerate(found)]
    assert holes_between_finds(follow(found, rate=rate), person, found) == []


@given(person=walkers(), seed=st.integers(0, 10_000), rate=st.sampled_from([15.0, 25.0, 60.0]))
@settings(max_examples=30, deadline=None, derandomize=True)
def test_a_detector_run_by_the_schedule_leaves_no_hole(
    person: Person, seed: int, rate: float
) -> None:
    missed = drops(FRAMES, 3, 0.2, seed)
    found = detections([person], FRAMES, lambda _, frame: frame not in missed, 0.03, seed)
    tracker, schedule = Tracker(), DetectionSchedule()
    released: list[FrameTracks] = []
    for frame, faces in enumerate(found):
        choice = schedule.decide(frame / rate, None, tracker.moving())
        released.extend(tracker.push(frame, frame / rate, None if choice == "skip" else faces))
    released.extend(tracker.flush())
    assert holes_between_finds(released, person, found) == []


@pytest.mark.parametrize("seed", range(12))
def test_people_who_cross_each_other_leave_no_hole(seed: int) -> None:
    people = crossing_walkers(4, seed)
    missed = [drops(FRAMES, 8, 0.15, 100 * seed + number) for number in range(len(people))]
    found = detections(people, FRAMES, lambda n, frame: frame not in missed[n], 0.03, seed)
    assert holes(follow(found, TrackerSettings(preroll_s=0.4)), people) == []


def crossing_walkers(number: int, seed: int) -> list[Person]:
    noise = np.random.default_rng(seed)
    size = noise.uniform(15, 150)
    return [Person(crossing_walk(noise, size), 0, FRAMES - 1) for _ in range(number)]


def crossing_walk(noise: np.random.Generator, size: float) -> Walk:
    dx, dy, phase = noise.uniform(-1, 1, 3)
    x, y = noise.uniform(-3, 3, 2) * size
    return Walk(
        size * noise.uniform(0.8, 1.25),
        dx,
        dy,
        sway=noise.uniform(0, 0.8),
        phase=phase,
        tempo=noise.uniform(0.01, 0.1),
        growth=noise.uniform(-0.3, 0.3),
        x=x,
        y=y,
    )


def faces_anywhere() -> st.SearchStrategy[Face]:
    return st.builds(
        face_at, st.floats(0, 200), st.floats(0, 200), st.floats(1, 200), st.floats(0.0, 1.0)
    )


def soups() -> st.SearchStrategy[Detections]:
    """Detections without rhyme or reason, with frames left out."""
    frame = st.none() | st.lists(faces_anywhere(), max_size=5).map(tuple)
    return st.lists(frame, min_size=1, max_size=25)


def holds(frame: FrameTracks, face: Face) -> bool:
    return any(
        bool((track.face.box_px[:2] <= face.box_px[:2]).all())
        and bool((track.face.box_px[2:] >= face.box_px[2:]).all())
        for track in frame.tracks
    )


@given(found=soups(), ahead=st.integers(0, 12))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_every_detection_lies_inside_a_released_box(found: Detections, ahead: int) -> None:
    wanted = TrackerSettings(lookahead_frames=ahead, evidence_s=60.0, early_score=0.2)
    released = follow(found, wanted)
    assert [frame.frame_index for frame in released] == list(range(len(found)))
    for frame, faces in zip(released, found, strict=True):
        for face in faces or ():
            assert face.score < wanted.low_score or holds(frame, face)


@given(found=soups(), ahead=st.integers(0, 12))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_ids_are_unique_in_a_frame_and_never_come_back(found: Detections, ahead: int) -> None:
    spans: dict[int, list[int]] = {}
    for frame in follow(found, TrackerSettings(lookahead_frames=ahead, evidence_s=60.0)):
        numbers = [track.id for track in frame.tracks]
        assert numbers == sorted(set(numbers))
        for number in numbers:
            spans.setdefault(number, []).append(frame.frame_index)
    for frames in spans.values():
        assert frames == list(range(frames[0], frames[-1] + 1))


def described(frame: FrameTracks) -> object:
    """All of a frame in a form that compares exactly."""
    return (
        frame.frame_index,
        frame.is_unknown,
        [
            (
                track.id,
                track.state,
                track.age_frames,
                track.is_confirmed,
                track.face.score,
                track.face.box_px.tolist(),
                track.face.landmarks_px.tolist(),
            )
            for track in frame.tracks
        ],
    )


def test_a_tracker_without_lookahead_leaves_a_hole_that_the_search_finds() -> None:
    person = Person(straight(100, 100, 2, 0), 0, 39)
    found = detections([person], 40, lambda _, frame: frame >= 6)
    assert [
        hole.frame for hole in holes(follow(found, TrackerSettings(lookahead_frames=0)), [person])
    ] == list(range(6))


def test_a_tracker_without_hold_leaves_a_hole_that_the_search_finds() -> None:
    person = Person(straight(100, 100, 2, 0), 0, 39)
    found = detections([person], 40, lambda _, frame: not 20 <= frame < 30)
    blind = TrackerSettings(lookahead_frames=3, hold_s=0.0, sure_hold_s=0.0, preroll_s=0.0)
    assert holes(follow(found, blind), [person])


def test_a_box_beside_the_face_counts_as_a_hole() -> None:
    person = Person(straight(100, 100, 0, 0), 0, 0)
    assert holes(follow([(face_at(125, 100, 40),)]), [person])


def test_a_fast_head_is_not_left_behind_by_the_smoothing() -> None:
    person = Person(lambda frame: (300 + 120 * math.sin(frame / 4), 200.0, 40.0), 0, FRAMES - 1)
    released = follow(detections([person], FRAMES))
    for frame in released[5:-5]:
        (track,) = (t for t in frame.tracks if t.state is TrackState.DETECTED)
        eyes = track.face.landmarks_px[:2].mean(axis=0)
        assert abs(float(eyes[0]) - person.place(frame.frame_index)[0]) < 0.1 * 40


def test_jitter_of_a_still_head_is_calmed() -> None:
    person = Person(straight(100, 100, 0, 0), 0, FRAMES - 1)
    found = detections([person], FRAMES, jitter=0.02)
    given_x = [faces[0].landmarks_px[2, 0] for faces in found if faces]
    kept_x = [frame.tracks[0].face.landmarks_px[2, 0] for frame in follow(found)]
    assert float(np.std(kept_x)) < 0.6 * float(np.std(given_x))
