"""Brows are read where dark bars lie between skin, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.face.brow_reading import brows_raised, with_brows_raised
from engines.stylegan.topology import BROW_LEFT_SLICE, BROW_RIGHT_SLICE
from tests.engines.stylegan.faces import drawn_face

pytestmark = pytest.mark.unit

SIDE = 128
SKIN = (110, 140, 190)
BOTH = (BROW_LEFT_SLICE, BROW_RIGHT_SLICE)

Float32 = NDArray[np.float32]


def face_with(*lower: float, hair: float = 0.4) -> NDArray[np.uint8]:
    """Skin with brows that lie so much lower than the drawn face's, the left one first."""
    crop = np.full((SIDE, SIDE, 3), SKIN, np.float32)
    for part, by in zip(BOTH, lower, strict=True):
        brow = (drawn_face()[part, :2] + (0, by)) * SIDE
        left, top = np.floor(brow.min(axis=0)).astype(int)
        right, bottom = np.ceil(brow.max(axis=0)).astype(int)
        crop[top:bottom, left:right] *= hair
    return crop.astype(np.uint8)


def moved_by(crop: NDArray[np.uint8], points: Float32) -> Float32:
    """Landmarks whose brows lie where the crop shows them."""
    raised = np.array([brows_raised(crop, points)], np.float32)
    moved = with_brows_raised(points[None], raised)
    return np.asarray(moved[0], np.float32)


def lower_by(crop: NDArray[np.uint8]) -> Float32:
    """How much lower both brows were read than the landmarks had them."""
    points = drawn_face()
    moved = (moved_by(crop, points) - points)[:, 1]
    return np.array([moved[part].mean() for part in BOTH], np.float32)


@pytest.mark.parametrize("raised", [0.02, 0.04])
def test_raised_brows_are_read_where_they_are(raised: float) -> None:
    """The planted fault: raised brows were read on the lids below them."""
    assert lower_by(face_with(-raised, -raised)) == pytest.approx([-raised] * 2, abs=0.012)


def test_brows_that_lie_where_they_were_read_stay() -> None:
    assert np.abs(lower_by(face_with(0, 0))).max() < 0.008


def test_hair_over_one_side_raises_no_brow() -> None:
    """The planted fault: a brow was painted on the edge of a fringe."""
    assert np.abs(lower_by(face_with(-0.05, 0.0))).max() < 0.01
    assert lower_by(face_with(-0.05, -0.03)) == pytest.approx([-0.03, -0.03], abs=0.012)


def test_nothing_but_brows_moves() -> None:
    points = drawn_face()
    moved = moved_by(face_with(-0.04, -0.04), points)
    rest = np.ones(len(points), bool)
    for part in BOTH:
        rest[part] = False
    assert np.array_equal(moved[rest], points[rest])
    assert np.array_equal(moved[:, [0, 2]], points[:, [0, 2]])


def test_a_fringe_and_plain_skin_are_no_brows() -> None:
    assert np.abs(lower_by(face_with(0, 0, hair=1.0))).max() < 1e-6
    fringed = face_with(0, 0)
    top = int(min(drawn_face()[part, 1].min() for part in BOTH) * SIDE)
    fringed[: top - 3] = (20, 25, 30)
    assert np.abs(lower_by(fringed)).max() < 0.01


@pytest.mark.parametrize("at", [-3.0, 0.9, 50.0])
def test_brows_beyond_the_crop_harm_nothing(at: float) -> None:
    points = drawn_face()
    points[:, 1] += np.float32(at)
    assert np.isfinite(moved_by(face_with(0, 0), points)).all()
