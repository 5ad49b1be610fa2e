"""Look-alikes are found by the worse of two recognisers."""

import numpy as np
import pytest
from numpy.typing import NDArray

from training.resemblance import alike_pairs

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
