"""Pictures as from far away: soft, in range, of the same size, and all kinds of them."""

import cv2
import numpy as np
import pytest

from training.degrading import far_away, streak

pytestmark = pytest.mark.unit


def stripes(size: int = 128) -> np.ndarray:
    """Upright stripes of 8 px, float32[S, S, 3] of 0.2 and 0.8."""
    picture = np.full((size, size, 3), 0.2, np.float32)
    picture[:, np.arange(size) // 8 % 2 == 1] = 0.8
    return picture


def test_far_pictures_are_softer_and_the_near_one_stays_as_it_was() -> None:
    near, random = stripes(), np.random.default_rng(0)
    kept = near.copy()
    sharpest = np.abs(np.diff(near, axis=1)).max()
    slopes = []
    for _ in range(60):
        far = far_away(random, near)
        assert far.shape == near.shape
        assert far.dtype == np.float32
        assert far.min() >= 0
        assert far.max() < 1.4
        slopes.append(np.abs(np.diff(far, axis=1)).max() / sharpest)
    assert np.array_equal(near, kept)
    assert np.median(slopes) < 0.5
    assert max(slopes) > 0.7, "some are hardly degraded"
    assert min(slopes) < 0.05, "some show hardly anything"


def test_a_streak_takes_from_no_picture_its_brightness() -> None:
    random = np.random.default_rng(1)
    for way in (1.0, 6.0, 27.0):
        kernel = streak(random, way)
        assert kernel.sum() == pytest.approx(1, abs=1e-5)
        assert kernel.min() >= 0
        assert kernel.shape[0] % 2 == 1
    flat = np.full((32, 32, 3), 0.5, np.float32)
    assert np.allclose(cv2.filter2D(flat, -1, streak(random, 9.0)), 0.5, atol=1e-5)
