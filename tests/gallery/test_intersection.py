"""Re-clustering collapses candidate sets; sticky clusters keep them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gallery.errors import TooFewPeople
from gallery.intersection import (
    candidate_sizes,
    independent_releases,
    simulate,
    sticky_releases,
)

pytestmark = pytest.mark.unit


@settings(max_examples=60)
@given(people=st.integers(1, 25), releases=st.integers(1, 4), seed=st.integers(0, 999))
def test_sizes_equal_those_of_intersected_sets(people: int, releases: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    history = [random.integers(4, size=people).astype(np.intp) for _ in range(releases)]
    expected = [
        len(set.intersection(*({j for j in range(people) if h[j] == h[i]} for h in history)))
        for i in range(people)
    ]
    assert candidate_sizes(history).tolist() == expected


def test_independent_clusters_of_100_people_collapse_from_5_to_1() -> None:
    after = simulate(independent_releases, people=100, k=5, releases=3, trials=400, seed=1)
    assert after[0].mean == after[0].low == after[0].high == 5.0
    for size in after:
        # Oneself, and each of k − 1 companions again with (k − 1) ÷ (n − 1) at each release.
        expected = 1 + 4 * (4 / 99) ** (size.releases - 1)
        half = (size.high - size.low) / 2
        assert abs(size.mean - expected) <= 2 * half + 1e-12  # about four standard errors
    assert after[1].mean == pytest.approx(1.16, abs=0.01)
    assert after[2].mean == pytest.approx(1.007, abs=0.002)
    assert after[2].smallest == 1


@pytest.mark.parametrize("people", [100, 103])
def test_sticky_clusters_never_fall_below_k(people: int) -> None:
    after = simulate(sticky_releases, people, k=5, releases=6, trials=20, seed=1)
    assert min(size.smallest for size in after) == 5
    assert len({size.mean for size in after}) == 1
    if people % 5 == 0:
        assert after[-1].mean == 5.0


def test_planted_move_of_one_person_is_found() -> None:
    labels = np.repeat(np.arange(4), 5)
    moved = labels.copy()
    moved[0] = 1
    assert candidate_sizes([labels, moved]).min() == 1


def test_same_seed_repeats_the_figures() -> None:
    first, again = (simulate(independent_releases, 40, 4, 2, 5, seed=3) for _ in range(2))
    assert first == again


def test_fewer_people_than_k_are_refused() -> None:
    with pytest.raises(TooFewPeople):
        simulate(independent_releases, 4, 5, 2, 2, seed=0)
