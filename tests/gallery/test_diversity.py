"""l-diversity and t-closeness on clusters worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from gallery.clustering.partition import Partition
from gallery.diversity import attribute_diversity
from gallery.errors import EmbeddingsRejected

pytestmark = pytest.mark.unit

PAIRS = Partition(np.array([0, 0, 1, 1, 2, 2]), np.arange(6), k=2)


def test_cluster_that_agrees_gives_the_value_away() -> None:
    found = attribute_diversity(PAIRS, np.array(["a", "b", "a", "b", "b", "b"]))
    assert found.distinct == 1
    assert found.effective == pytest.approx(1.0)
    assert found.distance == pytest.approx(2 / 6)


def test_every_cluster_like_the_crowd_is_perfectly_close() -> None:
    values = np.array(["a", "b"] * 3)
    found = attribute_diversity(PAIRS, values)
    assert found.distance == pytest.approx(0.0)
    assert found.effective == pytest.approx(2.0)


def test_entropy_diversity_is_less_than_the_count_when_one_value_dominates() -> None:
    partition = Partition(np.zeros(4, np.intp), np.arange(4), k=4)
    found = attribute_diversity(partition, np.array([0, 0, 0, 1]))
    assert found.distinct == 2
    assert 1.0 < found.effective < 2.0


def test_pictures_of_one_person_do_not_count_twice() -> None:
    partition = Partition(np.zeros(5, np.intp), np.array([0, 0, 0, 1, 2]), k=3)
    found = attribute_diversity(partition, np.array(["a", "a", "a", "b", "c"]))
    assert found.effective == pytest.approx(3.0)


def test_values_that_do_not_match_are_refused() -> None:
    with pytest.raises(EmbeddingsRejected):
        attribute_diversity(PAIRS, np.array([1, 2]))
