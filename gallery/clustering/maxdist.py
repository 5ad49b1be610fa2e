"""Maximum distance: k-Same with starts as far apart as possible (AnonFACES Section 4.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gallery.clustering.partition import ClusteringAlgorithm, Groups, Points
from gallery.clustering.remaining import Remaining, nearest, squared_distances

__all__ = ["MaxDistanceClustering"]


@dataclass(frozen=True, slots=True)
class MaxDistanceClustering(ClusteringAlgorithm):
    """The next start is the person farthest from the nearest earlier start.

    The first start is farthest from the mean. Each start takes its k − 1 nearest; the last
    cluster takes k…2k−1. AnonFACES names the rule without defining the distance to several
    starts; farthest-first (Gonzalez 1985) is used. The seed plays no part.

    Time O(n²·D / k), memory O(n·D).
    """

    name = "max-distance"

    def _group(self, points: Points, k: int, random: np.random.Generator) -> Groups:
        del random
        left = Remaining(points)
        reach = squared_distances(points, points.mean(axis=0))
        is_first = True
        groups = []
        while len(left) >= 2 * k:
            start = int(np.argmax(reach))
            distances = squared_distances(left.points, left.points[start])
            reach = distances.copy() if is_first else np.minimum(reach, distances)
            is_first = False
            distances[start] = -1.0
            positions = nearest(distances, k)
            groups.append(left.take(positions))
            reach = np.delete(reach, positions)
        groups.append(left.take_all())
        return groups
