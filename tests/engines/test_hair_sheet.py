"""The sheet of strands: long and narrow, in locks, the same each time, and of nobody."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.hair_sheet import strands_at

pytestmark = pytest.mark.unit

Float32 = NDArray[np.float32]
SHARP, SMALL = 256.0, 32.0


def places(count: int, seed: int = 0) -> Float32:
    return np.random.default_rng(seed).uniform(-3, 3, (2, count)).astype(np.float32)


def step(across: float, along: float, cropped: float, side_px: float = SHARP) -> float:
    """How much brightness differs from places to those so far away."""
    x, y = places(4000)
    here = strands_at(x, y, cropped, side_px)[0]
    there = strands_at(x + np.float32(across), y + np.float32(along), cropped, side_px)[0]
    return float(np.abs(here - there).mean())


@pytest.mark.parametrize("cropped", [0.0, 1.0])
def test_strands_are_bright_and_dark_in_equal_parts(cropped: float) -> None:
    across, along = places(20000)
    bright, tips = strands_at(across, along, cropped, SHARP)
    for values in (bright, tips):
        assert abs(values.mean()) < 0.08
        assert 0.8 < values.std() < 1.1


def test_strands_are_long_and_narrow_and_cropped_ones_less_so() -> None:
    long, cropped = (step(0.015, 0, each) / step(0, 0.015, each) for each in (0.0, 1.0))
    assert long > 4
    assert 1 < cropped < 0.75 * long


def test_small_heads_show_locks_and_no_glitter() -> None:
    assert step(0.004, 0, 0.0, SMALL) < 0.5 * step(0.004, 0, 0.0)
    assert step(0.1, 0, 0.0, SMALL) > 0.5 * step(0.1, 0, 0.0)


def test_growing_heads_change_little_by_little() -> None:
    x, y = places(2000)
    sides = np.geomspace(24, 300, 60)
    drawn = [strands_at(x, y, 0.3, float(side))[0] for side in sides]
    assert max(np.abs(one - other).mean() for one, other in pairwise(drawn)) < 0.06


def test_sheet_has_no_seam() -> None:
    edge, way = np.zeros(200, np.float32), np.linspace(0, 1, 200, dtype=np.float32)
    near = np.float32(2e-4)
    for one, other in (
        (strands_at(edge - near, way, 0, SHARP), strands_at(edge + near, way, 0, SHARP)),
        (strands_at(2 * way, edge - near, 0, SHARP), strands_at(2 * way, edge + near, 0, SHARP)),
    ):
        assert np.abs(one - other).mean() < 0.15


@pytest.mark.parametrize("cropped", [0.0, 1.0])
def test_locks_lie_over_each_other(cropped: float) -> None:
    """The planted fault: strands that all ran on unbroken looked like the stripes of a zebra.

    Along a lock brightness changes little, but where another lies over it, at once: far from as
    little everywhere as smooth noise of the same length does, whose steps are normal (kurtosis 3).
    """
    x, y = places(20000)
    little = np.float32(0.008)
    steps = strands_at(x, y + little, cropped, SHARP)[0] - strands_at(x, y, cropped, SHARP)[0]
    steps = (steps - steps.mean()) / steps.std()
    assert float(np.mean(steps**4)) > 4.0


def test_fewer_strands_tell_on_small_heads() -> None:
    """What cannot be seen is not made up for by locks of more contrast."""
    x, y = places(4000)
    deviations = [strands_at(x, y, 0.3, side)[0].std() for side in (32.0, 64.0, 128.0, 256.0)]
    assert deviations == sorted(deviations)
    assert deviations[0] < 0.7 * deviations[-1]
