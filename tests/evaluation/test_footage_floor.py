"""What strangers and surroundings reach, by size."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.footage_floor import FootageFloor
from tests.evaluation.fakes import PixelJudge

pytestmark = pytest.mark.unit


def floor_of(faces: int, *, size_px: float = 50, scatter: float = 0.02) -> FootageFloor:
    """The floor of faces with four strangers each, whose cosines scatter around 0.5."""
    random = np.random.default_rng(0)
    floor = FootageFloor(PixelJudge(threshold=0.3))
    for _ in range(faces):
        floor.add_surroundings(random.normal(0.5, scatter, 4).tolist(), size_px)
    return floor


def test_one_stranger_in_a_hundred_exceeds_the_threshold_of_his_size() -> None:
    floor = FootageFloor(PixelJudge(threshold=0.3))
    floor.add(np.linspace(0, 1, 101, dtype=np.float32), np.full(101, 40.0))
    assert floor.threshold(40) == pytest.approx(0.99)
    assert floor.threshold(20) == floor.threshold(80) == 0.3


def test_surroundings_are_asked_of_sizes_that_were_seen_often() -> None:
    assert floor_of(24).surroundings_excess(50) == -np.inf
    assert floor_of(25).surroundings_excess(50) > 0
    assert floor_of(25).surroundings_excess(20) == -np.inf


@pytest.mark.parametrize("scatter", [0.01, 0.05])
def test_the_excess_grows_with_the_scatter(scatter: float) -> None:
    # A deviation d of cosines around 0.5 is d ÷ 0.75 in z, and √(4/3) of it from three others.
    expected = 2.33 * scatter / 0.75 * np.sqrt(4 / 3)
    assert floor_of(1000, scatter=scatter).surroundings_excess(50) == pytest.approx(
        expected, rel=0.15
    )


def test_one_control_alone_says_nothing_of_the_scatter() -> None:
    floor = FootageFloor(PixelJudge())
    for _ in range(200):
        floor.add_surroundings([0.5], 50)
        floor.add_surroundings([], 50)
    assert floor.surroundings_excess(50) == -np.inf
