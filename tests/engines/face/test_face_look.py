"""Crops have room for chins: of long faces and turned heads, too."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from engines.face.control_reading import reading_eyes
from engines.face.face_look import (
    PAINTED_EYES,
    eyes_closer,
    eyes_of,
    painted_points,
    painting_place,
)
from engines.stylegan.topology import EYE_LEFT_SLICE, EYE_RIGHT_SLICE, OVAL_SLICE, POINTS
from engines.types import Face

pytestmark = pytest.mark.unit

Float32 = npt.NDArray[np.float32]


def face(chin: float = 1.6, turned: float = 0.0) -> Float32:
    """A face in distances of its eyes: where its chin is, and how much deeper its right eye."""
    shape = np.zeros((POINTS, 3), np.float32)
    shape[EYE_LEFT_SLICE, 0], shape[EYE_RIGHT_SLICE, 0] = -0.5, 0.5
    shape[EYE_RIGHT_SLICE, 2] = turned
    shape[OVAL_SLICE, 1] = np.linspace(-0.8, chin, OVAL_SLICE.stop - OVAL_SLICE.start)
    return shape


def test_eyes_of_a_short_face_that_looks_at_the_camera_lie_in_their_places() -> None:
    assert eyes_closer(face()) == 1
    assert np.allclose(eyes_of(painted_points(face())), PAINTED_EYES, atol=1e-5)


def test_turned_heads_and_long_faces_get_wider_crops() -> None:
    assert eyes_closer(face(chin=1.4, turned=0.75)) == pytest.approx(0.8)
    assert eyes_closer(face(turned=9.0)) == pytest.approx(0.6)


@pytest.mark.parametrize(("turned", "lower"), [(0.0, 0.1), (0.7, 0.26)])
def test_chins_have_room_as_far_below_as_they_are_read_too_high(
    turned: float, lower: float
) -> None:
    long = face(chin=2.0, turned=turned)
    unit = eyes_closer(long) * float(PAINTED_EYES[1, 0] - PAINTED_EYES[0, 0])
    chin = painted_points(long)[OVAL_SLICE, 1].max() + lower * unit
    assert 0.95 < chin < 0.99


def test_faces_that_reach_far_aside_have_room_there() -> None:
    wide = face()
    wide[OVAL_SLICE, 0] = -1.9
    assert 0.0 < painted_points(wide)[OVAL_SLICE, 0].min() < 0.02


def test_crop_of_a_long_face_is_where_its_landmarks_say() -> None:
    motion = np.array([100, 50, 40, 0], np.float32)
    points = painted_points(face(chin=2.2))
    place = painting_place(motion, points, 128)
    chin_px = place @ np.array([100, 50 + 2.2 * 40, 1], np.float32)
    assert chin_px[1] == pytest.approx(128 * points[OVAL_SLICE, 1].max(), abs=0.01)


@pytest.mark.parametrize(
    ("below", "apart"), [(37.0, 0.4 * 0.86), (45.0, 0.4 * 0.95 * 40 / 45), (99, 0.2)]
)
def test_crop_that_is_read_is_wider_where_the_mouth_is_far_below(
    below: float, apart: float
) -> None:
    points = np.array([[0, 0], [40, 0], [20, 20], [5, below], [35, below]], np.float32)
    eyes = reading_eyes(Face(np.array([0, 0, 40, 90], np.float32), points, 1.0))
    assert eyes[1, 0] - eyes[0, 0] == pytest.approx(apart, abs=1e-4)
    assert eyes[:, 1].tolist() == pytest.approx([0.37, 0.37])
