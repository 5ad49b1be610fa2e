"""A9: who is in the mix, and who is in the release at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from evaluation.attacks.attack import LEAST_OUTSIDERS, Bench, Finding, Judge
from evaluation.metrics.intervals import clustered, wilson
from evaluation.metrics.verification import area_under_curve

__all__ = ["MemberDisclosure", "MembershipInference", "expected_centroid_cosine"]


def expected_centroid_cosine(k: int, mean_cosine: float) -> float:
    """Cosine of each of k unit vectors with their centroid: √((1 + (k − 1)ρ) ÷ k).

    Args:
        k: members.
        mean_cosine: ρ, mean cosine between different members.

    >>> round(expected_centroid_cosine(5, 0.1), 3)
    0.529
    """
    return float(np.sqrt(max(0.0, (1 + (k - 1) * mean_cosine) / k)))


@dataclass(frozen=True, slots=True)
class MemberDisclosure:
    """A9, members: is the nearest person to a face one of those it was made from?

    The attacker holds the encoder and photographs of everybody in the release: other ones,
    or, as the worst case, the very ones that were anonymized, whose surroundings then match
    pixel by pixel. A right answer need not name *the* person, only a member; k-anonymity
    does not rule it out. A guess is right as often as members are among the people.
    """

    id: ClassVar[str] = "A9"
    question: ClassVar[str] = "Are the members of a cluster found from its face?"

    def run(self, bench: Bench, judges: Sequence[Judge]) -> list[Finding]:
        """Any member at rank 1, and the share of members among the first k."""
        probes, gallery = bench.subjects.probes, bench.subjects.gallery
        people, first = np.unique(probes.persons, return_index=True)
        known = np.flatnonzero(np.isin(gallery.persons, people))
        findings = []
        for judge in judges:
            seen = bench.anonymized_probes(judge)
            references = {
                "any member first": (judge.gallery[known], gallery.persons[known]),
                "any member first, same photographs": (judge.probes[first], people),
            }
            for variant, (vectors, owners) in references.items():
                members = _members(bench.release.clusters, probes.persons, owners)
                finding = self._finding(variant, judge.name, members, seen @ vectors.T, bench)
                findings += [] if finding is None else [finding]
        return findings

    def _finding(
        self,
        variant: str,
        judge: str,
        members: NDArray[np.bool_],
        scores: NDArray[np.float32],
        bench: Bench,
    ) -> Finding | None:
        faces = np.flatnonzero(members.any(axis=1))
        if not len(faces):
            return None
        sizes = members[faces].sum(axis=1)
        order = np.argsort(-scores[faces], axis=1)
        ranked = np.take_along_axis(members[faces], order, axis=1)
        top_k = np.array([row[:size].mean() for row, size in zip(ranked, sizes, strict=True)])
        chance = float(sizes.mean() / members.shape[1])
        measures = {
            "members_among_first_k": float(top_k.mean()),
            "chance_among_first_k": chance,
            "k": float(sizes.mean()),
        }
        hits = clustered(ranked[:, 0], bench.subjects.probes.persons[faces])
        return Finding(self.id, variant, judge, hits, chance, measures)


def _members(
    clusters: NDArray[np.int64], persons: NDArray[np.int64], owners: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """(N, M) whether the owner of photograph m belongs to the cluster of face n.

    A face that depends on nobody is tested as its own person's: a cover's claim is that
    even he is not found.
    """
    people, index = np.unique(persons, return_inverse=True)
    cluster_names, place = np.unique(clusters, return_inverse=True)
    within = np.zeros((len(cluster_names), len(people)), bool)
    within[place, index] = True
    within[cluster_names < 0] = False
    members = within[place]
    members[np.arange(len(persons)), index] = True
    column = np.searchsorted(people, owners)
    known = people[np.minimum(column, len(people) - 1)] == owners
    return np.asarray(members[:, np.minimum(column, len(people) - 1)] & known[None, :])


@dataclass(frozen=True, slots=True)
class MembershipInference:
    """A9, membership: was this person in the released set at all?

    Scored by his largest cosine with any released face; people of the release against
    outsiders. The rate is the share of people of the release above the threshold that one
    outsider in twenty exceeds. Chance is the upper bound of that false rate: with few
    outsiders it is not known better.
    """

    id: ClassVar[str] = "A9m"
    question: ClassVar[str] = "Can it be told who was in the data at all?"

    def run(self, bench: Bench, judges: Sequence[Judge]) -> list[Finding]:
        """AUC of members against outsiders, and the true rate at a false rate of 5 %."""
        probes = bench.subjects.probes
        people, first = np.unique(probes.persons, return_index=True)
        findings = []
        for judge in judges:
            if len(judge.outsiders) < LEAST_OUTSIDERS:
                continue
            seen = bench.anonymized_probes(judge)
            inside = (judge.probes[first] @ seen.T).max(axis=1)
            outside = (judge.outsiders @ seen.T).max(axis=1)
            edge = float(np.quantile(outside, 0.95, method="higher"))
            chance = wilson(int((outside > edge).sum()), len(outside))[1]
            measures = {"auc": area_under_curve(inside, outside)}
            rate = clustered(inside > edge, people)
            findings.append(
                Finding(self.id, "photograph released", judge.name, rate, chance, measures)
            )
        return findings
