"""The rolling buffer of k-clusters: a state machine that only ever adds.

A cluster is *open* while it holds fewer than k people, *releasable* from its k-th person on,
and *retired* when its window ends, all clusters of a window at once. People join open clusters
in order of arrival and never leave, move or lose their slot; a full cluster takes nobody. So the
people who could have caused a release, those in the cluster when it was made, can only be added
to by time, never taken from. Where surrogates match their people's attributes, all people of a
cluster have the same: the untouched head shows them to everybody, and would tell others apart.

A *record* is one pseudonym; a *person* is the set of records that may be one human being. Records
in doubt sit in the cluster of the record they resemble and count with it as one person: whatever
the truth, the number of people in the cluster is not overstated, and a later merge changes no
count.

The buffer holds no embeddings and draws no random numbers: the same entries in the same order give
the same buffer in every worker.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gallery.entries import Entry, Joined, Same, Settled
from gallery.errors import BufferBroken
from gallery.settings import GallerySettings

__all__ = ["Buffer", "Cluster", "Placement", "Record"]


@dataclass(slots=True)
class Record:
    """One pseudonym.

    Attributes:
        person: the record that stands for the person.
        cluster: id of its cluster; never changes.
        slot: place in the cluster; never changes.
        is_apart: was seen together with the record it resembles.
        bin: the person's own attributes; "" where unknown.
        alias: the record that it was found to be the same as; itself where none.
    """

    person: int
    cluster: int
    slot: int
    is_apart: bool
    bin: str
    alias: int


@dataclass(slots=True)
class Cluster:
    """People who cover for each other.

    Attributes:
        bin: attributes that all its people share; "" for none.
        number: clusters of the same bin that were opened before it.
        records: in order of joining; the index is the slot.
        people: distinct people that count, in order of joining.
    """

    bin: str
    number: int
    records: list[int] = field(default_factory=list)
    people: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a newcomer would join; becomes true when the store accepts the entry."""

    person: int
    cluster: int
    slot: int
    cluster_bin: str


class Buffer:
    """Clusters and records of one window.

    Args:
        settings: k, the policy below k, the number of slots and what is shown of attributes.
    """

    def __init__(self, settings: GallerySettings) -> None:
        self._settings = settings
        self.head = 0
        self.records: dict[int, Record] = {}
        self.clusters: dict[int, Cluster] = {}
        self.people = 0
        self.settled: dict[tuple[int, bytes], int] = {}  # draws, by record and place
        self._open: dict[str, int] = {}  # the one open cluster of each bin
        self._opened: dict[str, int] = {}  # clusters of each bin
        self._people_by_bin: dict[str, int] = {}

    def place(self, resembles: int | None, own_bin: str) -> Placement | None:
        """Where the next record would join, if the very next entry is its joining.

        Args:
            resembles: the record that it may be the same person as; None for a stranger.
            own_bin: the newcomer's attributes, "" where unknown.

        Returns:
            None where the record it resembles sits in a full cluster: no place is safe then,
            since the same person in two clusters would have only itself in common.
        """
        newcomer = self.head + 1
        if resembles is not None:
            record = self.records[self.resolve(resembles)]
            cluster = self.clusters[record.cluster]
            if not self._takes(cluster) or self._spare_slots(cluster) < 1:
                return None
            return Placement(record.person, record.cluster, len(cluster.records), cluster.bin)
        cluster_bin = self._bin_for(own_bin)
        at = self._open.get(cluster_bin, newcomer)
        slot = len(self.clusters[at].records) if at in self.clusters else 0
        return Placement(newcomer, at, slot, cluster_bin)

    def apply(self, number: int, entry: Entry) -> None:
        """Make the change that the store has accepted as entry `number`.

        Raises:
            BufferBroken: it does not follow, or would split a person or overfill a cluster.
        """
        if number != self.head + 1:
            raise BufferBroken(f"entry {number} follows {self.head}: purge the store")
        if isinstance(entry, Joined):
            self._join(number, entry)
        elif isinstance(entry, Same):
            self._merge(entry)
        else:
            self._settle(entry)
        self.head = number

    def resolve(self, record: int) -> int:
        """The record that stands for this one after all merges."""
        while self.records[record].alias != record:
            record = self.records[record].alias
        return record

    def draw_of(self, record: int, place: bytes) -> int | None:
        """Which draw a record's surrogate is in a place; None where that is not settled."""
        return self.settled.get((self.resolve(record), place))

    def candidates(self, record: int) -> tuple[int, ...]:
        """People who could cause a release of this record, in order of joining.

        The same whenever it is asked, by whichever worker, once the record may be released.
        Below k, those who had joined by the time that the person did: whoever came later
        cannot have caused what was shown at once. Where people are covered until the cluster
        is full, all k of them.
        """
        mine = self.records[record]
        people = self.clusters[mine.cluster].people
        if self._settings.below_k == "cover":
            return tuple(people)
        return tuple(people[: people.index(mine.person) + 1])

    def is_releasable(self, record: int) -> bool:
        """Whether the record's cluster holds k people."""
        people = self.clusters[self.records[record].cluster].people
        return len(people) >= self._settings.k

    def may_merge(self, record: int, other: int) -> bool:
        """Whether both can become one record without shrinking any released candidate set."""
        if record == other or self.resolve(record) != record or self.resolve(other) != other:
            return False
        mine, theirs = self.records[record], self.records[other]
        if mine.is_apart or theirs.is_apart:
            return False
        if mine.person == theirs.person:
            return True
        cluster = self.clusters[mine.cluster]
        if self._is_released(cluster):
            return False
        if self._spare_slots(cluster) < 1:  # the person taken out leaves its slot behind
            return False
        if mine.cluster == theirs.cluster:
            return True
        return self._records_of(cluster, mine.person) == [record]

    def states(self) -> tuple[int, int]:
        """Open and releasable clusters, counted."""
        releasable = sum(len(c.people) >= self._settings.k for c in self.clusters.values())
        return len(self.clusters) - releasable, releasable

    def _bin_for(self, own_bin: str) -> str:
        """The bin of the cluster that a new person of a bin joins."""
        if self._settings.attributes == "matched":
            return own_bin
        is_shared = self._people_by_bin.get(own_bin, 0) + 1 >= self._settings.k
        return own_bin if is_shared and self._settings.attributes == "coarse" else ""

    def _takes(self, cluster: Cluster) -> bool:
        return len(cluster.people) < self._settings.k

    def _spare_slots(self, cluster: Cluster) -> int:
        """Slots beyond those that the cluster needs to reach k people."""
        missing = self._settings.k - len(cluster.people)
        return self._settings.slots - len(cluster.records) - missing

    def _is_released(self, cluster: Cluster) -> bool:
        """Whether anybody in it may have been shown: conservative, from the log alone."""
        return self._settings.below_k == "swap" or not self._takes(cluster)

    def _records_of(self, cluster: Cluster, person: int) -> list[int]:
        return [r for r in cluster.records if self.records[r].person == person]

    def _join(self, number: int, entry: Joined) -> None:
        cluster = self.clusters.get(entry.cluster)
        if cluster is None:
            if entry.cluster != number:
                raise BufferBroken(f"entry {number} joins a cluster that does not exist")
            cluster = Cluster(entry.cluster_bin, self._opened.get(entry.cluster_bin, 0))
        if not self._takes(cluster) or entry.slot != len(cluster.records):
            raise BufferBroken(f"entry {number} would overfill a cluster or share a slot")
        if entry.cluster != self._open.get(entry.cluster_bin, number):
            raise BufferBroken(f"entry {number} joins a cluster that is not the open one")
        if entry.slot >= self._settings.slots or entry.cluster_bin != cluster.bin:
            raise BufferBroken(f"entry {number} does not fit its cluster")
        if entry.person == number and entry.cluster_bin != self._bin_for(entry.own_bin):
            raise BufferBroken(f"entry {number} joins a cluster of people of other looks")
        if entry.person != number and entry.person not in cluster.people:
            raise BufferBroken(f"entry {number} would split a person over two clusters")
        if entry.cluster not in self.clusters:
            self._opened[cluster.bin] = cluster.number + 1
        self.clusters[entry.cluster] = cluster
        self.records[number] = Record(
            entry.person, entry.cluster, entry.slot, entry.is_apart, entry.own_bin, number
        )
        cluster.records.append(number)
        if entry.person == number:
            cluster.people.append(number)
            self.people += 1
            count = self._people_by_bin.get(entry.own_bin, 0)
            self._people_by_bin[entry.own_bin] = count + 1
        if self._takes(cluster):
            self._open[cluster.bin] = entry.cluster
        else:
            del self._open[cluster.bin]

    def _settle(self, entry: Settled) -> None:
        if entry.record not in self.records or (entry.record, entry.place) in self.settled:
            raise BufferBroken("an entry would change a surrogate, or settles nobody's")
        self.settled[entry.record, entry.place] = entry.draw

    def _merge(self, entry: Same) -> None:
        if not {entry.record, entry.other} <= self.records.keys():
            raise BufferBroken("a merge names a record that does not exist")
        if not self.may_merge(entry.record, entry.other):
            raise BufferBroken("a merge would shrink a released candidate set")
        mine, theirs = self.records[entry.record], self.records[entry.other]
        mine.alias = entry.other
        if mine.person == theirs.person:
            return
        cluster, person = self.clusters[mine.cluster], mine.person
        if mine.cluster == theirs.cluster:
            for record in self._records_of(cluster, person):
                self.records[record].person = theirs.person
        cluster.people.remove(person)
        self.people -= 1
        self._people_by_bin[mine.bin] -= 1
