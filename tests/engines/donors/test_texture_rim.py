from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from engines.donors.texture_rim import with_filled_rim
from tests.engines.stylegan.faces import drawn_face

pytestmark = pytest.mark.unit

SIZE = 128
POINTS = drawn_face()[:, :2]
JAW = np.s_[105:112, 26:32]
"""A place of a jaw, away from the mouth, where textures still are as they were."""
CHIN = np.s_[121:, 56:72]
"""Where a chin's texture is plain."""

Float32 = npt.NDArray[np.float32]


def hairs() -> Float32:
    """A texture with stripes of hairs on its lower half, and none where textures are plain."""
    texture = np.zeros((SIZE, SIZE, 3), np.float32)
    texture[64:114, ::2] = -0.4
    texture[64:114, 1::2] = 0.1
    return texture


def test_beards_go_on_to_the_end_of_a_chin() -> None:
    assert np.abs(hairs()[CHIN]).max() == 0
    assert with_filled_rim(hairs(), POINTS)[CHIN].std() > 0.05


def test_chins_without_a_beard_get_nothing_put_on() -> None:
    texture = hairs() * np.float32(0.05)
    assert np.allclose(with_filled_rim(texture, POINTS)[CHIN], 0, atol=1e-6)


def test_a_tuft_below_the_lip_does_not_become_a_stripe() -> None:
    """The planted fault: hairs in the middle of a chin alone, which the mean took for a beard."""
    tuft = hairs() * 3
    tuft[:, :58] = tuft[:, 70:] = 0
    assert np.allclose(with_filled_rim(tuft, POINTS)[CHIN], 0, atol=1e-6)


def test_shade_of_a_jaw_without_a_beard_is_taken_away() -> None:
    shaded = np.zeros((SIZE, SIZE, 3), np.float32)
    shaded[96:, :40] = -0.3
    assert with_filled_rim(shaded, POINTS)[JAW].mean() > -0.15
    assert with_filled_rim(shaded + hairs(), POINTS)[JAW].mean() < -0.3


def test_ends_of_brows_are_taken_off_the_rim_and_eyes_stay() -> None:
    dark = np.full((SIZE, SIZE, 3), -0.5, np.float32)
    made = with_filled_rim(dark, POINTS)
    brow, eye = np.s_[30:36, 17:19], np.s_[45:50, 35:42]
    assert np.abs(made[brow]).max() < 0.4
    assert np.allclose(made[eye], dark[eye])


@pytest.mark.parametrize("size", [8, 64])
def test_textures_of_any_size_stay_finite(size: int) -> None:
    texture = np.random.default_rng(2).normal(0, 0.5, (size, size, 3)).astype(np.float32)
    made = with_filled_rim(texture, POINTS)
    assert made.shape == texture.shape
    assert np.isfinite(made).all()
