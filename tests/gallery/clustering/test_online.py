"""Clusters that take people one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gallery.clustering.online import OnlineClustering, OpenClusters
from gallery.errors import EmbeddingsRejected

pytestmark = pytest.mark.unit


def at(x: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([x])


def test_arrival_joins_the_nearest_open_cluster_within_reach() -> None:
    clusters = OpenClusters(k=3, reach=2.0)
    assert [clusters.place(at(x)).cluster for x in (0.0, 3.0, 1.4, 1.9)] == [0, 1, 0, 1]


def test_arrival_out_of_reach_opens_a_new_cluster() -> None:
    clusters = OpenClusters(k=3, reach=2.0)
    clusters.place(at(0.0))
    placement = clusters.place(at(2.1))
    assert placement.is_new
    assert placement.size == 1


def test_cluster_of_k_closes_and_takes_no_more() -> None:
    clusters = OpenClusters(k=2, reach=1.0)
    assert not clusters.place(at(0.0)).is_full
    assert clusters.place(at(0.1)).is_full
    assert clusters.place(at(0.05)).cluster == 1
    assert clusters.open_sizes == {1: 1}


def test_equal_distances_go_to_the_older_cluster() -> None:
    clusters = OpenClusters(k=3, reach=1.0)
    assert [clusters.place(at(x)).cluster for x in (0.0, 2.0, 1.0)] == [0, 1, 0]


def test_bound_on_open_clusters_overrules_reach() -> None:
    clusters = OpenClusters(k=5, reach=0.5, max_open=2)
    assert [clusters.place(at(x)).cluster for x in (0.0, 10.0, 100.0)] == [0, 1, 1]


def test_k_of_one_closes_every_cluster_at_once() -> None:
    clusters = OpenClusters(k=1, reach=9.0)
    placements = [clusters.place(at(0.0)) for _ in range(3)]
    assert [p.cluster for p in placements] == [0, 1, 2]
    assert all(p.is_full and p.is_new for p in placements)


@settings(max_examples=60)
@given(
    k=st.integers(1, 6),
    reach=st.sampled_from([0.0, 0.5, 2.0, float("inf")]),
    max_open=st.integers(1, 9),
    seed=st.integers(0, 2**20),
)
def test_open_clusters_stay_bounded_and_closed_ones_have_k(
    k: int, reach: float, max_open: int, seed: int
) -> None:
    clusters = OpenClusters(k, reach, max_open)
    sizes: dict[int, int] = {}
    for point in np.random.default_rng(seed).normal(size=(150, 2)):
        placement = clusters.place(point)
        sizes[placement.cluster] = sizes.get(placement.cluster, 0) + 1
        assert placement.size == sizes[placement.cluster] <= k
        assert placement.is_full == (placement.size == k)
        assert len(clusters.open_sizes) <= max_open
    assert clusters.open_sizes == {c: size for c, size in sizes.items() if size < k}


@pytest.mark.parametrize("point", [np.array([np.nan]), np.zeros((1, 1)), np.zeros(3)])
def test_unusable_arrival_is_refused(point: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
    clusters = OpenClusters(k=3, reach=1.0)
    clusters.place(at(0.0))
    with pytest.raises(EmbeddingsRejected):
        clusters.place(point)


@pytest.mark.parametrize(("k", "reach", "max_open"), [(0, 1.0, 1), (2, -1.0, 1), (2, 1.0, 0)])
def test_unusable_settings_are_refused(k: int, reach: float, max_open: int) -> None:
    with pytest.raises(EmbeddingsRejected):
        OpenClusters(k, reach, max_open)


def test_end_of_stream_fills_the_fullest_waiting_cluster_from_the_nearest() -> None:
    # Waiting: {0, 1} and {10}, {20}: 10 is nearer to the fullest; 20 joins the only cluster.
    rows = np.array([[0.0], [1.0], [10.0], [20.0]], np.float32)
    partition = OnlineClustering(reach=2.0).partition(rows, 3, 0)
    assert partition.labels.tolist() == [0, 0, 0, 0]


def test_end_of_stream_leaves_full_clusters_as_they_were() -> None:
    rows = np.random.default_rng(0).normal(size=(57, 3)).astype(np.float32)
    clusters = OpenClusters(5, 1.0)
    placed = np.array([clusters.place(row).cluster for row in rows])
    labels = OnlineClustering(reach=1.0).partition(rows, 5, 0).labels
    for cluster in set(placed.tolist()) - set(clusters.open_sizes):
        assert len(set(labels[placed == cluster].tolist())) == 1
