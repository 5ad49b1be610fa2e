"""Reference points: nothing done, a solid cover, every ad hoc cover, a random stranger."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from engines.blending.covers import COVERS, NamedCover, cover_named
from engines.face.alignment import identity_mask
from engines.types import Box
from evaluation.errors import TooFewPeople
from evaluation.faces import CROP, MARGIN, Faces, crop_window
from evaluation.methods.method import Kind, Release, alone, random_from_secret

__all__ = ["CoverMethod", "IdentityMethod", "RandomStranger", "SurroundingsOnly"]
__all__ += ["cover_method", "cover_names"]

CROP_BOX: Box = np.array([MARGIN, MARGIN, MARGIN + CROP, MARGIN + CROP], np.float32)
"""The kveil crop in a portrait: what the pipeline would cover."""


@dataclass(slots=True)
class IdentityMethod:
    """Nothing is done: the planted leak that every attack must find."""

    name: str = "none"
    kind: Kind = "control"

    def fit(self, donors: Faces) -> None:
        """Learns nothing."""

    def anonymize(self, faces: Faces, secret: bytes) -> Release:
        """The faces as they are."""
        return alone(faces.images.copy())


@dataclass(slots=True)
class CoverMethod:
    """One of the engines' covers over the whole portrait.

    Attributes:
        cover: the drawing.
        name: as users write it.
    """

    cover: NamedCover
    name: str = ""
    kind: Kind = "cover"

    def __post_init__(self) -> None:
        self.name = self.cover.name

    def fit(self, donors: Faces) -> None:
        """Learns nothing."""

    def anonymize(self, faces: Faces, secret: bytes) -> Release:
        """Paints every face; covers that keep nothing depend on nobody."""
        painted = [
            self._paint(image, points)
            for image, points in zip(faces.images, faces.points, strict=True)
        ]
        images = np.stack(painted) if painted else faces.images.copy()
        if self.cover.is_safe and not self.cover.is_partial:
            count = len(faces)
            nobody = np.full(count, -1, np.int64)
            return Release(images, nobody, np.zeros((count, count), np.float32))
        return alone(images)

    def _paint(self, image: NDArray[np.uint8], points: NDArray[np.float32]) -> NDArray[np.uint8]:
        size = image.shape[0]
        box = CROP_BOX if size > CROP + MARGIN else np.array([0, 0, size, size], np.float32)
        return self.cover.paint(image, points, box)


def cover_names() -> list[str]:
    """Every cover of the engines."""
    return sorted(COVERS)


def cover_method(name: str) -> CoverMethod:
    """The method that paints the cover of this name."""
    cover = cover_named(name)
    assert isinstance(cover, NamedCover)
    return CoverMethod(cover)


@dataclass(slots=True)
class RandomStranger:
    """Every face becomes a random other person's: the control that must score at chance.

    Strangers are dealt anew for each release, so nothing links two of them either; within one,
    everybody is dealt before anybody comes again, so as many people are seen as can be.
    """

    name: str = "random stranger"
    kind: Kind = "control"
    _donors: NDArray[np.uint8] = field(default_factory=lambda: np.zeros((0, 0, 0, 3), np.uint8))

    def fit(self, donors: Faces) -> None:
        """Keeps one portrait per donor."""
        _, first = np.unique(donors.persons, return_index=True)
        self._donors = donors.images[first]

    def anonymize(self, faces: Faces, secret: bytes) -> Release:
        """Replaces whole portraits by strangers'.

        Raises:
            TooFewPeople: there are no donors.
        """
        if not len(self._donors):
            message = "a random stranger needs donors: call fit with people outside the test"
            raise TooFewPeople(message)
        count, donors = len(faces), len(self._donors)
        random = random_from_secret(secret, "stranger")
        deals = [random.permutation(donors) for _ in range(-(-count // donors))]
        order = np.concatenate([np.zeros(0, np.int64), *deals])[:count]
        nobody = np.full(count, -1, np.int64)
        return Release(self._donors[order], nobody, np.zeros((count, count), np.float32))


@dataclass(slots=True)
class SurroundingsOnly:
    """The identity oval in one grey, the rest as it was: what hair and background give away.

    Whatever a swap leaks up to this figure does not come from the face it paints.
    """

    name: str = "surroundings"
    kind: Kind = "cover"

    def fit(self, donors: Faces) -> None:
        """Learns nothing."""

    def anonymize(self, faces: Faces, secret: bytes) -> Release:
        """Greys the oval of every kveil crop."""
        images = faces.images.copy()
        inner = images[:, *crop_window()]
        inner[:, identity_mask(CROP)] = 128
        return alone(images)
