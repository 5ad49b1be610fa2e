"""Random groups: the baseline that a clustering must beat."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gallery.clustering.partition import (
    ClusteringAlgorithm,
    Groups,
    Points,
    balanced_sizes,
)

__all__ = ["RandomClustering"]


@dataclass(frozen=True, slots=True)
class RandomClustering(ClusteringAlgorithm):
    """A seeded shuffle cut into ⌊n/k⌋ nearly equal pieces.

    Time and memory O(n).
    """

    name = "random"

    def _group(self, points: Points, k: int, random: np.random.Generator) -> Groups:
        cuts = np.cumsum(balanced_sizes(len(points), k))[:-1]
        return np.split(random.permutation(len(points)).astype(np.intp), cuts)
