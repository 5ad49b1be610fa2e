"""Same-size k-means by swaps (the variation described by the ELKI project)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from gallery.clustering.partition import ClusteringAlgorithm, Groups, Points
from gallery.clustering.remaining import squared_distances

__all__ = ["SameSizeKMeansClustering"]


@dataclass(frozen=True, slots=True)
class SameSizeKMeansClustering(ClusteringAlgorithm):
    """⌊n/k⌋ means; people change places only where the squared error falls.

    Starts by k-means++. Whoever has most to lose from a wrong cluster is placed first, in
    the nearest cluster with room. Each round then fixes the means and lets people move to a
    cluster with room, or swap with someone who wants to leave it. Every accepted transfer
    lowers the error against fixed means and so does moving the means: it ends. Sizes stay
    ⌊n/m⌋ or ⌊n/m⌋+1.

    Time O(n²·D / k) per round plus the transfers, memory O(n² / k).

    Attributes:
        max_rounds: upper bound on rounds; more rounds lower the error a little further.
    """

    max_rounds: int = 30
    name = "same-size-k-means"

    def _group(self, points: Points, k: int, random: np.random.Generator) -> Groups:
        count = len(points) // k
        means = _spread_starts(points, count, random)
        seats = _placed(cdist(points, means, "sqeuclidean"))
        for _ in range(self.max_rounds):
            if not _transfer(cdist(points, _means(points, seats), "sqeuclidean"), seats):
                break
        return [np.flatnonzero(seats.cluster == number) for number in range(count)]


@dataclass(slots=True)
class _Seats:
    """Who sits where, under the two sizes that a cluster may have."""

    cluster: NDArray[np.intp]
    sizes: NDArray[np.intp]
    floor: int
    leavers: dict[int, list[int]] = field(default_factory=dict)

    def is_open(self, source: int, target: int) -> bool:
        return bool(self.sizes[source] > self.floor and self.sizes[target] == self.floor)

    def move(self, row: int, target: int) -> None:
        self.sizes[self.cluster[row]] -= 1
        self.sizes[target] += 1
        self.cluster[row] = target


def _spread_starts(points: Points, count: int, random: np.random.Generator) -> Points:
    """k-means++: each next start drawn by its squared distance to the nearest earlier one."""
    chosen = [int(random.integers(len(points)))]
    reach = squared_distances(points, points[chosen[0]])
    while len(chosen) < count:
        total = reach.sum()
        weights = reach / total if total > 0 else None
        chosen.append(int(random.choice(len(points), p=weights)))
        reach = np.minimum(reach, squared_distances(points, points[chosen[-1]]))
    return points[chosen]


def _placed(distances: NDArray[np.float64]) -> _Seats:
    """Everyone in the nearest cluster with room, those with most to lose first."""
    n, count = distances.shape
    floor, extra = divmod(n, count)
    seats = _Seats(np.zeros(n, dtype=np.intp), np.zeros(count, dtype=np.intp), floor)
    closed = np.zeros(count, dtype=np.float64)
    for row in np.argsort(distances.min(axis=1) - distances.max(axis=1), kind="stable"):
        target = int(np.argmin(distances[row] + closed))
        seats.cluster[row] = target
        seats.sizes[target] += 1
        if seats.sizes[target] > floor:
            extra -= 1
            closed[target] = np.inf
        if extra == 0:
            closed[seats.sizes >= floor] = np.inf
    return seats


def _means(points: Points, seats: _Seats) -> Points:
    totals = np.zeros((len(seats.sizes), points.shape[1]), dtype=np.float64)
    np.add.at(totals, seats.cluster, points)
    return totals / seats.sizes[:, None]


def _transfer(distances: NDArray[np.float64], seats: _Seats) -> int:
    """One round against fixed means; the number of transfers."""
    seats.leavers = {}
    own = distances[np.arange(len(distances)), seats.cluster]
    moved = np.zeros(len(distances), dtype=np.bool_)
    transfers = 0
    for row in np.argsort(distances.min(axis=1) - own, kind="stable"):
        if not moved[row]:
            transfers += _try_to_leave(int(row), distances, seats, moved)
    return transfers


def _try_to_leave(
    row: int, distances: NDArray[np.float64], seats: _Seats, moved: NDArray[np.bool_]
) -> int:
    source = int(seats.cluster[row])
    gains = distances[row, source] - distances[row]
    wanted = np.flatnonzero(gains > 0)
    for target in wanted[np.argsort(-gains[wanted], kind="stable")].tolist():
        partner = _partner(source, target, float(gains[target]), distances, seats)
        if partner is None and not seats.is_open(source, target):
            continue
        seats.move(row, target)
        moved[row] = True
        if partner is not None:
            seats.move(partner, source)
            seats.leavers[target].remove(partner)
            moved[partner] = True
        return 1
    if len(wanted):
        seats.leavers.setdefault(source, []).append(row)
    return 0


def _partner(
    source: int, target: int, gain: float, distances: NDArray[np.float64], seats: _Seats
) -> int | None:
    """Whoever wants to leave the target and makes the swap pay most, if anyone does."""
    leavers = seats.leavers.get(target)
    if not leavers:
        return None
    gains = gain + distances[leavers, target] - distances[leavers, source]
    best = int(np.argmax(gains))
    return leavers[best] if gains[best] > 1e-12 * abs(gain) else None
