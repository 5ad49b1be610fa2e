"""The cheapest assignment costs what SciPy's does."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from tracker.assignment import cheapest_pairs

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("seed", range(40))
def test_the_sum_is_the_least_whatever_the_shape(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 12, 2))
    prices = rng.normal(size=shape)
    prices[rng.random(shape) < rng.choice([0.0, 0.5, 0.9])] = 1e6
    rows, columns = cheapest_pairs(prices)
    assert prices[rows, columns].sum() == pytest.approx(prices[linear_sum_assignment(prices)].sum())
    assert len(set(rows.tolist())) == len(set(columns.tolist())) == min(shape)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_nothing_on_one_side_gives_no_pairs(shape: tuple[int, int]) -> None:
    assert [len(part) for part in cheapest_pairs(np.zeros(shape))] == [0, 0]


def test_equal_prices_still_give_each_row_its_own_column() -> None:
    rows, columns = cheapest_pairs(np.ones((5, 5)))
    assert sorted(rows.tolist()) == sorted(columns.tolist()) == list(range(5))
