"""People not yet in a cluster, and the two questions that greedy rules ask about them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gallery.clustering.partition import Points

__all__ = ["Remaining", "nearest", "squared_distances"]


def squared_distances(points: Points, target: NDArray[np.float64]) -> NDArray[np.float64]:
    """(m,) squared Euclidean distances from each of (m, D) points to a (D,) target.

    Differences are taken before squaring, so identical rows are equally far to the last bit
    and ties are real ties.

    >>> squared_distances(np.array([[0.0], [3.0]]), np.array([1.0])).tolist()
    [1.0, 4.0]
    """
    difference = points - target
    return np.asarray(np.einsum("ij,ij->i", difference, difference), dtype=np.float64)


def nearest(distances: NDArray[np.float64], count: int) -> NDArray[np.intp]:
    """Positions of the `count` smallest distances, ascending; ties go to the lower position.

    >>> nearest(np.array([2.0, 1.0, 2.0, 0.0]), 3).tolist()
    [0, 1, 3]
    """
    if count >= len(distances):
        return np.arange(len(distances), dtype=np.intp)
    limit = np.partition(distances, count - 1)[count - 1]
    sure = np.flatnonzero(distances < limit)
    tied = np.flatnonzero(distances == limit)[: count - len(sure)]
    return np.sort(np.concatenate([sure, tied])).astype(np.intp)


class Remaining:
    """A shrinking set of points, kept in row order.

    Args:
        points: (m, D) float64; not kept after rows are taken.

    >>> left = Remaining(np.array([[0.0], [1.0], [9.0]]))
    >>> left.take_nearest(np.array([0.4]), 2).tolist(), len(left)
    ([0, 1], 1)
    """

    def __init__(self, points: Points) -> None:
        self.points = points
        self.rows = np.arange(len(points), dtype=np.intp)

    def __len__(self) -> int:
        return len(self.rows)

    def farthest(self, target: NDArray[np.float64]) -> NDArray[np.float64]:
        """The (D,) point farthest from the target; ties go to the lower row."""
        position = int(np.argmax(squared_distances(self.points, target)))
        return np.array(self.points[position], dtype=np.float64)

    def take_nearest(self, target: NDArray[np.float64], count: int) -> NDArray[np.intp]:
        """Removes the `count` points nearest to the target; their rows, ascending."""
        return self.take(nearest(squared_distances(self.points, target), count))

    def take(self, positions: NDArray[np.intp]) -> NDArray[np.intp]:
        """Removes the points at these positions among the remaining; their rows."""
        taken = self.rows[positions]
        self.rows = np.delete(self.rows, positions)
        self.points = np.delete(self.points, positions, axis=0)
        return taken

    def take_all(self) -> NDArray[np.intp]:
        """Removes everything; the rows, ascending."""
        return self.take(np.arange(len(self.rows), dtype=np.intp))
