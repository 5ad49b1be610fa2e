"""What a clustering is: groups of whole people, k…2k−1 in each, nobody left out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gallery.clustering.people import People, people_from_embeddings, renumbered
from gallery.errors import PartitionBroken

__all__ = [
    "ClusteringAlgorithm",
    "Groups",
    "Partition",
    "Points",
    "balanced_sizes",
    "partition_people",
]

Points = NDArray[np.float64]
"""(m, D) float64, one row per person."""
Groups = Sequence[NDArray[np.intp]]
"""One array of row numbers per cluster."""


@dataclass(frozen=True, slots=True)
class Partition:
    """Who shares a cluster with whom.

    Clusters are numbered by their first row, so equal clusterings have equal labels.

    Attributes:
        labels: (n,) intp, cluster of each row, 0…n_clusters−1; owned by the partition.
        persons: (n,) intp, person of each row, 0…n_people−1, numbered by first row.
        k: the size constraint, in people.

    Raises:
        PartitionBroken: a person lies in two clusters, a cluster has fewer than k or more
            than 2k−1 people, or the numbering has holes.

    >>> partition = Partition(np.array([0, 1, 0, 1]), np.array([0, 1, 2, 3]), k=2)
    >>> partition.sizes.tolist(), partition.members(1).tolist()
    ([2, 2], [1, 3])
    """

    labels: NDArray[np.intp]
    persons: NDArray[np.intp]
    k: int

    def __post_init__(self) -> None:
        _check_shape(self.labels, self.persons)
        homes = np.unique(np.stack([self.persons, self.labels], axis=1), axis=0)
        if len(homes) != len(np.unique(self.persons)):
            raise PartitionBroken("a person lies in two clusters; do not release this clustering")
        smallest, largest = int(self.sizes.min()), int(self.sizes.max())
        if smallest < self.k or largest > 2 * self.k - 1:
            raise PartitionBroken(
                f"clusters hold {smallest} to {largest} people, not {self.k} to "
                f"{2 * self.k - 1}; do not release this clustering"
            )

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.labels.max()) + 1

    @property
    def n_people(self) -> int:
        """Number of distinct people."""
        return int(self.persons.max()) + 1

    @property
    def first_rows(self) -> NDArray[np.intp]:
        """(n_people,) intp: the first row of each person."""
        return np.unique(self.persons, return_index=True)[1].astype(np.intp)

    @property
    def people_labels(self) -> NDArray[np.intp]:
        """(n_people,) intp: the cluster of each person."""
        return self.labels[self.first_rows]

    @property
    def sizes(self) -> NDArray[np.intp]:
        """(n_clusters,) intp: distinct people in each cluster."""
        return np.bincount(self.people_labels, minlength=self.n_clusters).astype(np.intp)

    def members(self, cluster: int) -> NDArray[np.intp]:
        """Rows of one cluster, ascending, intp."""
        return np.flatnonzero(self.labels == cluster)


class ClusteringAlgorithm(ABC):
    """A way to divide people into clusters of at least k; each kind has a rule for people."""

    __slots__ = ()

    @property
    @abstractmethod
    def name(self) -> str:
        """Short name for tables and settings."""

    def partition(
        self,
        embeddings: NDArray[np.float32],
        k: int,
        seed: int,
        persons: NDArray[np.integer] | None = None,
    ) -> Partition:
        """Divides people into clusters of k…2k−1.

        Args:
            embeddings: (n, D) float32, one row per picture; any finite scale.
            k: fewest people in a cluster, ≥ 1.
            seed: ≥ 0; the same seed and the same rows give the same clusters.
            persons: (n,) integers saying whose picture each row is; None where every row
                is another person. A person's rows are averaged and never separated.

        Raises:
            EmbeddingsRejected: wrong shape, not finite, or persons that do not match.
            TooFewPeople: fewer than k distinct people.
            PartitionBroken: the rule lost, repeated or misgrouped a person.
        """
        return partition_people(self._group, embeddings, k, seed, persons)

    @abstractmethod
    def _group(self, points: Points, k: int, random: np.random.Generator) -> Groups:
        """The rule; see `partition_people`."""


def partition_people(
    group: Callable[[Points, int, np.random.Generator], Groups],
    embeddings: NDArray[np.float32],
    k: int,
    seed: int,
    persons: NDArray[np.integer] | None = None,
) -> Partition:
    """Runs a rule for people on pictures: averages, groups, checks, spreads back.

    Args:
        group: gets (m, D) float64 points, one per person, k ≤ m, and a random generator;
            returns row numbers per cluster.
        embeddings: as in `ClusteringAlgorithm.partition`.
        k: fewest people in a cluster.
        seed: ≥ 0.
        persons: as in `ClusteringAlgorithm.partition`.

    Raises:
        EmbeddingsRejected: wrong shape, not finite, or persons that do not match.
        TooFewPeople: fewer than k distinct people.
        PartitionBroken: the rule lost, repeated or misgrouped a person.
    """
    people = people_from_embeddings(embeddings, k, persons)
    groups = group(people.points, k, np.random.default_rng(seed))
    return _spread(groups, people, k)


def balanced_sizes(n_people: int, k: int) -> list[int]:
    """Sizes ⌊n/m⌋+1, then ⌊n/m⌋, of the m = ⌊n/k⌋ clusters; they add up to n.

    AnonFACES Algorithm 1 deals out n mod m extra members above k; the number left over is
    n − m·k, which is more than that when k is large and n small.

    >>> balanced_sizes(14, 5), balanced_sizes(8, 3), balanced_sizes(9, 3)
    ([7, 7], [4, 4], [3, 3, 3])
    """
    count = n_people // k
    floor, extra = divmod(n_people, count)
    return [floor + 1] * extra + [floor] * (count - extra)


def _spread(groups: Groups, people: People, k: int) -> Partition:
    if sorted(int(row) for group in groups for row in group) != list(range(len(people.points))):
        raise PartitionBroken("the clustering lost or repeated a person; do not release it")
    labels = np.empty(len(people.points), dtype=np.intp)
    for number, rows in enumerate(groups):
        labels[rows] = number
    return Partition(renumbered(labels[people.of_row]), people.of_row, k)


def _check_shape(labels: NDArray[np.intp], persons: NDArray[np.intp]) -> None:
    if labels.ndim != 1 or labels.shape != persons.shape or not len(labels):
        raise PartitionBroken("labels and persons must be two equally long, non-empty rows")
    for numbers in (labels, persons):
        if not np.array_equal(np.unique(numbers), np.arange(int(numbers.max()) + 1)):
            raise PartitionBroken("clusters and people must be numbered 0, 1, 2… without holes")
