"""What full clusters tell about the attributes of their people."""

from __future__ import annotations

import numpy as np
import pytest

from gallery.buffer import Buffer
from gallery.entries import Joined
from gallery.homogeneity import cluster_diversity
from gallery.settings import GallerySettings

pytestmark = pytest.mark.unit


def buffer_of(*bins: str, k: int = 2) -> Buffer:
    """People join one by one, strangers all."""
    buffer = Buffer(GallerySettings(k=k, attributes="coarse"))
    for number, own_bin in enumerate(bins, 1):
        place = buffer.place(None, own_bin)
        assert place is not None
        at = (place.person, place.cluster, place.slot, False, place.cluster_bin, own_bin)
        buffer.apply(number, Joined(*at, np.ones(2, np.float32)))
    return buffer


def test_clusters_that_share_a_bin_tell_it() -> None:
    found = cluster_diversity(buffer_of("age=old", "age=young", "age=old", "age=old"), 2)
    assert found["age"].distinct == 1
    assert found["age"].effective == pytest.approx(1.0)


def test_mixed_clusters_tell_less() -> None:
    found = cluster_diversity(buffer_of("age=old", "age=young"), 2)
    assert found["age"].distinct == 2
    assert found["age"].effective == pytest.approx(2.0)
    assert found["age"].distance == pytest.approx(0.0)


def test_open_clusters_and_unknown_attributes_tell_nothing() -> None:
    assert cluster_diversity(buffer_of("age=old", k=3), 3) == {}
    assert cluster_diversity(buffer_of("", ""), 2) == {}


def test_unknown_attribute_is_no_value_and_its_share_is_told() -> None:
    found = cluster_diversity(buffer_of("gender=female|age=old", "gender=female"), 2)
    assert (found["gender"].distinct, found["gender"].unknown) == (1, 0.0)
    assert (found["age"].distinct, found["age"].unknown) == (1, 0.5)
    assert found["age"].effective == pytest.approx(1.0)


def test_cluster_of_whom_nothing_is_known_tells_nothing() -> None:
    found = cluster_diversity(buffer_of("age=old", "age=young", "", "age="), 2)
    assert (found["age"].distinct, found["age"].unknown) == (2, 0.5)
    assert found["age"].distance == pytest.approx(0.0)
