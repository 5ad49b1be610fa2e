"""Which places count as covered when swapped faces are judged."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from engines.blending.covers import COVERS
from engines.types import Face
from evaluation.under_cover import is_under_cover

pytestmark = pytest.mark.unit

PARTS = np.array([[0.3, 0.4], [0.7, 0.4], [0.5, 0.6], [0.35, 0.78], [0.65, 0.78]], np.float32)


def face_of(size: int) -> Face:
    box = np.array([0.1, 0.1, 0.9, 0.9], np.float32) * size
    return Face(box, PARTS * np.float32(0.8 * size) + np.float32(0.1 * size), 0.9)


def head(size: int) -> NDArray[np.uint8]:
    """A face that is no cover: skin, with eyes, nose and lips in colours of their own."""
    image = np.full((size, size, 3), (120, 150, 200), np.uint8)
    colours = [(40, 60, 70)] * 3 + [(90, 80, 190)] * 2
    for (x, y), colour in zip(face_of(size).landmarks_px, colours, strict=True):
        cv2.circle(image, (int(x), int(y)), max(size // 12, 1), colour, -1)
    return image


@pytest.mark.parametrize("name", ["solid", "muted"])
@pytest.mark.parametrize("size", [24, 50, 200])
def test_covers_are_told_at_any_size(name: str, size: int) -> None:
    face, image = face_of(size), head(size)
    painted = COVERS[name].paint(image, face.landmarks_px, face.box_px)
    assert not is_under_cover(image, face)
    assert is_under_cover(painted, face)


def test_a_muted_cover_is_told_where_detectors_place_the_face_a_little_elsewhere() -> None:
    face, image = face_of(100), head(100)
    painted = COVERS["muted"].paint(image, face.landmarks_px, face.box_px)
    beside = Face(face.box_px + 3, face.landmarks_px + 2, 0.9)
    assert is_under_cover(painted, beside)


def test_a_grey_picture_of_another_face_is_no_cover() -> None:
    grey = cv2.cvtColor(head(100), cv2.COLOR_BGR2GRAY)[::-1]
    assert not is_under_cover(np.repeat(grey[..., None], 3, axis=2), face_of(100))
