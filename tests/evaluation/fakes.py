"""Self-made faces and judges whose truth is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.types import Face, Landmarks
from evaluation.faces import CROP, MARGIN, Faces

EYES_NOSE_MOUTH = np.array(
    [[0.30, 0.37], [0.70, 0.37], [0.50, 0.58], [0.35, 0.78], [0.65, 0.78]], np.float32
)


def face_at(left: float, top: float, size: float, score: float = 0.9) -> Face:
    """A detection of a square face."""
    corner = np.array([left, top], np.float32)
    box = np.concatenate([corner, corner + np.float32(size)])
    return Face(box, corner + np.float32(size) * EYES_NOSE_MOUTH, score)


def painted_face(seed: int, size: int) -> NDArray[np.uint8]:
    """A size×size×3 pattern that is the same for a seed, at any size."""
    random = np.random.default_rng(seed)
    coarse = random.integers(40, 216, (6, 6, 3)).astype(np.uint8)
    return np.asarray(cv2.resize(coarse, (size, size), interpolation=cv2.INTER_CUBIC), np.uint8)


@dataclass(frozen=True, slots=True)
class PixelJudge:
    """Recognises a face by its pixels: the centred 8×8 reduction of its box.

    `share` is the part of the box's side that it looks at, around the middle.
    """

    name: str = "pixels"
    threshold: float = 0.9
    seen_by_kveil: bool = False
    share: float = 1.0

    def embed(
        self, images: Sequence[NDArray[np.uint8]], landmarks_px: Sequence[Landmarks]
    ) -> NDArray[np.float32]:
        if not images:
            return np.zeros((0, 192), np.float32)
        rows = [
            _reduced(image, points, self.share)
            for image, points in zip(images, landmarks_px, strict=True)
        ]
        return np.stack(rows)


def _reduced(image: NDArray[np.uint8], points: Landmarks, share: float) -> NDArray[np.float32]:
    side = float(points[1, 0] - points[0, 0]) / 0.4
    left, top = points[0] - side * EYES_NOSE_MOUTH[0]
    crop = cv2.getRectSubPix(
        image, (max(1, round(side * share)),) * 2, (float(left) + side / 2, float(top) + side / 2)
    )
    small = cv2.resize(crop, (8, 8), interpolation=cv2.INTER_AREA).astype(np.float32).ravel()
    small -= small.mean()
    return np.asarray(small / max(float(np.linalg.norm(small)), 1e-6), np.float32)


@dataclass(frozen=True, slots=True)
class ScriptedFinder:
    """Sees the same faces in every frame."""

    faces: tuple[Face, ...]
    name: str = "scripted"

    def find(self, image: NDArray[np.uint8]) -> Sequence[Face]:
        return self.faces


PORTRAIT_FACE = face_at(MARGIN, MARGIN, CROP)
"""Where `write_people` paints every face: the kveil crop of a portrait."""


def painted_portrait(person: int, picture: int, noise: float = 6.0) -> NDArray[np.uint8]:
    """A portrait: the person's pattern with noise of the picture's own."""
    random = np.random.default_rng([person, picture])
    inner = painted_face(person, CROP + CROP // 2).astype(np.float32)
    rim = MARGIN - CROP // 4
    base = cv2.copyMakeBorder(inner, rim, rim, rim, rim, cv2.BORDER_REFLECT_101)
    noisy = np.clip(base + random.normal(0, noise, base.shape), 0, 255)
    return np.asarray(noisy, np.uint8)


def painted_people(first: int, people: int, pictures: int = 1, start: int = 0) -> Faces:
    """Faces of people `first`…, `pictures` each, beginning with picture `start`."""
    persons = np.repeat(np.arange(first, first + people), pictures)
    numbers = np.tile(np.arange(start, start + pictures), people)
    images = [painted_portrait(int(p), int(n)) for p, n in zip(persons, numbers, strict=True)]
    points = np.repeat(PORTRAIT_FACE.landmarks_px[None], len(images), axis=0)
    return Faces(np.stack(images), points, persons)


def write_people(folder: Path, people: int, pictures: int = 2, first: int = 0) -> Path:
    """A folder with one folder of PNG portraits per person."""
    for person in range(first, first + people):
        place = folder / f"person{person:03d}"
        place.mkdir(parents=True)
        for picture in range(pictures):
            cv2.imwrite(str(place / f"{picture}.png"), painted_portrait(person, picture))
    return folder
