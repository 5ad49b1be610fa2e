"""Look-alikes are found by the worse of two recognisers, and are not dealt together."""

import numpy as np
import pytest
from numpy.typing import NDArray

from training.resemblance import FIRST, alike_pairs, first_dealt, worth

pytestmark = pytest.mark.unit


def unit(count: int, seed: int, size: int = 64) -> NDArray[np.float32]:
    rows = np.random.default_rng(seed).standard_normal((count, size)).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def twins(count: int, seed: int) -> NDArray[np.float32]:
    """Row n and row n + count // 2 are one person."""
    return np.concatenate([unit(count // 2, seed)] * 2)


def test_the_recogniser_to_which_two_are_more_alike_counts() -> None:
    seen = {"mobilefacenet": unit(300, 0), "edgeface": twins(300, 1)}
    pairs = alike_pairs(seen, 150 / (300 * 299 / 2))
    assert sorted(pairs.tolist()) == [[row, row + 150] for row in range(150)]


def test_twins_are_not_dealt_together_while_there_are_others() -> None:
    count = 2 * FIRST
    pairs = np.array([[row, row + FIRST] for row in range(FIRST)], np.int32)
    first = first_dealt(count, pairs, np.random.default_rng(0))
    assert len({row % FIRST for row in first.tolist()}) == FIRST


def test_its_worth_is_told_beside_what_all_donors_have() -> None:
    count = 2 * FIRST
    seen = {"mobilefacenet": twins(count, 0), "edgeface": twins(count, 0)}
    facts = worth(seen, alike_pairs(seen, FIRST / (count * (count - 1) / 2)), 0)
    assert facts["pairs_under_control_edgeface"] > facts["pairs_dealt_first_edgeface"]
    assert facts.keys() == {
        f"pairs_{what}_{who}"
        for what in ("under_control", "dealt_first")
        for who in ("mobilefacenet", "edgeface")
    }
