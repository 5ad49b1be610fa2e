"""From a picture to a vector, with a pretended detector and recogniser."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.backends.backend import Tensors, TensorSpec
from engines.pictures import BgrImage
from engines.types import Face
from gallery.embedding import ArcFaceEmbedder

pytestmark = pytest.mark.unit

POINTS = np.array([[38, 52], [74, 52], [56, 72], [42, 92], [71, 92]], np.float32)


@dataclass
class Faces:
    """Finds what it was told to find."""

    faces: tuple[Face, ...]

    def detect(self, image_bgr: BgrImage, *, min_score: float) -> tuple[Face, ...]:
        return tuple(face for face in self.faces if face.score >= min_score)


@dataclass
class MeanColour:
    """A recogniser whose vector is the mean of each channel."""

    inputs: tuple[TensorSpec, ...] = (TensorSpec("faces", (1, 3, 112, 112), np.dtype(np.float32)),)
    outputs: tuple[TensorSpec, ...] = (TensorSpec("vector", (1, 3), np.dtype(np.float32)),)
    seen: list[NDArray[np.float32]] = field(default_factory=list)

    def run(self, tensors: Tensors) -> dict[str, NDArray[np.float32]]:
        faces = np.asarray(tensors["faces"], np.float32)
        self.seen.append(faces)
        return {"vector": faces.mean(axis=(2, 3))}

    def close(self) -> None:
        pass


def face(left: float, size: float, score: float = 0.9) -> Face:
    box = np.array([left, 0, left + size, size], np.float32)
    return Face(box, POINTS * (size / 112) + np.array([left, 0], np.float32), score)


def test_largest_face_is_embedded_in_red_green_blue() -> None:
    image = np.zeros((224, 448, 3), np.uint8)
    image[:, 112:, 2] = 255  # red on the right, where the larger face is
    session = MeanColour()
    embedder = ArcFaceEmbedder(Faces((face(0, 100), face(150, 200))), session)
    vector = embedder.embed(image)
    assert vector is not None
    assert vector.dtype == np.float32
    assert np.linalg.norm(vector) == pytest.approx(1)
    assert vector[0] > 0 > vector[1]
    assert session.seen[0].shape == (1, 3, 112, 112)
    assert np.abs(session.seen[0]).max() <= 1


def test_picture_without_a_sure_face_has_no_embedding() -> None:
    image = np.zeros((224, 448, 3), np.uint8)
    assert ArcFaceEmbedder(Faces((face(0, 99, score=0.3),)), MeanColour()).embed(image) is None
    assert ArcFaceEmbedder(Faces(()), MeanColour()).embed(image) is None
