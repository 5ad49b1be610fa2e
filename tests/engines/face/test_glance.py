"""A face is told from another by a glance a moment before."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from engines.face.glance import ALIKE, glance_of, likeness
from engines.pictures import Picture, picture_from_bgr
from engines.types import Face

pytestmark = pytest.mark.unit


def picture(seed: int, *, shift: int = 0, brighter: int = 0) -> Picture:
    coarse = np.random.default_rng(seed).integers(30, 200, (9, 9, 3)).astype(np.uint8)
    image = cv2.resize(coarse, (180, 180), interpolation=cv2.INTER_CUBIC)
    moved: NDArray[np.uint8] = np.roll(image, shift, axis=1)
    return picture_from_bgr(np.clip(moved.astype(int) + brighter, 0, 255).astype(np.uint8))


def face(left: float = 60.0) -> Face:
    box = np.array([left, 60, left + 48, 120], np.float32)
    return Face(box, np.zeros((5, 2), np.float32), 0.9)


def alike(one: Picture, other: Picture) -> float:
    first, second = glance_of(one, face()), glance_of(other, face())
    assert first is not None
    assert second is not None
    return float(likeness([first], [second])[0, 0])


def test_a_face_that_moved_little_within_its_box_looks_alike() -> None:
    assert alike(picture(1), picture(1, shift=2)) >= ALIKE


def test_another_face_or_the_same_place_in_another_light_does_not() -> None:
    assert alike(picture(1), picture(2)) < 0.6
    assert alike(picture(1), picture(1, brighter=40)) <= 0


def test_a_flat_picture_is_like_nothing() -> None:
    flat = picture_from_bgr(np.full((180, 180, 3), 90, np.uint8))
    assert alike(flat, flat) == 0


def test_all_pairs_are_compared_at_once() -> None:
    glances = [glance_of(picture(seed), face()) for seed in (1, 2)]
    known = [one for one in glances if one is not None]
    found = likeness(known, known)
    assert np.allclose(np.diag(found), 1)
    assert found[0, 1] == pytest.approx(found[1, 0]) == pytest.approx(alike(picture(1), picture(2)))
    assert likeness([], known).shape == (0, 2)


def test_a_face_outside_the_picture_cannot_be_looked_at() -> None:
    assert glance_of(picture(1), face(left=400.0)) is None
    assert glance_of(picture(1), face(left=170.0)) is not None
