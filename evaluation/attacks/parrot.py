"""A3 parrot: the attacker anonymizes his own photographs the same way and compares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from engines.errors import KveilError
from evaluation.attacks.attack import Bench, Finding, Judge
from evaluation.attacks.recognition import finding_from_scores

__all__ = ["ParrotRecognition"]

ATTACKERS_SECRET = b"a secret that the attacker draws for himself"


@dataclass(frozen=True, slots=True)
class ParrotRecognition:
    """A3: with a secret of his own, and with the releaser's stolen one.

    Either attacker has the software and its weights. With the stolen secret he also knows
    in which order people were enrolled; a keyed method then tells him everything, which is
    why secrets rotate and are kept apart from releases.
    """

    id: ClassVar[str] = "A3"
    question: ClassVar[str] = "Does anonymizing one's own photographs lead to a match?"

    def run(self, bench: Bench, judges: Sequence[Judge]) -> list[Finding]:
        """Anonymized photographs of released people against the release."""
        probes, everybody = bench.subjects.probes, bench.subjects.gallery
        gallery = everybody.take(np.isin(everybody.persons, probes.persons))
        if not len(gallery):
            return []
        inside = np.isin(probes.persons, gallery.persons)
        secrets = {"fresh secret": ATTACKERS_SECRET, "stolen secret": bench.secret}
        findings = []
        for variant, secret in secrets.items():
            try:
                release = bench.make().anonymize(gallery, secret)
            except KveilError:
                continue
            for judge in judges:
                mine = bench.seen(judge, gallery, release, f"parrot {variant}")
                scores = bench.anonymized_probes(judge)[inside] @ mine.T
                findings.append(
                    finding_from_scores(
                        self.id,
                        variant,
                        judge,
                        scores,
                        probes.persons[inside],
                        gallery.persons,
                    )
                )
        return findings
