"""MDAV: maximum distance to the average vector (Domingo-Ferrer and Torra 2005)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gallery.clustering.partition import ClusteringAlgorithm, Groups, Points
from gallery.clustering.remaining import Remaining

__all__ = ["MdavClustering"]


@dataclass(frozen=True, slots=True)
class MdavClustering(ClusteringAlgorithm):
    """Clusters at both ends: around the farthest from the mean, and the farthest from that.

    While 3k or more are left both ends are taken; with 2k…3k−1 left one end and the rest;
    below 2k the rest is one cluster of k…2k−1. The seed plays no part.

    Time O(n²·D / k), memory O(n·D).
    """

    name = "mdav"

    def _group(self, points: Points, k: int, random: np.random.Generator) -> Groups:
        del random
        left = Remaining(points)
        groups = []
        while len(left) >= 3 * k:
            first = left.farthest(left.points.mean(axis=0))
            second = left.farthest(first)
            groups.append(left.take_nearest(first, k))
            groups.append(left.take_nearest(second, k))
        if len(left) >= 2 * k:
            end = left.farthest(left.points.mean(axis=0))
            groups.append(left.take_nearest(end, k))
        groups.append(left.take_all())
        return [group for group in groups if len(group)]
