"""Irises look where the pupils are, keep within the lids, and go with the surrogate."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import engines
from engines.stylegan.eyes import EYE_TRAITS, draw_eyes, draw_shut_eyes
from engines.stylegan.shape import load_shape_model, points_at_rest
from engines.stylegan.topology import (
    BROW_LEFT_SLICE,
    EYE_LEFT_SLICE,
    EYE_RIGHT_SLICE,
    PUPIL_IMAGE_LEFT,
    PUPIL_IMAGE_RIGHT,
)

pytestmark = pytest.mark.unit

SIDE = 256
SKIN = np.array([110.0, 140.0, 190.0], np.float32)
MIDDLING = np.full(EYE_TRAITS, 0.5, np.float32)
EYES = ((EYE_LEFT_SLICE, PUPIL_IMAGE_LEFT), (EYE_RIGHT_SLICE, PUPIL_IMAGE_RIGHT))

Float32 = NDArray[np.float32]


def lids(middle: tuple[float, float], half: float, gap: float) -> Float32:
    """An almond float32[16, 3] from the outer corner along the lower lid, crop units."""
    way = np.linspace(-1, 1, 9)
    lower = np.stack([middle[0] + half * way, middle[1] + gap / 2 * (1 - way**2)], axis=1)
    upper = np.stack([middle[0] + half * way, middle[1] - gap / 2 * (1 - way**2)], axis=1)
    ring = np.concatenate([lower, upper[-2:0:-1]])
    return np.asarray(np.pad(ring, ((0, 0), (0, 1))), np.float32)


def face(gap: float = 0.07, gaze: float = 0.0) -> Float32:
    """Points of a face of which only the eyes matter."""
    points = np.zeros((PUPIL_IMAGE_RIGHT + 1, 3), np.float32)
    for (eye, pupil), x in zip(EYES, (0.3, 0.7), strict=True):
        points[eye] = lids((x, 0.37), 0.09, gap)
        points[pupil] = (x + gaze, 0.37, 0)
    return points


def drawn(points: Float32, traits: Float32 = MIDDLING) -> Float32:
    pixels = np.broadcast_to(SKIN, (SIDE, SIDE, 3)).astype(np.float32)
    draw_eyes(pixels, points, traits)
    return pixels


def darkest(pixels: Float32, at: float) -> float:
    """Column of the darkest place of the eye at this column, both crop units."""
    span = slice(round((at - 0.1) * SIDE), round((at + 0.1) * SIDE))
    row = pixels[round(0.36 * SIDE) : round(0.39 * SIDE), span].mean(axis=(0, 2))
    weight = np.clip(row.mean() - row, 0, None)
    middle = (weight * np.arange(len(row))).sum() / weight.sum()
    return float((middle + span.start + 0.5) / SIDE)


@pytest.mark.parametrize("gaze", [-0.04, 0.0, 0.04])
def test_irises_are_where_the_pupils_are(gaze: float) -> None:
    pixels = drawn(face(gaze=gaze))
    for middle in (0.3, 0.7):
        assert darkest(pixels, middle) == pytest.approx(middle + gaze, abs=0.012)


def test_nothing_is_drawn_outside_the_lids() -> None:
    changed = np.abs(drawn(face()) - SKIN).max(axis=2) > 1
    rows, columns = np.nonzero(changed)
    assert rows.min() / SIDE > 0.37 - 0.07 / 2 - 0.02
    assert rows.max() / SIDE < 0.37 + 0.07 / 2 + 0.02
    assert np.minimum(abs(columns / SIDE - 0.3), abs(columns / SIDE - 0.7)).max() < 0.11


def test_shut_eyes_stay_shut_and_open_ones_open_bit_by_bit() -> None:
    change = [np.abs(drawn(face(gap)) - SKIN).sum() for gap in (0.0, 0.01, 0.015, 0.02, 0.03)]
    assert change[:2] == [0.0, 0.0]
    assert change == sorted(change)
    assert change[-1] > 0


def test_an_eye_seen_edge_on_is_left_alone() -> None:
    points = face()
    points[EYE_LEFT_SLICE, 2] = np.linspace(0, 1.0, 16)
    points[EYE_LEFT_SLICE, 2][8] = 1.0
    pixels = drawn(points)
    assert np.array_equal(pixels[:, : SIDE // 2], np.broadcast_to(SKIN, (SIDE, SIDE // 2, 3)))
    assert not np.array_equal(pixels[:, SIDE // 2 :], np.broadcast_to(SKIN, (SIDE, SIDE // 2, 3)))


@pytest.mark.parametrize("trait", range(EYE_TRAITS))
def test_every_trait_shows(trait: int) -> None:
    other = MIDDLING.copy()
    other[trait] = 1.0
    assert np.abs(drawn(face(), other) - drawn(face())).max() > 3


@pytest.mark.parametrize("at", [-2.0, -0.02, 1.02, 3.0, np.float32(1e6)])
def test_eyes_beyond_the_picture_harm_nothing(at: float) -> None:
    points = face()
    points[EYE_LEFT_SLICE, 0] += at - 0.3
    pixels = drawn(points)
    assert np.isfinite(pixels).all()
    assert not np.array_equal(pixels[:, SIDE // 2 :], np.broadcast_to(SKIN, (SIDE, SIDE // 2, 3)))


def test_eyes_of_the_mean_face_are_drawn() -> None:
    shape = load_shape_model(Path(engines.__path__[0]) / "weights" / "shape.npz")
    assert np.abs(drawn(points_at_rest(shape)[0]) - SKIN).max() > 20


def test_eyes_that_were_painted_well_stay() -> None:
    points = face()
    pixels = drawn(points)
    for middle in (0.3, 0.7):
        rows, columns = np.ogrid[:SIDE, :SIDE]
        near = np.hypot(rows / SIDE - 0.37, columns / SIDE - middle) < 0.04
        pixels[near] = SKIN * 0.2
    before = pixels.copy()
    draw_eyes(pixels, points, MIDDLING)
    assert np.array_equal(pixels, before)


def test_more_is_drawn_the_paler_the_irises_are() -> None:
    points = face()
    eyes = np.abs(drawn(points) - SKIN).max(axis=2) > 3
    change = []
    for shade in (0.45, 0.6, 0.68):
        pixels = np.broadcast_to(SKIN, (SIDE, SIDE, 3)).astype(np.float32)
        pixels[eyes] *= shade
        before = pixels.copy()
        draw_eyes(pixels, points, MIDDLING)
        change.append(float(np.abs(pixels - before).sum()))
    assert change[0] == 0.0
    assert 0.0 < change[1] < change[2]


def test_an_eye_is_drawn_about_its_middle_to_a_part_of_a_pixel() -> None:
    changed = np.abs(drawn(face()) - SKIN).max(axis=2) > 1
    seen = np.flatnonzero(changed[:, : SIDE // 2].any(axis=0)) + 0.5
    assert (seen[0] + seen[-1]) / 2 == pytest.approx(0.3 * SIDE, abs=0.3)


def test_lashes_are_drawn_over_shut_eyes_alone() -> None:
    """What of a texture's eye shines through between two lids is hidden."""
    pixels = np.broadcast_to(SKIN, (SIDE, SIDE, 3)).astype(np.float32)
    row, (left, right) = round(0.37 * SIDE), (round(x * SIDE) for x in (0.3, 0.7))
    pixels[row, left - 15 : left + 15] = 255
    draw_shut_eyes(pixels, face(gap=0.0), np.array([1.0, 0.2], np.float32))
    assert (pixels[row, left - 10 : left + 10] < SKIN).all()
    assert np.array_equal(
        pixels[:, right - 30 :], np.broadcast_to(SKIN, (SIDE, SIDE, 3))[:, right - 30 :]
    )
    far = face(gap=0.0) + np.float32(9)
    draw_shut_eyes(pixels, far, np.ones(2, np.float32))


def test_a_shut_lid_is_smooth_skin_and_its_brow_stays() -> None:
    """The planted fault: lashes and shade of an open lid, drawn wide over the shut eye."""
    pixels = np.broadcast_to(SKIN, (SIDE, SIDE, 3)).astype(np.float32)
    points = face(gap=0.0)
    row, left = round(0.37 * SIDE), round(0.3 * SIDE)
    points[BROW_LEFT_SLICE, 0] = np.linspace(0.2, 0.4, 10)
    points[BROW_LEFT_SLICE, 1] = np.tile([0.24, 0.27], 5)
    brow = np.s_[round(0.25 * SIDE) : round(0.26 * SIDE), left - 12 : left + 12]
    smears = np.s_[row - 12 : row - 6, left - 12 : left + 12]
    pixels[smears] = pixels[brow] = 40
    draw_shut_eyes(pixels, points, np.array([1.0, 0.0], np.float32))
    assert pixels[smears].mean() > 0.85 * SKIN.mean()
    assert pixels[brow].mean() < 60


def test_what_is_open_of_a_lowered_eye_stays() -> None:
    """The planted fault: skin laid over half-shut eyes made them hazy."""
    pixels = np.broadcast_to(SKIN, (SIDE, SIDE, 3)).astype(np.float32)
    points = face(gap=0.05)
    row, left = round(0.37 * SIDE), round(0.3 * SIDE)
    pixels[row - 3 : row + 3, left - 6 : left + 6] = 30
    before = pixels.copy()
    draw_shut_eyes(pixels, points, np.array([0.5, 0.5], np.float32))
    iris = np.s_[row - 1 : row + 1, left - 2 : left + 2]
    assert pixels[iris] == pytest.approx(before[iris], abs=25)
