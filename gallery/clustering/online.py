"""Clusters for streams: people come one by one and nobody is ever moved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gallery.clustering.partition import ClusteringAlgorithm, Groups, Points
from gallery.clustering.remaining import Remaining, squared_distances
from gallery.errors import EmbeddingsRejected

__all__ = ["OnlineClustering", "OpenClusters", "Placement"]


@dataclass(frozen=True, slots=True)
class Placement:
    """Where one arrival went.

    Attributes:
        cluster: number of the cluster, from 0; never reused.
        size: people in it now, 1…k.
        is_new: the arrival opened it.
        is_full: it has k people now and takes no more.
    """

    cluster: int
    size: int
    is_new: bool
    is_full: bool


class OpenClusters:
    """The clusters that still take people: at most `max_open` of them, fewer than k in each.

    An arrival joins the nearest open cluster whose centroid lies within `reach`, otherwise
    it opens a new one; when `max_open` are open it joins the nearest whatever the distance.
    A cluster with k people closes. Nothing that was decided is ever changed.

    Time O(max_open · D) per arrival and memory O(max_open · D), however many people came.

    Args:
        k: people in a closed cluster, ≥ 1.
        reach: largest distance to a centroid, in the embedding's unit. Growing it closes
            clusters sooner and makes them less alike.
        max_open: bound on open clusters, ≥ 1. Growing it makes clusters more alike and
            leaves more people waiting in clusters below k.

    Raises:
        EmbeddingsRejected: k or max_open is below 1, or reach is negative.

    >>> clusters = OpenClusters(k=2, reach=1.0)
    >>> [clusters.place(np.array([x])).cluster for x in (0.0, 5.0, 0.5, 0.2)]
    [0, 1, 0, 2]
    """

    def __init__(self, k: int, reach: float, max_open: int = 64) -> None:
        if k < 1 or max_open < 1 or not reach >= 0:
            raise EmbeddingsRejected("k and max_open must be at least 1, reach 0 or more")
        self._k = k
        self._reach = reach
        self._max_open = max_open
        self._numbers: list[int] = []
        self._sizes: list[int] = []
        self._centres = np.zeros((0, 0), dtype=np.float64)
        self._next = 0

    @property
    def open_sizes(self) -> dict[int, int]:
        """People in each open cluster, by cluster number."""
        return dict(zip(self._numbers, self._sizes, strict=True))

    def place(self, point: NDArray[np.floating]) -> Placement:
        """Gives one arrival its cluster, for good.

        Args:
            point: (D,) floats, finite; every arrival has the same D.

        Raises:
            EmbeddingsRejected: the point is not finite or has another D.
        """
        if point.ndim != 1 or not np.isfinite(point).all():
            raise EmbeddingsRejected("an arrival is one finite row of numbers")
        if self._numbers and point.shape[0] != self._centres.shape[1]:
            raise EmbeddingsRejected(f"an arrival needs {self._centres.shape[1]} dimensions")
        position = self._nearest(point.astype(np.float64))
        if position is None:
            return self._open(point.astype(np.float64))
        return self._join(position, point.astype(np.float64))

    def _nearest(self, point: NDArray[np.float64]) -> int | None:
        if not self._numbers:
            return None
        distances = squared_distances(self._centres, point)
        position = int(np.argmin(distances))
        is_within = float(np.sqrt(distances[position])) <= self._reach
        return position if is_within or len(self._numbers) >= self._max_open else None

    def _open(self, point: NDArray[np.float64]) -> Placement:
        number, self._next = self._next, self._next + 1
        if self._k > 1:
            self._numbers.append(number)
            self._sizes.append(1)
            self._centres = np.vstack([self._centres.reshape(-1, len(point)), point])
        return Placement(number, 1, is_new=True, is_full=self._k == 1)

    def _join(self, position: int, point: NDArray[np.float64]) -> Placement:
        number = self._numbers[position]
        size = self._sizes[position] = self._sizes[position] + 1
        self._centres[position] += (point - self._centres[position]) / size
        if size == self._k:
            del self._numbers[position], self._sizes[position]
            self._centres = np.delete(self._centres, position, axis=0)
        return Placement(number, size, is_new=False, is_full=size == self._k)


@dataclass(frozen=True, slots=True)
class OnlineClustering(ClusteringAlgorithm):
    """`OpenClusters` run over the rows in order, then closed.

    Rows count as arrivals, so their order matters. At the end the people in clusters below
    k, whom nobody has seen yet, fill up the fullest of those clusters from the nearest;
    the fewer than k who remain then join the nearest clusters with room below 2k.

    Time O(n·max_open·D + the end), memory O(n + max_open·D). The seed plays no part.

    Attributes:
        reach: see `OpenClusters`; the default suits unit-length face embeddings, where two
            strangers lie about 1.4 apart.
        max_open: see `OpenClusters`.
    """

    reach: float = 1.15
    max_open: int = 64
    name = "online"

    def _group(self, points: Points, k: int, random: np.random.Generator) -> Groups:
        del random
        clusters = OpenClusters(k, self.reach, self.max_open)
        groups: dict[int, list[int]] = {}
        for row, point in enumerate(points):
            groups.setdefault(clusters.place(point).cluster, []).append(row)
        waiting = [np.array(groups.pop(number)) for number in clusters.open_sizes]
        closed = [np.array(rows, dtype=np.intp) for rows in groups.values()]
        return _closed(points, closed, waiting, k)


def _closed(
    points: Points, closed: list[NDArray[np.intp]], waiting: list[NDArray[np.intp]], k: int
) -> Groups:
    """Ends the stream: nobody stays in a cluster below k."""
    while sum(len(rows) for rows in waiting) >= k:
        waiting.sort(key=lambda rows: (-len(rows), rows[0]))
        fullest, others = waiting[0], np.sort(np.concatenate([*waiting[1:], waiting[0][:0]]))
        left = Remaining(points[others])
        filled = others[left.take_nearest(points[fullest].mean(axis=0), k - len(fullest))]
        closed.append(np.concatenate([fullest, filled]))
        waiting = [np.setdiff1d(rows, filled) for rows in waiting[1:]]
        waiting = [rows for rows in waiting if len(rows)]
    for row in np.concatenate([np.zeros(0, dtype=np.intp), *waiting]):
        centres = np.stack([points[rows].mean(axis=0) for rows in closed])
        distances = squared_distances(centres, points[row])
        distances[[len(rows) >= 2 * k - 1 for rows in closed]] = np.inf
        cluster = int(np.argmin(distances))
        closed[cluster] = np.append(closed[cluster], row)
    return closed
