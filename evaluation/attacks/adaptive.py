"""A4 adaptive: an attacker who trains a recogniser on anonymized faces of other people."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from engines.errors import KveilError
from evaluation.attacks.attack import LEAST_OUTSIDERS, Bench, Finding, Judge
from evaluation.attacks.learners import Rows, best_learner, ridge, unit
from evaluation.attacks.pixels import small_rows
from evaluation.attacks.recognition import finding_from_scores
from evaluation.eigenfaces import face_space
from evaluation.methods.method import Release

__all__ = ["AdaptiveRecognition", "training_release"]

TRAINING_SECRET = b"a secret of the attacker's own training set"
_PIXEL_DIRECTIONS = 60


@dataclass(frozen=True, slots=True)
class AdaptiveRecognition:
    """A4: learns, on outsiders, what the original looked like to a judge.

    The first attacker maps the judge's own vectors by a plane. The second sees the vectors
    of all judges and the pixels, tries planes, kernels and a network on people held back,
    and uses what works best. A retrained deep network might find more: a good result here
    is no proof.
    """

    id: ClassVar[str] = "A4"
    question: ClassVar[str] = "Does training on other people's anonymized faces help?"

    def run(self, bench: Bench, judges: Sequence[Judge]) -> list[Finding]:
        """Same protocol as A1 after the learned maps."""
        outsiders, probes = bench.subjects.outsiders, bench.subjects.probes
        inside = np.isin(probes.persons, bench.subjects.gallery.persons)
        release = training_release(bench)
        if release is None or not inside.any():
            return []
        findings = []
        trained, attacked = _all_that_is_seen(bench, judges, release)
        start = 0
        for judge in judges:
            seen = bench.seen(judge, outsiders, release, "outsiders")
            own = slice(start, start + seen.shape[1])
            start = own.stop
            plain = ridge(seen, judge.outsiders)
            restored = plain(bench.anonymized_probes(judge)[inside])
            findings.append(self._finding("linear map on vectors", bench, judge, restored))
            learnt = best_learner(trained, judge.outsiders, own)
            restored = learnt.guess(attacked[inside])
            found = self._finding("best learner on everything", bench, judge, restored)
            measures = {**found.measures, "held_back_found": learnt.found}
            findings.append(replace(found, measures=measures))
        return findings

    def _finding(self, variant: str, bench: Bench, judge: Judge, restored: Rows) -> Finding:
        probes, gallery = bench.subjects.probes, bench.subjects.gallery
        persons = probes.persons[np.isin(probes.persons, gallery.persons)]
        scores = np.asarray(unit(restored) @ judge.gallery.T, np.float32)
        return finding_from_scores(self.id, variant, judge, scores, persons, gallery.persons)


def training_release(bench: Bench) -> Release | None:
    """Outsiders, anonymized by the attacker; made once. None where it cannot be made."""
    outsiders = bench.subjects.outsiders
    if "outsiders" not in bench.releases and outsiders.people >= LEAST_OUTSIDERS:
        with suppress(KveilError):
            bench.releases["outsiders"] = bench.make().anonymize(outsiders, TRAINING_SECRET)
    return bench.releases.get("outsiders")


def _all_that_is_seen(
    bench: Bench, judges: Sequence[Judge], release: Release
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Vectors of every judge and the main directions of the pixels: outsiders, probes."""
    outsiders = bench.subjects.outsiders
    trained = [bench.seen(judge, outsiders, release, "outsiders") for judge in judges]
    attacked = [bench.anonymized_probes(judge) for judge in judges]
    pixels = small_rows(release.images)
    if float(pixels.std()) > 0:
        space = face_space(pixels, _PIXEL_DIRECTIONS)
        trained.append(space.project(pixels))
        attacked.append(space.project(small_rows(bench.release.images)))
    return np.concatenate(trained, axis=1), np.concatenate(attacked, axis=1)
