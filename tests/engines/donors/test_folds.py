"""Folds become faint; beards, lips, nostrils and faint folds stay."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from engines.donors.folds import with_faint_folds
from engines.stylegan.pack import bundled_pack
from engines.stylegan.shape import load_shape_model, points_at_rest
from engines.stylegan.topology import LIPS_OUTER_SLICE, NOSE_BASE_SLICE
from tests.engines.stylegan.faces import Float32

pytestmark = pytest.mark.unit

SIZE = 256


@pytest.fixture(scope="module")
def face() -> Float32:
    return np.asarray(
        points_at_rest(load_shape_model(bundled_pack() / "shape.npz"))[0, :, :2], np.float32
    )


def marked(face: Float32, depth: float, width: int, down: float = 0.0) -> Float32:
    """Skin with a dark line from the right wing of the nose past the mouth's corner."""
    skin = np.full((SIZE, SIZE, 3), 0.1, np.float32)
    wing, corner = face[NOSE_BASE_SLICE.stop - 1], face[LIPS_OUTER_SLICE.start + 10]
    ends = [SIZE * np.add(wing, [0.02, down]), SIZE * np.add(corner, [0.05, down])]
    first, last = (tuple(np.rint(end).astype(int).tolist()) for end in ends)
    cv2.line(skin, first, last, (0.1 - depth,) * 3, width)
    return cv2.GaussianBlur(skin, (0, 0), 0.8).astype(np.float32)


def deepest(texture: Float32) -> float:
    return float(0.1 - texture.min())


def test_a_furrow_beside_the_mouth_becomes_a_faint_fold(face: Float32) -> None:
    furrow = marked(face, 0.5, 5)
    assert deepest(furrow) > 0.35
    assert 0.06 < deepest(with_faint_folds(furrow, face)) < 0.25


def test_skin_and_faint_folds_stay(face: Float32) -> None:
    for depth in (0.0, 0.05):
        skin = marked(face, depth, 5)
        assert np.abs(with_faint_folds(skin, face) - skin).max() < 0.01


def test_what_is_as_wide_as_a_beard_stays(face: Float32) -> None:
    beard = marked(face, 0.5, 34)
    assert deepest(with_faint_folds(beard, face)) > 0.45


def test_what_lies_elsewhere_stays(face: Float32) -> None:
    """Brows, lashes and the line between the lips are dark and thin as well."""
    brow = marked(face, 0.5, 5, down=-0.35)
    assert np.abs(with_faint_folds(brow, face) - brow).max() < 0.01
