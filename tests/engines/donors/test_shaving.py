"""A donor's moustache is no part of the donor: it would sit on everybody who wears it."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt
import pytest

from engines.donors.shaving import shaved
from engines.stylegan.drawing import LUMA
from engines.stylegan.pack import bundled_pack, read_pack
from engines.stylegan.topology import LIPS_OUTER_SLICE, NOSE_BASE_SLICE
from engines.stylegan.warp import load_texture_frame

pytestmark = pytest.mark.unit

Float32 = npt.NDArray[np.float32]
SIDE = 256
POINTS = load_texture_frame(read_pack(bundled_pack()).path("shape.npz")).points
LIPS = POINTS[LIPS_OUTER_SLICE, :2] * SIDE
NOSE = float(POINTS[NOSE_BASE_SLICE, 1].max()) * SIDE


def mean_face() -> Float32:
    """Skin with lips, and a shadow below the nose, as everybody has."""
    face = np.zeros((SIDE, SIDE, 3), np.float32)
    cv2.fillPoly(face, [LIPS.astype(np.int32)], (0.1, -0.3, -0.3))
    face[int(NOSE) : int(NOSE) + 4, 112:144] -= 0.15
    return np.asarray(cv2.GaussianBlur(face, (0, 0), 2), np.float32)


def with_beard(level: float) -> Float32:
    """The mean face with strokes around the mouth, but not on the lips."""
    face, rng = mean_face(), np.random.default_rng(2)
    hair = np.zeros((SIDE, SIDE), np.float32)
    hair[int(NOSE) + 4 : 232, 80:176] = 1
    cv2.fillPoly(hair, [LIPS.astype(np.int32)], 0.0)
    strokes = rng.normal(1.0, 0.5, (SIDE, SIDE)).astype(np.float32)
    return np.asarray(face - level * (hair * strokes)[..., None], np.float32)


def darkness(texture: Float32) -> float:
    """How much darker the place of the moustache is than cheeks."""
    luma = texture @ LUMA[::-1]
    top = float(LIPS[:, 1].min())
    return float(luma[140:160, 60:90].mean() - luma[int(NOSE) + 5 : int(top) - 2, 100:156].mean())


def test_a_moustache_is_shaved_to_a_shade() -> None:
    """The planted fault: whoever wears the donor has it, women as well."""
    bearded = with_beard(0.4)
    made = shaved(bearded, mean_face(), POINTS)
    assert darkness(bearded) > 0.3
    assert darkness(made) < 0.16


def test_lips_and_what_is_above_the_nose_stay() -> None:
    bearded = with_beard(0.4)
    made = shaved(bearded, mean_face(), POINTS)
    assert np.array_equal(made[: int(NOSE) - 6], bearded[: int(NOSE) - 6])
    middle = LIPS.mean(axis=0).astype(int)
    lips = np.s_[middle[1] - 1 : middle[1] + 2, middle[0] - 6 : middle[0] + 7]
    assert np.abs(made[lips] - bearded[lips]).max() < 0.05


def test_a_face_without_beard_stays_as_it_is() -> None:
    usual = mean_face()
    own = np.asarray(usual - 0.02, np.float32)
    assert np.array_equal(shaved(own, usual, POINTS), own)


def test_a_jaw_in_shade_is_no_beard() -> None:
    """The planted fault: skin put over the shade of a jaw ends in a line across the cheeks."""
    usual = mean_face()
    shady = usual.copy()
    shady[int(NOSE) + 4 : 232, 40:216] -= 0.25
    shady = np.asarray(cv2.GaussianBlur(shady, (0, 0), 6), np.float32)
    assert np.array_equal(shaved(shady, usual, POINTS), shady)


def test_shaved_skin_goes_over_into_cheeks_without_a_line() -> None:
    usual = mean_face()
    changed = (shaved(with_beard(0.4), usual, POINTS) - with_beard(0.4)) @ LUMA[::-1]
    broad = cv2.GaussianBlur(changed, (0, 0), 4)
    assert np.abs(np.diff(broad[:, 70:80], axis=0)).max() < 0.02


def test_the_shaved_skin_keeps_the_shading_of_a_mouth() -> None:
    made = shaved(with_beard(0.4), mean_face(), POINTS) @ LUMA[::-1]
    below, beside = made[int(NOSE) + 1, 120:136].mean(), made[int(NOSE) + 1, 90:100].mean()
    assert below < beside - 0.05
