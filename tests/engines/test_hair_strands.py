"""A surrogate's hair is drawn from noise and its traits: the same each time, and of nobody."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.hair_strands import combed, middle_of, worn_strands
from engines.polar import RAYS, UP, distances
from tests.engines.heads import surrogate

pytestmark = pytest.mark.unit

Float32 = NDArray[np.float32]
BEGINS = np.full(RAYS, 0.5, np.float32)
SHARP = 256.0


def test_hair_falls_to_both_sides_of_its_parting() -> None:
    """Along a strand, what lies across it stays: outwards from the top it goes aside."""
    across, along, bright = combed(BEGINS, surrogate(leaning=0.5, sleek=1.0))
    top = 3 * RAYS // 4
    right, left = across[top + 6], across[top - 6]
    assert np.all(np.diff(right[25:45]) < 0)
    assert np.all(np.diff(left[25:45]) > 0)
    assert np.array_equal(along, np.broadcast_to(distances() - 0.5, along.shape).astype(np.float32))
    assert np.abs(bright - 1).max() < 0.2


@pytest.mark.parametrize("leaning", [0.0, 0.5, 1.0])
def test_strands_do_not_cross(leaning: float) -> None:
    """The planted fault: tall hair in close-ups looked like the grain of wood."""
    across, _, _ = combed(BEGINS, surrogate(leaning=leaning, sleek=1.0))
    upper = np.flatnonzero(UP > 0.2)
    assert (np.diff(across[upper], axis=0) > 0).all()


def test_surrogates_wear_other_strands() -> None:
    one, other = (combed(BEGINS, surrogate(square=value))[0] for value in (0.2, 0.4))
    assert np.abs(one - other).min() > 0.1
    upper = UP > 0.3
    assert np.ptp(one[upper, 30]) < 2, "no strand is seen twice on a head"


@pytest.mark.parametrize(("degrees", "runs"), [(0, "out"), (10, "out"), (60, "down"), (75, "down")])
def test_hair_stands_on_top_and_hangs_beside_the_face(degrees: int, runs: str) -> None:
    """The planted fault: beside the face hair stood away from it like fur."""
    outwards = around = 0.0
    little = np.float32(0.003)
    for number in range(12):
        traits = surrogate(leaning=0.5, sleek=0.5, square=number / 12)
        across, along, _ = combed(BEGINS, traits)
        ray, middle = (
            3 * RAYS // 4 + (-1) ** number * round(degrees * RAYS / 360),
            middle_of(traits),
        )
        turn, out = across[ray, 26:44], along[ray, 26:44]
        here = worn_strands(turn, out, middle, 0.0, SHARP)[0]
        farther = worn_strands(turn, out + little, middle, 0.0, SHARP)[0]
        beside = worn_strands(turn + little, out, middle, 0.0, SHARP)[0]
        outwards += float(np.abs(farther - here).mean())
        around += float(np.abs(beside - here).mean())
    assert outwards < 0.5 * around if runs == "out" else outwards > around


@pytest.mark.parametrize("turn", [0.2, 0.6, 0.7, 1.2])
def test_hair_that_comes_to_hang_is_as_bright_and_dark_as_elsewhere(turn: float) -> None:
    rng, drawn = np.random.default_rng(1), []
    for middle in np.linspace(0, 2, 20).tolist():
        out = rng.uniform(0, 0.3, 500).astype(np.float32)
        across = (middle + rng.uniform(0.48 * turn, 0.52 * turn, 500)).astype(np.float32)
        drawn.append(worn_strands(across, out, middle, 0.0, SHARP)[0])
    assert 0.8 < np.std(drawn) < 1.2
