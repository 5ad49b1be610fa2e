"""A1 naive and A2 reverse: originals against anonymized faces, and the other way round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from evaluation.attacks.attack import Bench, Finding, Judge
from evaluation.metrics.permutation import chance_floor
from evaluation.metrics.ranking import ranking_from_scores
from evaluation.metrics.verification import verification_from_scores

__all__ = ["NaiveRecognition", "ReverseRecognition", "finding_from_scores"]


def finding_from_scores(
    attack: str,
    variant: str,
    judge: Judge,
    scores: NDArray[np.float32],
    probes: NDArray[np.int64],
    gallery: NDArray[np.int64],
) -> Finding:
    """Identification and verification of one score matrix.

    Args:
        attack: id.
        variant: what the attacker knows.
        judge: gives the threshold, fixed on originals.
        scores: (P, G) cosines.
        probes: (P,) people, all of them in the gallery.
        gallery: (G,) people.
    """
    ranking = ranking_from_scores(scores, probes, gallery)
    checked = verification_from_scores(scores, probes, gallery, judge.threshold)
    best = gallery[scores.argmax(axis=1)]
    floor = chance_floor(lambda names: float((best == names).mean()), probes, ranking.rank_1.rate)
    places = np.arange(1, ranking.gallery + 1, dtype=np.float64)
    return Finding(
        attack,
        variant,
        judge.name,
        ranking.rank_1,
        ranking.chance_rank_1,
        {
            "tar": checked.tar.rate,
            "tar_lower": checked.tar.lower,
            "tar_upper": checked.tar.upper,
            "strangers_matched": checked.strangers_matched,
            "auc": checked.auc,
            "mean_rank_over_chance": ranking.mean_rank_over_chance,
            "gallery": float(ranking.gallery),
            "permuted_rank_1": floor.mean,
            "permuted_rank_1_upper": floor.upper,
            "p_value": floor.p_value,
        },
        {"roc": checked.curve, "cmc": np.stack([places, ranking.cmc], axis=1)},
    )


@dataclass(frozen=True, slots=True)
class NaiveRecognition:
    """A1: the attacker looks the anonymized face up among photographs of everybody."""

    id: ClassVar[str] = "A1"
    question: ClassVar[str] = "Is the anonymized face found among photographs of everybody?"

    def run(self, bench: Bench, judges: Sequence[Judge]) -> list[Finding]:
        """With other photographs of the people, and with the very ones anonymized."""
        findings = []
        probes, gallery = bench.subjects.probes, bench.subjects.gallery
        for judge in judges:
            seen = bench.anonymized_probes(judge)
            inside = np.isin(probes.persons, gallery.persons)
            if inside.any():
                scores = seen[inside] @ judge.gallery.T
                findings.append(
                    finding_from_scores(
                        self.id,
                        "other photograph",
                        judge,
                        scores,
                        probes.persons[inside],
                        gallery.persons,
                    )
                )
            scores = seen @ judge.probes.T
            findings.append(
                finding_from_scores(
                    self.id, "same photograph", judge, scores, probes.persons, probes.persons
                )
            )
        return findings


@dataclass(frozen=True, slots=True)
class ReverseRecognition:
    """A2: the attacker has a photograph of one person and searches the release."""

    id: ClassVar[str] = "A2"
    question: ClassVar[str] = "Is a known person found in the release?"

    def run(self, bench: Bench, judges: Sequence[Judge]) -> list[Finding]:
        """Photographs of released people against the anonymized faces."""
        findings = []
        probes, gallery = bench.subjects.probes, bench.subjects.gallery
        inside = np.isin(gallery.persons, probes.persons)
        for judge in judges:
            if not inside.any():
                continue
            scores = judge.gallery[inside] @ bench.anonymized_probes(judge).T
            findings.append(
                finding_from_scores(
                    self.id,
                    "other photograph",
                    judge,
                    scores,
                    gallery.persons[inside],
                    probes.persons,
                )
            )
        return findings
