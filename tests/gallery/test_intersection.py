"""Whoever shares all clusters of a history is found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gallery.intersection import candidate_sizes

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


def test_planted_move_of_one_person_is_found() -> None:
    labels = np.repeat(np.arange(4), 5)
    moved = labels.copy()
    moved[0] = 1
    assert candidate_sizes([labels, moved]).min() == 1
