"""A6 whole track: all anonymized pictures of a person averaged before they are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from evaluation.attacks.attack import Bench, Finding, Judge
from evaluation.attacks.recognition import finding_from_scores

__all__ = ["WholeTrack", "person_templates"]


def person_templates(
    rows: NDArray[np.float32], persons: NDArray[np.int64]
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Unit mean of each person's rows.

    Returns:
        (M, D) templates and the (M,) people, ascending.

    >>> person_templates(np.eye(2, dtype=np.float32), np.array([4, 4]))[0].round(3).tolist()
    [[0.7070000171661377, 0.7070000171661377]]
    """
    people, index = np.unique(persons, return_inverse=True)
    sums = np.zeros((len(people), rows.shape[1]))
    np.add.at(sums, index, rows)
    length = np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)
    return np.asarray(sums / length, np.float32), people


@dataclass(frozen=True, slots=True)
class WholeTrack:
    """A6: what differs between pictures averages out, what they share stays."""

    id: ClassVar[str] = "A6"
    question: ClassVar[str] = "Do several anonymized pictures of a person add up to a match?"

    def run(self, bench: Bench, judges: Sequence[Judge]) -> list[Finding]:
        """Templates of people released at least twice, against the gallery."""
        probes, gallery = bench.subjects.probes, bench.subjects.gallery
        people, counts = np.unique(probes.persons, return_counts=True)
        several = np.isin(probes.persons, people[counts > 1])
        several &= np.isin(probes.persons, gallery.persons)
        if not several.any():
            return []
        findings = []
        for judge in judges:
            seen = bench.anonymized_probes(judge)[several]
            templates, owners = person_templates(seen, probes.persons[several])
            scores = templates @ judge.gallery.T
            variant = "mean of a person's pictures"
            findings.append(
                finding_from_scores(self.id, variant, judge, scores, owners, gallery.persons)
            )
        return findings
