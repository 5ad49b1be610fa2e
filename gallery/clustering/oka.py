"""One-pass k-means: assign once, then move the outermost (Lin and Wei 2008)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gallery.clustering.partition import ClusteringAlgorithm, Groups, Points
from gallery.clustering.remaining import squared_distances

__all__ = ["OkaClustering"]


@dataclass(frozen=True, slots=True)
class OkaClustering(ClusteringAlgorithm):
    """⌊n/k⌋ seeded starts; each person joins the nearest running centroid; then adjustment.

    Adjustment takes the outermost members of every cluster above k and gives each to the
    nearest cluster still below k, or, once all have k, to the nearest of all. Since fewer
    than k people are then left, no cluster passes 2k−1.

    Time O(n²·D / k), memory O(n·D).
    """

    name = "oka"

    def _group(self, points: Points, k: int, random: np.random.Generator) -> Groups:
        starts = random.permutation(len(points))[: len(points) // k]
        groups = [[int(row)] for row in starts]
        centres = points[starts].copy()
        is_start = np.zeros(len(points), dtype=np.bool_)
        is_start[starts] = True
        for row in np.flatnonzero(~is_start).tolist():
            _join(points, groups, centres, row, np.arange(len(groups)))
        for row in _outermost(points, groups, centres, k):
            short = np.flatnonzero([len(rows) < k for rows in groups])
            _join(points, groups, centres, row, short if len(short) else np.arange(len(groups)))
        return [np.array(rows, dtype=np.intp) for rows in groups]


def _join(
    points: Points,
    groups: list[list[int]],
    centres: Points,
    row: int,
    allowed: NDArray[np.intp],
) -> None:
    """Adds a row to the nearest allowed cluster and moves that centroid."""
    cluster = int(allowed[np.argmin(squared_distances(centres[allowed], points[row]))])
    groups[cluster].append(row)
    centres[cluster] += (points[row] - centres[cluster]) / len(groups[cluster])


def _outermost(points: Points, groups: list[list[int]], centres: Points, k: int) -> list[int]:
    """Removes what every cluster has above k, farthest from its centroid first."""
    removed: list[int] = []
    for cluster, rows in enumerate(groups):
        if len(rows) <= k:
            continue
        distances = squared_distances(points[rows], centres[cluster])
        order = np.argsort(-distances, kind="stable")[: len(rows) - k]
        removed += [rows[int(position)] for position in order]
        groups[cluster] = np.delete(np.array(rows), order).tolist()
        centres[cluster] = points[groups[cluster]].mean(axis=0)
    return removed
