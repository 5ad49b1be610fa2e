"""Outlines far beyond the picture are drawn at once, those within it to a part of a pixel."""

from __future__ import annotations

import time

import cv2
import numpy as np
import pytest

from engines.stylegan.drawing import filled_outline, spread

pytestmark = pytest.mark.unit


def test_an_outline_is_drawn_to_a_part_of_a_pixel() -> None:
    square = np.array([[2, 2], [6, 2], [6, 6], [2, 6]], np.float32)
    whole = filled_outline(square, (12, 12)) / 255
    moved = filled_outline(square + np.float32(0.25), (12, 12)) / 255
    middle = [(one.sum(0) * np.arange(12)).sum() / one.sum() for one in (whole, moved)]
    assert middle[1] - middle[0] == pytest.approx(0.25, abs=0.05)


@pytest.mark.parametrize("far", [1e6, 1e7, 1e8, 1e15, 1e30])
def test_points_far_away_take_no_time(far: float) -> None:
    random = np.random.default_rng(1)
    started = time.process_time()
    for _ in range(20):
        outline = random.random((20, 2)).astype(np.float32) * 100
        outline[random.integers(0, 20, 6)] = random.standard_normal((6, 2)) * far
        assert filled_outline(outline, (40, 80)).shape == (40, 80)
    assert time.process_time() - started < 10


@pytest.mark.parametrize(("size", "channels"), [(96, 3), (64, 1), (31, 2)])
def test_values_are_spread_as_blurs_spread_them(size: int, channels: int) -> None:
    """The same as one blur after the other, which is slower."""
    random = np.random.default_rng(2)
    values = random.normal(size=(size, size, channels)).astype(np.float32)
    weight = (random.random((size, size)) > 0.9).astype(np.float32)
    deviations = ((0.03, 1.0), (0.1, 0.1), (0.3, 0.01))
    total, share = np.zeros_like(values), np.zeros_like(weight)
    for deviation, counts in deviations:
        known = (values * weight[..., None]).astype(np.float32)
        blurred = cv2.GaussianBlur(known, (0, 0), deviation * size)
        total += counts * blurred.reshape(values.shape)
        share += counts * cv2.GaussianBlur(weight, (0, 0), deviation * size)
    expected = total / np.maximum(share, 1e-6)[..., None]
    found = spread(values, weight, deviations).reshape(values.shape)
    assert np.allclose(found, expected, atol=1e-4)


def test_nothing_known_spreads_nothing() -> None:
    values = np.ones((16, 16, 3), np.float32)
    assert not spread(values, np.zeros((16, 16), np.float32), ((0.1, 1.0),)).any()
