"""Worlds of moving boxes, a detector that misses, and a search for holes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engines.types import Face, Track
from tracker.settings import TrackerSettings
from tracker.tracker import FrameTracks, Tracker

Place = tuple[float, float, float]
"""Centre x, centre y, size, px."""

Detections = list[tuple[Face, ...] | None]

_MARKS = np.array([[-0.2, -0.1], [0.2, -0.1], [0.0, 0.1], [-0.15, 0.3], [0.15, 0.3]])


@dataclass(frozen=True, slots=True)
class Person:
    """A face visible from `first` to `last` frame, at `place(frame)`."""

    place: Callable[[int], Place]
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Hole:
    """A frame in which a person's face is not covered."""

    person: int
    frame: int


def face_at(x: float, y: float, size: float = 20.0, score: float = 0.9) -> Face:
    box = np.array([x - size / 2, y - size / 2, x + size / 2, y + size / 2], dtype=np.float32)
    return Face(box, (_MARKS * size + [x, y]).astype(np.float32), score)


def straight(x: float, y: float, dx: float, dy: float, size: float = 40.0) -> Callable[..., Place]:
    def place(frame: int) -> Place:
        return (x + dx * frame, y + dy * frame, size)

    return place


def detections(
    people: Sequence[Person],
    frames: int,
    is_seen: Callable[[int, int], bool] = lambda person, frame: True,
    jitter: float = 0.0,
    seed: int = 0,
) -> Detections:
    """What a detector says: every visible person that `is_seen`, with jitter in sizes."""
    noise = np.random.default_rng(seed)
    found: Detections = []
    for frame in range(frames):
        faces = []
        for number, person in enumerate(people):
            x, y, size = person.place(frame)
            dx, dy, ds = noise.normal(0.0, jitter, 3) if jitter else (0.0, 0.0, 0.0)
            if person.first <= frame <= person.last and is_seen(number, frame):
                faces.append(face_at(x + dx * size, y + dy * size, size * float(np.exp(ds))))
        found.append(tuple(faces))
    return found


def follow(
    found: Iterable[tuple[Face, ...] | None],
    settings: TrackerSettings | None = None,
    *,
    rate: float = 25.0,
    unknown: Iterable[int] = (),
    thumbnails: Callable[[int], NDArray[np.uint8]] | None = None,
) -> list[FrameTracks]:
    """Everything the tracker releases."""
    tracker = Tracker(settings)
    failed = set(unknown)
    released: list[FrameTracks] = []
    for index, faces in enumerate(found):
        thumbnail = thumbnails(index) if thumbnails else None
        released.extend(
            tracker.push(index, index / rate, faces, thumbnail, unknown=index in failed)
        )
    released.extend(tracker.flush())
    return released


def covers(track: Track, place: Place) -> bool:
    """Whether the box holds the central half of the true face."""
    x, y, size = place
    box, quarter = track.face.box_px, size / 4
    inside = box[0] <= x - quarter and box[1] <= y - quarter
    return bool(inside and box[2] >= x + quarter and box[3] >= y + quarter)


def holes(released: Sequence[FrameTracks], people: Sequence[Person]) -> list[Hole]:
    """Frames in which someone visible is not covered by any one box."""
    return [
        Hole(number, frame.frame_index)
        for frame in released
        for number, person in enumerate(people)
        if person.first <= frame.frame_index <= person.last
        and not frame.is_unknown
        and not any(covers(track, person.place(frame.frame_index)) for track in frame.tracks)
    ]


def ids(frame: FrameTracks) -> set[int]:
    return {track.id for track in frame.tracks}


def drops(frames: int, longest: int, share: float, seed: int) -> set[int]:
    """Random runs of missed frames, none longer than `longest`, with a hit between runs."""
    noise = np.random.default_rng(seed)
    missed: set[int] = set()
    frame = 0
    while frame < frames:
        if noise.random() < share:
            length = int(noise.integers(1, longest + 1))
            missed.update(range(frame, min(frame + length, frames)))
            frame += length
        frame += 1
    return missed
