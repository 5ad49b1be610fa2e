"""The arithmetic of candidate sets: who could have caused a person's releases.

Three observers are told apart, each stronger than the one before; all know the algorithm and all
lack the window's secret:

- one who knows each cluster's people and **when they were enrolled**: a release can come from
  whoever was in the cluster by then. A person's candidates are the intersection over all releases;
  their number is `k_real`.
- one who moreover **reasons jointly**: each surrogate of a cluster belongs to one person, so
  releases explained by few exclude them from others. The number left is `k_joint`.
- one who moreover knows **who was in view** before the same camera in the same period: `k_present`.

`k_real` and `k_joint` cannot fall after a person's first release: the ledger refuses, and its check
verifies. `k_present` is measured, not promised: nobody can be given company who is not there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from gallery.settings import BelowK

__all__ = ["Accounts", "Release", "Standing", "joint_candidates"]

Who = tuple[str, int]
"""A window, and a record or a cluster within it."""


@dataclass(frozen=True, slots=True)
class Release:
    """A surrogate was shown for a person.

    Attributes:
        window: id of the window.
        person: the record that stands for the person.
        record: the pseudonym whose surrogate was shown.
        cluster: id of the cluster that lent it.
        slot: the pseudonym's place in it.
        candidates: people who could have caused it, the person among them.
    """

    window: str
    person: int
    record: int
    cluster: int
    slot: int
    candidates: tuple[int, ...]


@dataclass(slots=True)
class Standing:
    """What is left of a person's candidates after all releases so far.

    Attributes:
        promised: the most candidates that any release of the person claimed.
        candidates: intersection over all releases.
        cluster: id of the cluster.
        present: intersection over all periods of the people in view; None before the first
            period is over.
    """

    promised: int
    candidates: tuple[int, ...]
    cluster: int
    present: frozenset[int] | None = None


@dataclass(slots=True)
class _Lent:
    """What a cluster has shown: record → person, slot, candidates at its first release."""

    by_record: dict[int, tuple[int, int, tuple[int, ...]]] = field(default_factory=dict)


def joint_candidates(first_releases: Sequence[tuple[int, int]]) -> list[int]:
    """Candidates of each person of a cluster that joint reasoning leaves.

    Candidate sets of one cluster are nested, as people only ever join: set i holds the first
    n_i people. Once t people's surrogates were first shown while the cluster held at most t
    people, those t people are used up: they explain exactly these. So person i keeps n_i less
    the largest such t below n_i (Hall's theorem on nested sets).

    Args:
        first_releases: person, and number of candidates n at the first release, per person.

    Returns:
        For each of them, how many candidates are left, at least 1.

    >>> joint_candidates([(1, 1), (2, 2), (3, 3)])   # released one by one: each is known
    [1, 1, 1]
    >>> joint_candidates([(1, 3), (2, 3), (3, 3)])   # released once all were there
    [3, 3, 3]
    """
    sizes = [n for _, n in first_releases]
    tight = [t for t in range(1, max(sizes, default=0)) if sum(n <= t for n in sizes) >= t]
    return [n - max((t for t in tight if t < n), default=0) for n in sizes]


class Accounts:
    """Standing of every person over all releases taken in, in whatever order.

    Args:
        k: people that a full cluster holds.
        below_k: the policy; with "cover" no release may have fewer than k candidates.
    """

    def __init__(self, k: int, below_k: BelowK = "swap") -> None:
        self.k = k
        self.below_k = below_k
        self.people: dict[Who, Standing] = {}
        self.violations: list[str] = []
        self.releases = 0
        self.lone_releases = 0
        self.windows: set[str] = set()
        self._lent: dict[Who, _Lent] = {}
        self._real: Counter[int] = Counter()
        self._joint: Counter[int] = Counter()
        self._present: Counter[int] = Counter()

    def prospect(self, release: Release) -> int:
        """How many candidates the person would keep; 0 where the release must not happen.

        It must not where it would leave the person fewer candidates than promised, up to k,
        where the policy demands k and they are fewer, or where another record holds the slot.
        """
        return 0 if self._faults(release) else len(self._left(release))

    def add(self, release: Release) -> int:
        """Take a release in; number of candidates that the person keeps.

        A release that breaks a promise is taken in all the same and noted in `violations`:
        what happened, happened.
        """
        self._blame(self._faults(release))
        left = self._left(release)
        who = (release.window, release.person)
        standing = self.people.setdefault(who, Standing(0, left, release.cluster))
        standing.promised = max(standing.promised, len(release.candidates))
        standing.candidates = left
        self.releases += 1
        self.windows.add(release.window)
        lent = self._lent.setdefault((release.window, release.cluster), _Lent())
        held = lent.by_record.get(release.record)
        if held is None or len(release.candidates) < len(held[2]):
            lent.by_record[release.record] = (release.person, release.slot, release.candidates)
        return len(left)

    def add_lone(self, window: str) -> None:
        """Take in that a face was lent that belongs to no cluster.

        Whoever comes into view may cause it, so it takes nobody's candidates away, and nobody
        gains any. Where every release must have k candidates there may be none.
        """
        if self.below_k == "cover":
            where = f"window {window[:8]}"
            self._blame([f"{where}: a face of no cluster, and the policy demands {self.k}"])
        self.lone_releases += 1
        self.windows.add(window)

    def add_period(self, window: str, people: Iterable[int]) -> None:
        """Take in who of one cluster was shown before one camera in one period."""
        together = frozenset(people)
        for person in together:
            standing = self.people.get((window, person))
            if standing is not None:
                before = standing.present
                standing.present = together if before is None else before & together

    def fold(self, but: str) -> None:
        """Keep only the numbers of all windows but one, so that memory stays bounded."""
        for window in sorted({window for window, _ in self.people} - {but}):
            people = [s for (w, _), s in self.people.items() if w == window]
            self._real.update(len(s.candidates) for s in people)
            self._present.update(len(s.present) for s in people if s.present is not None)
            self._joint.update(self._joint_of(window))
            self.people = {who: s for who, s in self.people.items() if who[0] != window}
            self._lent = {who: lent for who, lent in self._lent.items() if who[0] != window}

    def k_real(self) -> list[int]:
        """Candidates of every released person, ascending."""
        now = [len(standing.candidates) for standing in self.people.values()]
        return sorted([*self._real.elements(), *now])

    def k_joint(self) -> list[int]:
        """The same under joint reasoning, ascending."""
        now = [n for window in {w for w, _ in self._lent} for n in self._joint_of(window)]
        return sorted([*self._joint.elements(), *now])

    def k_present(self) -> list[int]:
        """Candidates that were in view whenever the person was, ascending."""
        now = [len(s.present) for s in self.people.values() if s.present is not None]
        return sorted([*self._present.elements(), *now])

    def _joint_of(self, window: str) -> list[int]:
        left: list[int] = []
        for (its_window, _), lent in self._lent.items():
            if its_window == window:
                first: dict[int, int] = {}
                for person, _, candidates in lent.by_record.values():
                    first[person] = min(len(candidates), first.get(person, len(candidates)))
                left += joint_candidates(list(first.items()))
        return left

    def _blame(self, faults: list[str]) -> None:
        """Note faults; the first thousand tell enough, and memory is bounded."""
        self.violations += faults[: max(0, 1000 - len(self.violations))]

    def _left(self, release: Release) -> tuple[int, ...]:
        standing = self.people.get((release.window, release.person))
        if standing is None:
            return release.candidates
        if standing.candidates == release.candidates:
            return standing.candidates
        return tuple(c for c in standing.candidates if c in release.candidates)

    def _faults(self, release: Release) -> list[str]:
        """What is wrong with a release, in words; empty where all is well."""
        faults: list[str] = []
        standing = self.people.get((release.window, release.person))
        if release.person not in release.candidates:
            faults.append("the person is not among its own candidates")
        if self.below_k == "cover" and len(release.candidates) < self.k:
            faults.append(f"{len(release.candidates)} candidates, and the policy demands {self.k}")
        if standing is not None:
            floor = min(self.k, max(standing.promised, len(release.candidates)))
            left = len(self._left(release))
            if left < floor:
                faults.append(f"candidates fell from {floor} to {left}")
            if standing.cluster != release.cluster:
                faults.append("the person changed clusters")
        faults += self._cluster_faults(release)
        where = f"window {release.window[:8]}, record {release.record}"
        return [f"{where}: {fault}" for fault in faults]

    def _cluster_faults(self, release: Release) -> list[str]:
        """What does not fit the other releases of the cluster."""
        faults: list[str] = []
        lent = self._lent.get((release.window, release.cluster))
        for record, (_, slot, candidates) in lent.by_record.items() if lent else ():
            if (record == release.record) != (slot == release.slot):
                faults.append(f"slot {release.slot} is shared with record {record}, or changed")
            short, long = sorted((candidates, release.candidates), key=len)
            if long[: len(short)] != short:
                faults.append(f"its candidates and those of record {record} are not nested")
        return faults
