"""A8 intersection, A10 duplicates, A11 known weights: what the sets of candidates give away.

These attackers need no recogniser. They know, or infer from equal faces, which people could
have caused a face, and they count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from engines.errors import KveilError
from evaluation.attacks.attack import Bench, Finding, Judge
from evaluation.methods.anonfaces import effective_people
from evaluation.methods.method import Release
from evaluation.metrics.intervals import clustered

__all__ = ["Duplicates", "Intersection", "KnownWeights", "candidate_sets"]

_RELEASES = 3
_PRESENT = 0.7
_MOST_COUNTED = 200


def candidate_sets(release: Release, persons: NDArray[np.int64]) -> dict[int, frozenset[int]]:
    """People who could have caused each person's faces in a release.

    A face that depends on nobody leaves everybody a candidate.
    """
    everybody = frozenset(int(person) for person in persons)
    by_cluster: dict[int, set[int]] = {}
    for cluster, person in zip(release.clusters, persons, strict=True):
        by_cluster.setdefault(int(cluster), set()).add(int(person))
    sets: dict[int, frozenset[int]] = {}
    for cluster, person in zip(release.clusters, persons, strict=True):
        own = everybody if cluster < 0 else frozenset(by_cluster[int(cluster)])
        sets[int(person)] = sets.get(int(person), everybody) & own
    return sets


def _finding(attack: str, variant: str, sizes: dict[int, int], population: int) -> Finding:
    values = np.array(list(sizes.values()))
    singled_out = clustered(values == 1, sizes.keys())
    measures = {"least": float(values.min()), "mean": float(values.mean())}
    return Finding(attack, variant, "", singled_out, 1.0 if population == 1 else 0.0, measures)


@dataclass(frozen=True, slots=True)
class Intersection:
    """A8: a person's candidates over several releases, intersected.

    The rate is the share of people singled out. The second attacker also knows who was
    present in each release, of which each person is in 70 %. At most 200 people, one
    picture each: what an intersection leaves depends on k, not on how many there are.
    """

    id: ClassVar[str] = "A8"
    question: ClassVar[str] = "How many candidates remain after several releases?"

    def run(self, bench: Bench, judges: Sequence[Judge]) -> list[Finding]:
        """Three releases by the same instance, each with a fresh secret."""
        everybody, first = np.unique(bench.subjects.probes.persons, return_index=True)
        everybody, first = everybody[:_MOST_COUNTED], first[:_MOST_COUNTED]
        counted = bench.subjects.probes.take(first)
        random = np.random.default_rng(8)
        method = bench.make()
        unaware = {int(person): frozenset(map(int, everybody)) for person in everybody}
        aware = dict(unaware)
        for number in range(_RELEASES):
            present = everybody[random.random(len(everybody)) < _PRESENT] if number else everybody
            faces = counted.take(np.isin(counted.persons, present))
            try:
                release = method.anonymize(faces, b"release %d of the intersection" % number)
            except KveilError:
                break
            # Who was away is still a candidate for an attacker who cannot know it.
            absent = frozenset(map(int, everybody)) - frozenset(map(int, present))
            for person, own in candidate_sets(release, faces.persons).items():
                aware[person] &= own
                unaware[person] &= own | absent
        population = len(everybody)
        return [
            _finding(self.id, variant, {p: len(c) for p, c in sets.items()}, population)
            for variant, sets in (
                ("presence unknown", unaware),
                ("presence known", aware),
            )
        ]


@dataclass(frozen=True, slots=True)
class Duplicates:
    """A10: one person enters several times; k must count people, not pictures."""

    id: ClassVar[str] = "A10"
    question: ClassVar[str] = "Does a person who enters twice fill a cluster with himself?"

    def run(self, bench: Bench, judges: Sequence[Judge]) -> list[Finding]:
        """Probes thrice, once darker and once lighter; candidates counted on people.

        At most 200 probes: one picture that fills a cluster is fault enough.
        """
        few = np.arange(min(_MOST_COUNTED, len(bench.subjects.probes)))
        probes = bench.subjects.probes.take(few)
        darker = (probes.images * 0.9).astype(np.uint8)
        lighter = np.minimum(probes.images.astype(np.int16) + 12, 255).astype(np.uint8)
        faces = probes.joined(probes.showing(darker)).joined(probes.showing(lighter))
        release = bench.make().anonymize(faces, bench.secret)
        sizes = {p: len(c) for p, c in candidate_sets(release, faces.persons).items()}
        return [_finding(self.id, "three pictures each", sizes, probes.people)]


@dataclass(frozen=True, slots=True)
class KnownWeights:
    """A11: the attacker knows the mixing weights, and strikes out donors and decoys.

    The rate is the share of faces of which one real person makes up more than half of the
    real people's weight. `k_eff` is exp H(w) over real people; 0 where none has any.
    """

    id: ClassVar[str] = "A11"
    question: ClassVar[str] = "Does one person outweigh the others in a face?"

    def run(self, bench: Bench, judges: Sequence[Judge]) -> list[Finding]:
        """Reads the weights of the release."""
        persons, mixing = bench.subjects.probes.persons, bench.release.mixing
        effective = effective_people(mixing, persons)
        _, index = np.unique(persons, return_inverse=True)
        shares = np.zeros((len(mixing), int(index.max()) + 1))
        np.add.at(shares.T, index, mixing.T)
        largest = shares.max(axis=1)
        mixed = effective > 0
        measures = {
            "least_k_eff": float(effective[mixed].min()) if mixed.any() else 0.0,
            "without_real_weight": float((~mixed).mean()),
        }
        rate = clustered(largest > 0.5, persons)
        return [Finding(self.id, "weights known", "", rate, 0.0, measures)]
