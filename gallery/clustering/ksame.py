"""k-Same: a face, its k − 1 nearest, again (Newton et al. 2003, Fig. 10)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gallery.clustering.partition import ClusteringAlgorithm, Groups, Points
from gallery.clustering.remaining import Remaining

__all__ = ["KSameClustering"]


@dataclass(frozen=True, slots=True)
class KSameClustering(ClusteringAlgorithm):
    """Takes the next face in a seeded order together with the nearest that remain.

    The last cluster takes all that is left once fewer than 2k remain, so its size is
    k…2k−1. The paper assumes one picture per person; here people are averaged first.

    Time O(n²·D / k), memory O(n·D).
    """

    name = "k-same"

    def _group(self, points: Points, k: int, random: np.random.Generator) -> Groups:
        left = Remaining(points)
        is_left = np.ones(len(points), dtype=np.bool_)
        groups = []
        for row in random.permutation(len(points)):
            if not is_left[row]:
                continue
            taken = (
                left.take_all() if len(left) < 2 * k else _around(left, points[row], int(row), k)
            )
            is_left[taken] = False
            groups.append(taken)
        return groups


def _around(left: Remaining, face: NDArray[np.float64], row: int, k: int) -> NDArray[np.intp]:
    """The face itself, which identical faces must not push out, and its k − 1 nearest."""
    own = left.take(np.flatnonzero(left.rows == row))
    return np.concatenate([own, left.take_nearest(face, k - 1)]) if k > 1 else own
