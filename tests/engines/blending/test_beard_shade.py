"""The dark of a painted lip and chin becomes as faint as the head's, and nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.blending.beard_shade import beard_shades, shade_gains, without_beard_shade
from engines.stylegan.topology import LIPS_OUTER_SLICE, NOSE_BASE_SLICE, OVAL_SLICE
from tests.engines.stylegan.faces import drawn_face

pytestmark = pytest.mark.unit

SIZE = 192
SKIN = np.array([110.0, 140.0, 190.0], np.float32)
POINTS = np.asarray(drawn_face()[:, :2], np.float32)

Float32 = NDArray[np.float32]


def rows_of() -> tuple[slice, slice]:
    """Rows of the upper lip and of the chin, px."""
    lips, nose = POINTS[LIPS_OUTER_SLICE, 1], POINTS[NOSE_BASE_SLICE, 1]
    chin = POINTS[OVAL_SLICE, 1].max()
    ends = np.array([nose.max(), lips.min(), lips.max(), chin]) * SIZE
    top, bottom, low, end = ends.astype(int).tolist()
    return slice(top, bottom), slice(low + 2, end - 2)


def face_with(lip: float, chin: float) -> Float32:
    """Skin with so much of its brightness on upper lip and chin."""
    pixels = np.ones((SIZE, SIZE, 3), np.float32) * SKIN
    for rows, level in zip(rows_of(), (lip, chin), strict=True):
        pixels[rows, 60:132] *= np.float32(level)
    return pixels


def test_moustache_becomes_as_faint_as_the_heads_lip() -> None:
    pixels, wanted = face_with(0.6, 1.0), beard_shades(face_with(0.9, 1.0), POINTS)
    own = beard_shades(pixels, POINTS)
    assert own[0] > wanted[0] + 0.2
    without_beard_shade(pixels, POINTS, shade_gains(own, wanted))
    assert beard_shades(pixels, POINTS)[0] == pytest.approx(wanted[0], abs=0.09)


def test_lip_and_chin_are_told_apart() -> None:
    shade = beard_shades(face_with(1.0, 0.6), POINTS)
    assert shade[1] > 0.3 > 0.05 > abs(shade[0])
    pixels = face_with(0.6, 0.6)
    without_beard_shade(pixels, POINTS, np.array([1.0, 0.2], np.float32))
    left = beard_shades(pixels, POINTS)
    assert left[0] > 0.3 > 0.2 > left[1]


def test_head_with_a_beard_leaves_the_shade_as_it_is() -> None:
    pixels = face_with(0.8, 0.8)
    gains = shade_gains(beard_shades(pixels, POINTS), beard_shades(face_with(0.5, 0.5), POINTS))
    without_beard_shade(pixels, POINTS, gains)
    assert np.array_equal(pixels, face_with(0.8, 0.8))


def test_nothing_but_lip_and_chin_changes() -> None:
    pixels = face_with(0.6, 0.6)
    pixels[:70] *= np.float32(0.5)
    before = pixels.copy()
    without_beard_shade(pixels, POINTS, np.array([0.2, 0.2], np.float32))
    top = int(POINTS[NOSE_BASE_SLICE, 1].min() * SIZE) - 20
    assert np.allclose(pixels[:top], before[:top], atol=0.5)
    assert (pixels >= before - 1e-3).all()


def test_small_faces_tell_nothing() -> None:
    small = beard_shades(np.full((24, 24, 3), 90, np.uint8), POINTS)
    assert np.isnan(small).all()
    assert shade_gains(small, small).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("away", [0.8, -5.0, 40.0])
def test_faces_beyond_the_picture_change_nothing_into_no_number(away: float) -> None:
    far, pixels = np.asarray(POINTS + np.float32(away), np.float32), face_with(0.6, 0.6)
    gains = shade_gains(beard_shades(pixels, far), beard_shades(face_with(1.0, 1.0), far))
    without_beard_shade(pixels, far, gains)
    assert np.isfinite(gains).all()
    assert np.isfinite(pixels).all()
