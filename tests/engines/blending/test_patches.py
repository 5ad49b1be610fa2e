"""Patches are drawn out to landmarks a little beside them, and to no others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engines.blending.patches import Patch, defect_of, hides, identity_mask_of, reaching
from engines.face.alignment import kveil_from_landmarks
from engines.types import Face

pytestmark = pytest.mark.unit

SIZE = 128
_PARTS = np.array([[0.3, 0.37], [0.7, 0.37], [0.5, 0.6], [0.36, 0.78], [0.64, 0.78]], np.float32)
_CROP_PX = 100
_OUTLINE = np.array([[0.2, 0.25], [0.8, 0.25], [0.8, 0.6], [0.66, 0.8], [0.2, 0.9]], np.float32)


def face(mouth_corner: float) -> Face:
    """A face whose left corner of the mouth lies so far to the side, crop units."""
    parts = _PARTS.copy()
    parts[4, 0] = mouth_corner
    return Face(np.array([10, 10, 90, 95], np.float32), parts * _CROP_PX, 0.9)


def patch() -> Patch:
    """Opaque on its outline alone."""
    place = kveil_from_landmarks(_PARTS * np.float32(_CROP_PX), SIZE)
    pixels = np.random.default_rng(0).uniform(0, 255, (SIZE, SIZE, 3)).astype(np.float32)
    made = Patch(pixels, np.zeros((SIZE, SIZE), np.float32), place, _OUTLINE.copy())
    made.alpha[identity_mask_of(made, SIZE)] = 1
    return made


def test_a_landmark_inside_changes_nothing() -> None:
    made = patch()
    assert hides(face(0.62), made)
    assert reaching(face(0.62), made) is made


def test_a_landmark_a_little_beside_is_hidden_too() -> None:
    beside = face(0.71)
    assert not hides(beside, patch())
    drawn = reaching(beside, patch())
    assert hides(beside, drawn)
    assert defect_of(drawn) == ""
    assert (drawn.alpha >= patch().alpha).all()
    assert ((drawn.alpha == 1) & (patch().alpha < 1)).mean() < 0.03


def test_a_landmark_as_far_beside_a_small_face_is_hidden_too_and_of_a_large_one_is_not() -> None:
    """The planted fault: the noise of a small face's landmarks let its cover flash up."""
    for scale, is_hidden in ((1.0, False), (0.4, True)):
        seen, made = face(0.78), patch()
        small = replace(seen, box_px=seen.box_px * scale, landmarks_px=seen.landmarks_px * scale)
        place = made.crop_from_frame.copy()
        place[:, :2] /= np.float32(scale)
        assert hides(small, reaching(small, replace(made, crop_from_frame=place))) == is_hidden


def test_a_landmark_far_off_is_not_reached_for() -> None:
    """The planted fault: a patch painted on another place than the face."""
    far = face(0.9)
    assert not hides(far, reaching(far, patch()))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_senseless_numbers_are_left_for_the_checks(value: float) -> None:
    spoiled = patch()
    assert spoiled.identity is not None
    spoiled.identity[0] = value
    assert reaching(face(0.71), spoiled) is spoiled
    nowhere = face(0.71)
    nowhere.landmarks_px[4] = value
    made = patch()
    assert reaching(nowhere, made) is made
