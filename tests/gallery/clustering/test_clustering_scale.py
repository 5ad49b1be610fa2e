"""10,000 people of 128 dimensions are a matter of seconds for the cheap algorithms."""

from __future__ import annotations

import numpy as np
import pytest

from gallery.clustering.registry import algorithm_by_name

pytestmark = pytest.mark.slow


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "name", ["k-same", "max-distance", "mdav", "oka", "online", "random", "same-size-k-means"]
)
def test_ten_thousand_people_are_clustered_within_two_minutes(name: str) -> None:
    rows = np.random.default_rng(0).normal(size=(10_000, 128)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    assert algorithm_by_name(name).partition(rows, 10, 0).n_people == 10_000
