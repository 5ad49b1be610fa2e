"""Outlines far beyond the picture are drawn at once, those within it to a part of a pixel."""

from __future__ import annotations

import time

import numpy as np
import pytest

from engines.stylegan.drawing import filled_outline

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
    started = time.perf_counter()
    for _ in range(20):
        outline = random.random((20, 2)).astype(np.float32) * 100
        outline[random.integers(0, 20, 6)] = random.standard_normal((6, 2)) * far
        assert filled_outline(outline, (40, 80)).shape == (40, 80)
    assert time.perf_counter() - started < 2
