"""k-SALSA's same-size clustering: outliers first (Jeon et al. 2022, Section 3.4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from gallery.clustering.partition import ClusteringAlgorithm, Groups, Points
from gallery.clustering.remaining import Remaining, nearest

__all__ = ["KSalsaClustering"]

_BLOCK = 1024


@dataclass(frozen=True, slots=True)
class KSalsaClustering(ClusteringAlgorithm):
    """The person with the largest mean distance to the rest, and the k − 1 nearest, again.

    The paper drops samples until k divides n. Here the last cluster takes k…2k−1 and nobody
    is dropped. The seed plays no part.

    Time O(n²·D), memory O(n·(D + k)); the sums of distances are updated, not recomputed.
    """

    name = "k-salsa"

    def _group(self, points: Points, k: int, random: np.random.Generator) -> Groups:
        del random
        left = Remaining(points)
        sums = _distance_sums(points)
        groups = []
        while len(left) >= 2 * k:
            outlier = int(np.argmax(sums))
            distances = cdist(left.points[outlier][None], left.points)[0]
            distances[outlier] = -1.0
            positions = nearest(distances, k)
            gone = left.points[positions]
            groups.append(left.take(positions))
            sums = np.delete(sums, positions) - cdist(left.points, gone).sum(axis=1)
        groups.append(left.take_all())
        return groups


def _distance_sums(points: Points) -> NDArray[np.float64]:
    """(m,) sum of distances from each point to all others, in blocks."""
    blocks = [
        cdist(points[start : start + _BLOCK], points).sum(axis=1)
        for start in range(0, len(points), _BLOCK)
    ]
    return np.concatenate(blocks)
