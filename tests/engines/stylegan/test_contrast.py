"""About as much contrast as the subject has, within bounds of the surrogate's own."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from engines.errors import EngineFault
from engines.stylegan.contrast import UNBOUNDED, contrast_under_light, with_contrast

pytestmark = pytest.mark.unit

SIDE, SMALL = 128, 64
LIGHT = np.full((2, 4, 4, 3), 0.1, np.float32)
INSIDE = np.ones((SMALL, SMALL), np.float32)

Float32 = npt.NDArray[np.float32]


def painted(strength: float) -> Float32:
    """A face under LIGHT with blotches of so many grey levels, float32[SIDE, SIDE, 3]."""
    blotches = np.random.default_rng(3).choice([-1.0, 1.0], (SMALL // 4, SMALL // 4, 1))
    wide = blotches.repeat(SIDE * 4 // SMALL, axis=0).repeat(SIDE * 4 // SMALL, axis=1)
    level = (float(LIGHT[0, 0, 0, 0]) + 1) * 127.5
    return np.asarray((level + strength * wide).repeat(3, axis=2), np.float32)


def small(pixels: Float32) -> Float32:
    halves = pixels.reshape(SMALL, SIDE // SMALL, SMALL, SIDE // SMALL, 3).mean(axis=(1, 3))
    return np.asarray(halves / 127.5 - 1, np.float32)


def contrast(pixels: Float32) -> float:
    return contrast_under_light(small(pixels), LIGHT, INSIDE)


def calm(pixels: Float32, bound: float) -> float:
    return with_contrast(pixels, small(pixels), LIGHT, INSIDE, bound)


def test_contrast_grows_with_the_difference_to_the_light() -> None:
    assert contrast(painted(0)) == pytest.approx(0, abs=1e-4)
    assert contrast(painted(40)) == pytest.approx(2 * contrast(painted(20)), rel=1e-3)


def test_contrast_says_nothing_of_how_bright_the_light_is() -> None:
    dark, bright = LIGHT - 0.5, LIGHT + 0.3
    told = [
        contrast_under_light((small(painted(30)) + 1.1) * ratio - 1.1, light, INSIDE)
        for light in (dark, bright)
        for ratio in [(float(light[0, 0, 0, 0]) + 1.1) / (float(LIGHT[0, 0, 0, 0]) + 1.1)]
    ]
    assert told[0] == pytest.approx(told[1], rel=1e-3)


def test_more_contrast_than_the_subjects_is_taken_away() -> None:
    face = painted(50)
    bound = 0.7 * contrast(face)
    share = calm(face, bound)
    assert share < 1
    assert contrast(face) == pytest.approx(1.1 * bound, rel=0.01)


def test_a_little_more_contrast_than_the_subjects_stays() -> None:
    face = painted(20)
    assert calm(face, 0.95 * contrast(face)) == 1
    assert np.array_equal(face, painted(20))


def test_less_contrast_than_the_subjects_is_raised() -> None:
    face = painted(20)
    bound = 1.05 * contrast(face)
    assert calm(face, bound) == pytest.approx(1.05, rel=0.01)
    assert contrast(face) == pytest.approx(bound, rel=0.01)


def test_a_surrogate_is_raised_by_a_tenth_at_most() -> None:
    """Else a subject's beard or glasses, which make contrast, would be told by the surrogate."""
    told = []
    for bound in (0.3, 0.6):
        face = painted(20)
        assert calm(face, bound) == 1.1
        told.append(face)
    assert np.array_equal(told[0], told[1])


def test_a_third_of_the_contrast_is_kept_about_at_least() -> None:
    face = painted(60)
    assert calm(face, 0.0) == 0.3
    assert contrast(face) == pytest.approx(0.3 * contrast(painted(60)), rel=0.01)


def test_unbounded_bounds_nothing() -> None:
    face = painted(110)
    assert calm(face, UNBOUNDED) == 1


@pytest.mark.parametrize("broken", [float("nan"), float("inf")])
def test_contrast_that_is_no_number_covers_the_face(broken: float) -> None:
    with pytest.raises(EngineFault, match="covered"):
        calm(painted(20), broken)
