"""How alike the members of a cluster are, and what is lost when they share one face."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist, pdist

from gallery.clustering.partition import Partition
from gallery.clustering.people import group_means
from gallery.errors import EmbeddingsRejected

__all__ = [
    "ClusterQuality",
    "Values",
    "attribute_entropies",
    "centroids",
    "cluster_quality",
    "count_entropies",
    "homogeneous_rate",
    "information_loss",
    "silhouette",
    "value_counts",
]

Values = NDArray[np.integer] | NDArray[np.str_]
"""(n,) one attribute value per row; a person's value is that of the first row."""

_BLOCK = 1024


@dataclass(frozen=True, slots=True)
class ClusterQuality:
    """The figures of AnonFACES Figs 2 and 3; distances in the embeddings' unit, Euclidean.

    Attributes:
        n_clusters: number of clusters.
        min_distance: smallest distance between two people of a cluster, mean over clusters.
        mean_distance: mean distance between two people of a cluster, mean over clusters.
        max_distance: largest distance between two people of a cluster, mean over clusters.
        silhouette: mean silhouette over people, −1…1; above 0 people lie nearer to their
            own cluster than to the next.
        information_loss: mean distance of the rows to their cluster's centroid, ≥ 0.
    """

    n_clusters: int
    min_distance: float
    mean_distance: float
    max_distance: float
    silhouette: float
    information_loss: float


def cluster_quality(embeddings: NDArray[np.float32], partition: Partition) -> ClusterQuality:
    """Measures a clustering; distances count people, averaged over their rows.

    Clusters of one person (k = 1) have no distances and count as 0.

    Args:
        embeddings: (n, D) float32, the rows that were clustered.
        partition: their clustering.

    Raises:
        EmbeddingsRejected: the numbers of rows differ.

    >>> rows = np.array([[0.0], [1.0], [8.0], [9.0]], np.float32)
    >>> quality = cluster_quality(rows, Partition(np.array([0, 0, 1, 1]), np.arange(4), 2))
    >>> quality.mean_distance, quality.information_loss, quality.silhouette > 0.8
    (1.0, 0.5, True)
    """
    _check_rows(embeddings, partition)
    points = group_means(embeddings, partition.persons)
    labels = partition.people_labels
    inside = [pdist(points[labels == cluster]) for cluster in range(partition.n_clusters)]
    inside = [distances if len(distances) else np.zeros(1) for distances in inside]
    surrogates = centroids(embeddings, partition)[partition.labels]
    return ClusterQuality(
        partition.n_clusters,
        float(np.mean([distances.min() for distances in inside])),
        float(np.mean([distances.mean() for distances in inside])),
        float(np.mean([distances.max() for distances in inside])),
        silhouette(points, labels),
        information_loss(embeddings, surrogates),
    )


def centroids(embeddings: NDArray[np.float32], partition: Partition) -> NDArray[np.float64]:
    """(n_clusters, D) float64 mean of the people of each cluster, each person counted once."""
    points = group_means(embeddings, partition.persons)
    return group_means(points, partition.people_labels)


def information_loss(originals: NDArray[np.floating], anonymized: NDArray[np.floating]) -> float:
    """Mean Euclidean distance between originals and what replaced them (AnonFACES Def. 3.2).

    Args:
        originals: (n, D), n ≥ 1.
        anonymized: (n, D), the replacement of each row.

    Raises:
        EmbeddingsRejected: the shapes differ or there is nothing to compare.

    >>> information_loss(np.zeros((2, 2)), np.array([[3.0, 4.0], [0.0, 0.0]]))
    2.5
    """
    if originals.shape != anonymized.shape or originals.ndim != 2 or not len(originals):
        raise EmbeddingsRejected("originals and replacements must be equally many rows, at least 1")
    difference = originals.astype(np.float64) - anonymized
    return float(np.sqrt(np.einsum("ij,ij->i", difference, difference)).mean())


def silhouette(points: NDArray[np.float64], labels: NDArray[np.intp]) -> float:
    """Mean silhouette (Rousseeuw 1987); 0 where there is one cluster only.

    People alone in their cluster count 0. Time O(n²·D), memory O(n) per block of people.

    Args:
        points: (m, D) float64.
        labels: (m,) intp, 0…clusters−1, each of them used.

    >>> silhouette(np.array([[0.0], [1.0], [10.0], [11.0]]), np.array([0, 0, 1, 1])) > 0.8
    True
    """
    sizes = np.bincount(labels)
    if len(sizes) < 2:
        return 0.0
    order = np.argsort(labels, kind="stable")
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    total = 0.0
    for begin in range(0, len(points), _BLOCK):
        block = slice(begin, begin + _BLOCK)
        sums = np.add.reduceat(cdist(points[block], points[order]), starts, axis=1)
        total += float(_silhouettes(sums, labels[block], sizes).sum())
    return total / len(points)


def attribute_entropies(partition: Partition, values: Values) -> NDArray[np.float64]:
    """(n_clusters,) entropy of one attribute among the people of each cluster, bits.

    Raises:
        EmbeddingsRejected: the numbers of rows differ.

    >>> partition = Partition(np.array([0, 0, 1, 1]), np.arange(4), 2)
    >>> attribute_entropies(partition, np.array(["f", "m", "f", "f"])).tolist()
    [1.0, 0.0]
    """
    return count_entropies(value_counts(partition, values))


def count_entropies(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n_clusters,) entropy of (n_clusters, values) counts in each cluster, bits.

    >>> count_entropies(np.array([[1.0, 1.0], [2.0, 0.0]])).tolist()
    [1.0, 0.0]
    """
    shares = counts / counts.sum(axis=1, keepdims=True)
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(np.abs((shares * logs).sum(axis=1)), dtype=np.float64)


def value_counts(partition: Partition, values: Values) -> NDArray[np.float64]:
    """(n_clusters, distinct values in sorted order) people of each cluster with each value.

    Raises:
        EmbeddingsRejected: the numbers of rows differ.

    >>> partition = Partition(np.array([0, 0, 1, 1]), np.arange(4), 2)
    >>> value_counts(partition, np.array(["f", "m", "f", "f"])).tolist()
    [[1.0, 1.0], [2.0, 0.0]]
    """
    _check_rows(values, partition)
    codes = np.unique(values[partition.first_rows], return_inverse=True)[1].reshape(-1)
    counts = np.zeros((partition.n_clusters, int(codes.max()) + 1), dtype=np.float64)
    np.add.at(counts, (partition.people_labels, codes), 1)
    return counts


def homogeneous_rate(partition: Partition, *attributes: Values) -> float:
    """Share of clusters whose people agree in every given attribute (AnonFACES 4.4).

    >>> partition = Partition(np.array([0, 0, 1, 1]), np.arange(4), 2)
    >>> homogeneous_rate(partition, np.array([1, 2, 1, 1]), np.array(["f", "f", "m", "m"]))
    0.5
    """
    agrees = np.ones(partition.n_clusters, dtype=np.bool_)
    for values in attributes:
        agrees &= attribute_entropies(partition, values) == 0
    return float(agrees.mean())


def _silhouettes(
    sums: NDArray[np.float64], labels: NDArray[np.intp], sizes: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Silhouettes from (block, clusters) sums of distances to the people of each cluster."""
    rows = np.arange(len(labels))
    own = sizes[labels]
    inner = sums[rows, labels] / np.maximum(own - 1, 1)
    outer = sums / sizes
    outer[rows, labels] = np.inf
    nearest = outer.min(axis=1)
    largest = np.maximum(inner, nearest)
    values = np.divide(nearest - inner, largest, out=np.zeros(len(rows)), where=largest > 0)
    return np.where(own > 1, values, 0.0)


def _check_rows(rows: NDArray[np.floating] | Values, partition: Partition) -> None:
    if len(rows) != len(partition.labels):
        raise EmbeddingsRejected(f"{len(rows)} rows do not match {len(partition.labels)} labels")
