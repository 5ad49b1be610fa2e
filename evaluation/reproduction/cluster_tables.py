"""AnonFACES Figures 2 and 3 on LFW, the match of a mean with its members, and re-clustering."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluation.attacks.membership import expected_centroid_cosine
from gallery.clustering.hierarchical import HierarchicalClustering
from gallery.clustering.registry import ALGORITHMS
from gallery.clustering.shuffle import RandomClustering
from gallery.intersection import candidate_sizes
from gallery.quality import ClusterQuality, cluster_quality

__all__ = ["CentroidRow", "centroid_rows", "clustering_rows", "collapse_rows"]

Vectors = NDArray[np.float32]


def clustering_rows(vectors: Vectors, k: int) -> list[tuple[str, ClusterQuality]]:
    """Every clustering on the same faces, one per person."""
    return [
        (algorithm.name, cluster_quality(vectors, algorithm.partition(vectors, k, 1)))
        for algorithm in ALGORITHMS
    ]


@dataclass(frozen=True, slots=True)
class CentroidRow:
    """How near the mean of k people is to each of them.

    Attributes:
        k: people per cluster.
        clustering: how they were chosen.
        between_members: ρ, mean cosine between members.
        expected: √((1 + (k − 1)ρ) ÷ k).
        measured: mean cosine of a member with his cluster's centroid.
        matched: share of members whom the centroid matches at the recogniser's threshold.
    """

    k: int
    clustering: str
    between_members: float
    expected: float
    measured: float
    matched: float


def centroid_rows(vectors: Vectors, sizes: tuple[int, ...], threshold: float) -> list[CentroidRow]:
    """Random and Ward clusters of unit vectors."""
    rows = []
    for k in sizes:
        for algorithm in (RandomClustering(), HierarchicalClustering("ward")):
            partition = algorithm.partition(vectors, k, 1)
            rows.append(_centroid_row(vectors, partition.labels, k, algorithm.name, threshold))
    return rows


def _centroid_row(
    vectors: Vectors, labels: NDArray[np.intp], k: int, name: str, threshold: float
) -> CentroidRow:
    cosines, expected, between = [], [], []
    for label in range(int(labels.max()) + 1):
        members = vectors[labels == label].astype(np.float64)
        count = len(members)
        gram = members @ members.T
        rho = float((gram.sum() - np.trace(gram)) / (count * (count - 1)))
        centroid = members.mean(axis=0)
        cosines.append(members @ (centroid / np.linalg.norm(centroid)))
        expected += [expected_centroid_cosine(count, rho)] * count
        between.append(rho)
    measured = np.concatenate(cosines)
    return CentroidRow(
        k,
        name,
        float(np.mean(between)),
        float(np.mean(expected)),
        float(measured.mean()),
        float((measured > threshold).mean()),
    )


def collapse_rows(vectors: Vectors, k: int, releases: int) -> dict[str, list[float]]:
    """Mean candidates left after 1…`releases` releases, by how clusters are made.

    Everybody is in every release. `sticky` clusters are made once; the others anew.
    """
    ways = {
        "random, anew": [
            RandomClustering().partition(vectors, k, s).labels for s in range(releases)
        ],
        "k-Same, anew": [
            next(a for a in ALGORITHMS if a.name == "k-same").partition(vectors, k, s).labels
            for s in range(releases)
        ],
        "sticky": [RandomClustering().partition(vectors, k, 0).labels] * releases,
    }
    return {
        name: [float(candidate_sizes(history[: n + 1]).mean()) for n in range(releases)]
        for name, history in ways.items()
    }
