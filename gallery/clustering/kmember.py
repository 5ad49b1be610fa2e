"""k-member: clusters grown by the least loss (Byun, Kamra, Bertino, Li 2007)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gallery.clustering.partition import ClusteringAlgorithm, Groups, Points
from gallery.clustering.remaining import Remaining, squared_distances

__all__ = ["KMemberClustering"]


@dataclass(frozen=True, slots=True)
class KMemberClustering(ClusteringAlgorithm):
    """Starts far from the last start and adds whoever raises the loss least.

    The paper's loss is the width of the generalised box; for embeddings it is the sum of
    squared distances to the centroid, which grows by s/(s+1)·‖x − c‖² when x joins s
    members around c. The fewer than k who are left join where they raise it least.

    Time O(n²·D), memory O(n·D): the slowest of the greedy rules.
    """

    name = "k-member"

    def _group(self, points: Points, k: int, random: np.random.Generator) -> Groups:
        left = Remaining(points)
        groups: list[NDArray[np.intp]] = []
        start = points[int(random.integers(len(points)))]
        while len(left) >= k:
            start = left.farthest(start)
            groups.append(_grow(left, start, k))
        _join_rest(points, groups, left.take_all())
        return groups


def _grow(left: Remaining, start: NDArray[np.float64], k: int) -> NDArray[np.intp]:
    rows: list[NDArray[np.intp]] = []
    total = np.zeros_like(start)
    centre = start
    for size in range(1, k + 1):
        position = np.argmin(squared_distances(left.points, centre), keepdims=True)
        total += left.points[position[0]]
        centre = total / size
        rows.append(left.take(position))
    return np.concatenate(rows)


def _join_rest(points: Points, groups: list[NDArray[np.intp]], rest: NDArray[np.intp]) -> None:
    centres = np.stack([points[rows].mean(axis=0) for rows in groups])
    sizes = np.array([len(rows) for rows in groups], dtype=np.float64)
    for row in rest:
        loss = sizes / (sizes + 1) * squared_distances(centres, points[row])
        cluster = int(np.argmin(loss))
        groups[cluster] = np.append(groups[cluster], row)
        sizes[cluster] += 1
        centres[cluster] += (points[row] - centres[cluster]) / sizes[cluster]
