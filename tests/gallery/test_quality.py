"""Distances, silhouettes, information loss and homogeneity against worked examples."""

from __future__ import annotations

import numpy as np
import pytest

from gallery.clustering.mdav import MdavClustering
from gallery.clustering.partition import Partition
from gallery.errors import EmbeddingsRejected
from gallery.quality import (
    attribute_entropies,
    centroids,
    cluster_quality,
    homogeneous_rate,
    information_loss,
    silhouette,
)

pytestmark = pytest.mark.unit

TRIPLES = Partition(np.array([0, 0, 0, 1, 1, 1]), np.arange(6), k=3)


def test_distances_are_averaged_over_clusters() -> None:
    rows = np.array([[0.0], [1.0], [4.0], [10.0], [10.0], [12.0]], np.float32)
    quality = cluster_quality(rows, TRIPLES)
    assert quality.n_clusters == 2
    assert quality.min_distance == pytest.approx((1 + 0) / 2)
    assert quality.mean_distance == pytest.approx(((1 + 4 + 3) / 3 + (0 + 2 + 2) / 3) / 2)
    assert quality.max_distance == pytest.approx((4 + 2) / 2)


def test_information_loss_is_the_mean_distance_to_the_centroid() -> None:
    rows = np.array([[0.0], [3.0], [6.0], [10.0], [10.0], [10.0]], np.float32)
    assert cluster_quality(rows, TRIPLES).information_loss == pytest.approx((3 + 0 + 3) / 6)


def test_centroid_counts_a_person_once_however_many_pictures() -> None:
    rows = np.array([[0.0], [0.0], [0.0], [4.0]], np.float32)
    partition = Partition(np.zeros(4, np.intp), np.array([0, 0, 0, 1]), k=2)
    assert centroids(rows, partition).tolist() == [[2.0]]


@pytest.mark.parametrize("k", [1, 2, 7])
def test_silhouette_agrees_with_scikit_learn(k: int) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rows = np.random.default_rng(0).normal(size=(90, 5)).astype(np.float32)
    labels = MdavClustering().partition(rows, k, 0).labels
    if k == 1:
        assert silhouette(rows.astype(np.float64), labels) == 0.0
        return
    expected = metrics.silhouette_score(rows.astype(np.float64), labels)
    assert silhouette(rows.astype(np.float64), labels) == pytest.approx(expected, abs=1e-9)


def test_silhouette_is_the_same_in_one_block_and_in_many(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(0).normal(size=(53, 5))
    labels = MdavClustering().partition(rows.astype(np.float32), 4, 0).labels
    whole = silhouette(rows, labels)
    monkeypatch.setattr("gallery.quality._BLOCK", 7)
    assert silhouette(rows, labels) == pytest.approx(whole, abs=1e-12)


def test_one_cluster_has_no_neighbour_and_scores_zero() -> None:
    assert silhouette(np.zeros((3, 2)), np.zeros(3, np.intp)) == 0.0


def test_identical_faces_score_zero_rather_than_nan() -> None:
    quality = cluster_quality(np.ones((6, 2), np.float32), TRIPLES)
    assert quality.silhouette == 0.0
    assert quality.information_loss == 0.0


def test_entropy_counts_people_not_pictures() -> None:
    partition = Partition(np.zeros(4, np.intp), np.array([0, 0, 0, 1]), k=2)
    assert attribute_entropies(partition, np.array(["f", "f", "f", "m"])).tolist() == [1.0]


def test_joint_homogeneity_needs_every_attribute() -> None:
    gender = np.array(["f", "f", "f", "m", "m", "m"])
    age = np.array([20, 20, 20, 30, 30, 40])
    assert homogeneous_rate(TRIPLES, gender) == 1.0
    assert homogeneous_rate(TRIPLES, age) == 0.5
    assert homogeneous_rate(TRIPLES, gender, age) == 0.5


@pytest.mark.parametrize(
    ("originals", "anonymized"),
    [(np.zeros((2, 3)), np.zeros((3, 3))), (np.zeros((0, 3)), np.zeros((0, 3)))],
)
def test_incomparable_sets_are_refused(
    originals: np.ndarray[tuple[int, int], np.dtype[np.float64]],
    anonymized: np.ndarray[tuple[int, int], np.dtype[np.float64]],
) -> None:
    with pytest.raises(EmbeddingsRejected):
        information_loss(originals, anonymized)


def test_rows_that_do_not_match_the_clustering_are_refused() -> None:
    with pytest.raises(EmbeddingsRejected, match="5 rows do not match 6"):
        cluster_quality(np.zeros((5, 2), np.float32), TRIPLES)
