from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.ear_shape import EAR_SIZE, ear_picture
from engines.ears import NO_EARS, draw_ears, ears_of
from engines.hairline import Hair
from engines.polar import CELL, DOWN, GRID, RAYS, SIDE, STEPS, distances, wave
from tests.engines.heads import SKIN

pytestmark = pytest.mark.unit

Float32 = NDArray[np.float32]

WALL = np.array([200, 195, 190], np.float32)
FACE = np.full(RAYS, 0.38, np.float32)
PATCH = np.full(RAYS, 0.44, np.float32)
PLACE = np.array([[1, 0, 0], [0, 1, 0]], np.float32)
"""A window in which a pixel is a cell of the grid."""


def no_hair() -> Hair:
    none = np.zeros(RAYS, np.float32)
    return Hair(PATCH, PATCH, np.zeros((RAYS, STEPS), np.float32), none)


def around(colour: Float32 = WALL) -> Float32:
    return np.broadcast_to(colour, (RAYS, STEPS, 3)).copy()


def cheeks() -> Float32:
    return np.broadcast_to(SKIN, (RAYS, STEPS, 3)).copy()


def shares(
    seen: Float32 | None = None, hair: Hair | None = None, face: Float32 = FACE
) -> list[float]:
    beside = around() if seen is None else seen
    found = ears_of(beside, cheeks(), hair or no_hair(), face, face + (PATCH - FACE))
    return [round(float(share), 3) for share in found[:, 0]]


def drawn(ears: Float32, softness_px: float = 0.0) -> Float32:
    pixels = np.full((GRID, GRID, 4), 200, np.float32)
    draw_ears(pixels, ears, PLACE, softness_px)
    return pixels


def test_an_ear_is_as_bright_as_skin_darker_in_its_hollow_and_bounded() -> None:
    shade, where = ear_picture()
    assert shade.shape == where.shape == EAR_SIZE
    assert 0.4 < shade.min() < 0.75
    assert 0.85 < float(shade[where > 0.99].mean()) < 1.0
    assert 0.55 < float(where.mean()) < 0.85
    assert not where[[0, -1], -1].any()


def test_both_ears_of_a_head_that_faces_the_camera_are_drawn() -> None:
    assert shares() == [1.0, 1.0]


def test_no_ear_is_drawn_where_hair_lies_beside_the_patch() -> None:
    places = np.zeros((RAYS, STEPS), np.float32)
    places[wave(1) > 0] = distances() > 0.44
    hidden = np.where(wave(1) < 0, 0.05, 0).astype(np.float32)
    assert shares(hair=Hair(PATCH, PATCH, places, np.zeros(RAYS, np.float32))) == [1.0, 0.0]
    assert shares(hair=Hair(PATCH, PATCH, np.zeros_like(places), hidden)) == [0.0, 1.0]


def test_no_ear_is_drawn_over_the_subjects_own() -> None:
    seen = around()
    seen[wave(1) < 0] = SKIN * np.float32(0.9)
    assert shares(seen) == [0.0, 1.0]


def test_a_turned_head_has_no_far_ear_and_one_in_profile_none() -> None:
    turned = FACE * np.where(wave(1) > 0, 0.78, 1).astype(np.float32)
    profile = FACE * np.where(wave(1) > 0, 0.5, 1).astype(np.float32)
    assert shares(face=turned)[0] == 1.0
    assert shares(face=turned)[1] < 0.2
    assert shares(face=profile) == [0.0, 0.0]


def test_ears_have_the_colour_of_the_painted_cheeks_and_nothing_of_what_was_there() -> None:
    seen = around(np.array([10, 200, 30], np.float32))
    first, other = (ears_of(each, cheeks(), no_hair(), FACE, PATCH) for each in (around(), seen))
    assert np.array_equal(first, other)
    assert np.allclose(first[:, 3:], SKIN, rtol=0.1)


def test_ears_lie_beside_the_face_within_the_patch_and_are_mirrored() -> None:
    ears = ears_of(around(), cheeks(), no_hair(), FACE, PATCH)
    changed = (drawn(ears) != 200).any(axis=2)
    rows, columns = np.nonzero(changed)
    out = np.abs(columns + 0.5 - GRID / 2) / CELL
    half, reach = (float((radii * SIDE)[:4].mean()) for radii in (FACE, PATCH))
    assert half - 0.1 < out.min() < half
    assert half + 0.02 < out.max() < reach + 0.05
    assert -0.25 < (rows.min() - GRID / 2) / CELL < -0.15 < 0 < (rows.max() - GRID / 2) / CELL < 0.1
    apart = np.abs(drawn(ears) - drawn(ears)[:, ::-1])[changed]
    assert float(apart.mean()) < 0.15 * float(np.abs(drawn(ears) - 200)[changed].mean())


@pytest.mark.parametrize("jaw", [1.0, 0.95, 0.9, 0.85, 0.8])
def test_lobes_do_not_hang_free_beside_a_narrow_jaw(jaw: float) -> None:
    """The planted fault: what is behind the head shone through between its cheek and its lobe."""
    face = FACE * np.where(DOWN > 0.1, jaw, 1).astype(np.float32)
    row = drawn(ears_of(around(), cheeks(), no_hair(), face, PATCH))[round(GRID / 2 + 0.05 * CELL)]
    lobe = np.abs(np.flatnonzero((row != 200).any(axis=1)) + 0.5 - GRID / 2) / CELL
    assert lobe.min() < jaw * 0.38 - 0.02


def test_ears_are_as_soft_as_the_picture_and_as_strong_as_their_share() -> None:
    ears = ears_of(around(), cheeks(), no_hair(), FACE, PATCH)
    half = ears.copy()
    half[:, 0] = 0.5
    away = 200 - drawn(ears)[..., :3]
    assert np.allclose(200 - drawn(half)[..., :3], away / 2, atol=1e-3)
    soft = 200 - drawn(ears, 1.5)[..., :3]
    assert np.abs(np.diff(soft, axis=1)).max() < 0.8 * np.abs(np.diff(away, axis=1)).max()
    assert np.array_equal(drawn(NO_EARS), np.full((GRID, GRID, 4), 200, np.float32))


@pytest.mark.parametrize("shift", [-60, 60, 5000])
def test_ears_outside_the_window_are_left_out(shift: float) -> None:
    ears = ears_of(around(), cheeks(), no_hair(), FACE, PATCH)
    pixels = np.full((GRID, GRID, 4), 200, np.float32)
    place = PLACE + np.array([[0, 0, shift], [0, 0, 0]], np.float32)
    draw_ears(pixels, ears, place, 0.0)
    assert np.isfinite(pixels).all()
    assert (pixels == 200).all() == (shift == 5000)
