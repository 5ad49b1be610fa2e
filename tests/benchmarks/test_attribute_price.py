"""The attacker's figure on scores whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.attribute_price import auc, auc_interval

pytestmark = pytest.mark.unit


def test_surrogates_that_tell_nothing_score_at_chance() -> None:
    scores = np.random.default_rng(0).normal(size=(200, 200))
    middle, low, high = auc_interval(scores)
    assert low < 0.5 < high
    assert middle == pytest.approx(0.5, abs=0.06)


def test_planted_leak_is_found() -> None:
    scores = np.random.default_rng(0).normal(size=(100, 100)) + 2 * np.eye(100)
    _, low, _ = auc_interval(scores)
    assert low > 0.8


def test_ties_count_half() -> None:
    assert auc(np.ones(4), np.ones(3)) == 0.5
