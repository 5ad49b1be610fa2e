"""Reads a folder of faces: who is there, who plays which part, and their aligned portraits."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engines.errors import EngineFault
from evaluation.attacks.attack import Subjects
from evaluation.errors import TooFewPeople
from evaluation.exposure import FaceFinder
from evaluation.faces import PORTRAIT, Faces, portrait_from_image
from evaluation.finders import largest_central
from gallery.pictures import read_picture

__all__ = ["Casting", "cast_people", "portraits", "subjects"]

_LEAST_PEOPLE = 40
_PICTURES_EACH = 3

People = Mapping[str, Sequence[Path]]
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Casting:
    """Who plays which part; no person plays two.

    Attributes:
        tested: people whose faces are released, or who only are in the gallery when there
            is a single picture of them.
        donors: people who lend faces and from whom methods learn.
        outsiders: people on whom the attacker trains.
    """

    tested: tuple[str, ...]
    donors: tuple[str, ...]
    outsiders: tuple[str, ...]


def cast_people(people: People, most: int) -> Casting:
    """Deals people out by a hash of their names, so that runs agree and order means nothing.

    Those with two pictures or more are tested first: only they have another photograph.

    Args:
        people: pictures by person.
        most: tested people at most; there are up to as many donors, and up to six tenths of
            that outsiders.

    Raises:
        TooFewPeople: fewer than 40 people.
    """
    if len(people) < _LEAST_PEOPLE:
        message = (
            f"{len(people)} people are too few to split; {_LEAST_PEOPLE} are needed, each with a "
            "folder of pictures"
        )
        raise TooFewPeople(message)
    dealt = sorted(people, key=lambda name: hashlib.sha256(name.encode()).digest())
    dealt.sort(key=lambda name: len(people[name]) < 2)
    tested = dealt[: min(most, len(dealt) * 6 // 10)]
    rest = dealt[len(tested) :][::-1]
    outside = min(len(rest) // 2, max(20, most * 6 // 10))
    lending = min(len(rest) - outside, len(tested))
    return Casting(tuple(tested), tuple(rest[:lending]), tuple(rest[lending : lending + outside]))


def portraits(
    chosen: Sequence[tuple[int, Path]], finder: FaceFinder, progress: Progress
) -> tuple[Faces, int]:
    """Aligned portraits of (person, picture) pairs, and how many had no face to align."""
    images, points, persons, lost = [], [], [], 0
    for done, (person, path) in enumerate(chosen):
        progress("reading", done, len(chosen))
        image = read_picture(path)
        face = largest_central(finder.find(image), image.shape[0], image.shape[1])
        if face is None:
            lost += 1
            continue
        try:
            portrait, marks = portrait_from_image(image, face.landmarks_px)
        except EngineFault:
            lost += 1
            continue
        images.append(portrait)
        points.append(marks)
        persons.append(person)
    if not images:
        return Faces(
            np.zeros((0, PORTRAIT, PORTRAIT, 3), np.uint8),
            np.zeros((0, 5, 2), np.float32),
            np.zeros(0, np.int64),
        ), lost
    return Faces(np.stack(images), np.stack(points), np.array(persons, np.int64)), lost


def subjects(
    people: People, casting: Casting, finder: FaceFinder, progress: Progress
) -> tuple[Subjects, int]:
    """Reads everybody; also returns how many pictures had no face to align.

    The first picture of a tested person is the attacker's, the next two are released.
    """
    number = {name: place for place, name in enumerate(sorted(people))}
    gallery = [(number[name], people[name][0]) for name in casting.tested]
    probes = [
        (number[name], path) for name in casting.tested for path in people[name][1:_PICTURES_EACH]
    ]
    donors = [(number[name], people[name][0]) for name in casting.donors]
    outsiders = [(number[name], people[name][0]) for name in casting.outsiders]
    parts, lost = [], 0
    for part in (probes, gallery, donors, outsiders):
        faces, missing = portraits(part, finder, progress)
        parts.append(faces)
        lost += missing
    read = Subjects(*parts)
    if read.probes.people < _LEAST_PEOPLE // 4:
        message = "fewer than 10 people have a second picture with a face; add pictures"
        raise TooFewPeople(message)
    return read, lost
