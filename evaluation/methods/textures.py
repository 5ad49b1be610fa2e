"""Pictures that play the retina: a disc with a person's vessels and a grade of spots.

k-SALSA (2022) was made for photographs of the eye's fundus, which cannot be shipped. These
have what matters to it: a geometry that tells who it is (the tree of vessels), and small
marks in changing places that tell the finding (spots, more and brighter with the grade).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from evaluation.eigenfaces import FaceSpace, face_space
from evaluation.methods.directions import LatentDirections

__all__ = ["GRADES", "SIDE", "TextureDomain", "fundus", "texture_domain"]

Float32 = NDArray[np.float32]

SIDE: Final = 64
"""Height and width, px."""
GRADES: Final = 3
_COARSE: Final = 4
"""Vessels and spots are drawn this much larger and averaged down."""


def fundus(person: int, picture: int, grade: int, side: int = SIDE) -> NDArray[np.uint8]:
    """Draws one picture, side×side×3 uint8 BGR; the same arguments give the same picture.

    Args:
        person: decides the vessels.
        picture: of this person: decides where the spots lie, and the light.
        grade: 0…GRADES − 1, of spots.
        side: height and width, px.

    >>> fundus(1, 0, 2).shape
    (64, 64, 3)
    """
    own, changing = np.random.default_rng([person, 1]), np.random.default_rng([person, picture, 2])
    large = side * _COARSE
    image = _disc(large, changing)
    for _ in range(4):
        _branch(image, own, np.array([0.3, 0.5]), own.uniform(-np.pi, np.pi), 5, large)
    _spots(image, changing, grade, large)
    small = cv2.resize(image, (side, side), interpolation=cv2.INTER_AREA)
    noise = changing.normal(0, 2, small.shape)
    return np.asarray(np.clip(small + noise, 0, 255), np.uint8)


def _disc(large: int, random: np.random.Generator) -> Float32:
    steps = (np.arange(large) + 0.5) / large - 0.5
    away = np.hypot(*np.meshgrid(steps, steps))
    glow = np.clip(1.1 - away - 0.3 * np.hypot(*np.meshgrid(steps + 0.2, steps)), 0, 1)
    colour = np.array([40, 90, 190]) * random.uniform(0.9, 1.1)
    disc = glow[..., None] * colour * (away < 0.48)[..., None]
    image = np.ascontiguousarray(disc, np.float32)
    cv2.circle(image, (int(0.3 * large), large // 2), int(0.07 * large), (120, 200, 240), -1)
    return image


def _branch(
    image: Float32,
    random: np.random.Generator,
    place: NDArray[np.float64],
    heading: float,
    width: int,
    large: int,
) -> None:
    """A vessel that bends, thins and splits until it leaves the disc."""
    while np.hypot(*(place - 0.5)) < 0.46 and width > 0:
        heading += random.normal(0, 0.35)
        ahead = place + 0.05 * np.array([np.cos(heading), np.sin(heading)])
        ends = [(int(x * large), int(y * large)) for x, y in (place, ahead)]
        cv2.line(image, ends[0], ends[1], (20, 35, 110), width, cv2.LINE_AA)
        place = ahead
        if random.random() < 0.2:
            _branch(image, random, place, heading + random.choice([-0.7, 0.7]), width - 1, large)


def _spots(image: Float32, random: np.random.Generator, grade: int, large: int) -> None:
    for _ in range(grade * 14):
        radius, angle = 0.42 * np.sqrt(random.random()), random.uniform(0, 2 * np.pi)
        x, y = 0.5 + radius * np.cos(angle), 0.5 + radius * np.sin(angle)
        is_bright = random.random() < 0.5
        colour = (90, 210, 250) if is_bright else (10, 15, 60)
        cv2.circle(image, (int(x * large), int(y * large)), _COARSE + grade, colour, -1)


@dataclass(frozen=True, slots=True)
class TextureDomain:
    """Linear generator and encoder of one kind of picture: principal components.

    Attributes:
        space: components of other people's pictures.
        deviations: (C,) float32 standard deviation along each.
        side: height and width, px.
    """

    space: FaceSpace
    deviations: Float32
    side: int

    @property
    def directions(self) -> LatentDirections:
        """One per component; w and codes are the same up to scale."""
        shape = (self.side, self.side, 3)
        basis = self.deviations[:, None] * self.space.basis
        return LatentDirections(
            np.zeros(len(basis), np.float32),
            np.diag(self.deviations),
            np.diag(1 / self.deviations),
            self.space.mean.reshape(shape),
            basis.reshape(-1, *shape),
        )

    @property
    def region(self) -> Float32:
        """Everywhere."""
        return np.ones((self.side, self.side), np.float32)

    def encoded(self, pictures: NDArray[np.uint8]) -> Float32:
        """(N, C) codes of (N, S, S, 3) uint8 pictures."""
        rows = pictures.reshape(len(pictures), -1).astype(np.float32)
        return self.space.project(rows) / self.deviations

    def represented(self, codes: Float32, clusters: NDArray[np.int64]) -> Float32:
        """(N, S, S, 3) float32 pictures of (N, C) codes."""
        rows = self.space.face(codes * self.deviations)
        return np.asarray(np.clip(rows, 0, 255).reshape(-1, self.side, self.side, 3), np.float32)


def texture_domain(pictures: NDArray[np.uint8], components: int = 120) -> TextureDomain:
    """Learns generator and encoder from (N, S, S, 3) uint8 pictures of other people.

    >>> made = np.stack([fundus(person, 0, 0, 16) for person in range(6)])
    >>> texture_domain(made, 3).encoded(made).shape
    (6, 3)
    """
    rows = pictures.reshape(len(pictures), -1).astype(np.float32)
    space = face_space(rows, components)
    deviations = np.sqrt(np.maximum(space.variances, 1e-6)).astype(np.float32)
    return TextureDomain(space, deviations, pictures.shape[1])
