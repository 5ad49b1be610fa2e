"""Smudges at temples become skin; brows, lids, wrinkles and what lies elsewhere stay."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from engines.donors.bare_temples import with_bare_temples
from engines.stylegan.pack import bundled_pack
from engines.stylegan.shape import load_shape_model, points_at_rest
from engines.stylegan.topology import BROW_RIGHT_SLICE, EYE_RIGHT_SLICE, NOSE_BASE_SLICE
from tests.engines.stylegan.faces import Float32

pytestmark = pytest.mark.unit

SIZE = 256
SKIN = 0.1


@pytest.fixture(scope="module")
def face() -> Float32:
    return np.asarray(
        points_at_rest(load_shape_model(bundled_pack() / "shape.npz"))[0, :, :2], np.float32
    )


def temple(face: Float32) -> Float32:
    """A place below the end of the right brow, beside the eye, texture units."""
    brow = face[BROW_RIGHT_SLICE]
    return np.asarray(brow[brow[:, 0].argmax()] + [-0.01, 0.06], np.float32)


def smudged(at: Float32, depth: float, radius: int) -> Float32:
    """Skin with a dark disc."""
    texture = np.full((SIZE, SIZE, 3), SKIN, np.float32)
    x, y = np.rint(at * SIZE).astype(int).tolist()
    cv2.circle(texture, (x, y), radius, (SKIN - depth,) * 3, -1)
    return np.asarray(cv2.GaussianBlur(texture, (0, 0), 2.0), np.float32)


def deepest(texture: Float32) -> float:
    return float(SKIN - texture.min())


def test_a_smudge_at_a_temple_becomes_skin(face: Float32) -> None:
    """The planted fault: a strand of the donor's hair, dark beside the brow of a fair head."""
    texture = smudged(temple(face), 0.4, 6)
    assert deepest(texture) > 0.3
    assert deepest(with_bare_temples(texture, face)) < 0.2


def test_faint_shades_and_fine_lines_stay(face: Float32) -> None:
    texture = smudged(temple(face), 0.05, 8)
    assert np.abs(with_bare_temples(texture, face) - texture).max() < 0.02
    lined = np.full((SIZE, SIZE, 3), SKIN, np.float32)
    x, y = np.rint(temple(face) * SIZE).astype(int).tolist()
    cv2.line(lined, (x - 8, y), (x + 8, y), (SKIN - 0.2,) * 3, 1)
    assert deepest(with_bare_temples(lined, face)) > 0.12


def test_eyes_brows_and_what_lies_below_stay(face: Float32) -> None:
    for part in (BROW_RIGHT_SLICE, EYE_RIGHT_SLICE, NOSE_BASE_SLICE):
        texture = smudged(face[part].mean(axis=0), 0.5, 3)
        assert np.abs(with_bare_temples(texture, face) - texture).max() < 0.02


def test_the_rim_of_a_texture_stays_plain(face: Float32) -> None:
    texture = np.zeros((SIZE, SIZE, 3), np.float32)
    texture[60:200, 60:200] = SKIN
    made = with_bare_temples(texture, face)
    assert np.abs(made[:8]).max() < 0.01
    assert np.abs(made[:, :8]).max() < 0.01
