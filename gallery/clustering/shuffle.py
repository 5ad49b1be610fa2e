"""Random groups: the baseline that a clustering must beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gallery.clustering.partition import (
    Groups,
    Partition,
    Points,
    balanced_sizes,
    partition_people,
)

__all__ = ["RandomClustering"]


@dataclass(frozen=True, slots=True)
class RandomClustering:
    """A seeded shuffle cut into ⌊n/k⌋ nearly equal pieces.

    Time and memory O(n).
    """

    name: ClassVar[str] = "random"

    def partition(
        self,
        embeddings: NDArray[np.float32],
        k: int,
        seed: int,
        persons: NDArray[np.integer] | None = None,
    ) -> Partition:
        """See `ClusteringAlgorithm.partition`."""
        return partition_people(_group, embeddings, k, seed, persons)


def _group(points: Points, k: int, random: np.random.Generator) -> Groups:
    cuts = np.cumsum(balanced_sizes(len(points), k))[:-1]
    return np.split(random.permutation(len(points)).astype(np.intp), cuts)
