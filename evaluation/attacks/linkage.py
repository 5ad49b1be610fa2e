"""A7 linkage: is a person of one release found in the next, made under another secret?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from engines.errors import KveilError
from evaluation.attacks.attack import Bench, Finding, Judge
from evaluation.attacks.recognition import finding_from_scores

__all__ = ["Linkage"]

_NEXT_SECRET = b"the releaser's secret of the next period"


@dataclass(frozen=True, slots=True)
class Linkage:
    """A7: the same releaser, who remembers people, releases other pictures of them later.

    Within one period a surrogate links a person's pictures: that is what it is for. Across
    periods nothing should, beyond what the surroundings of the face show.
    """

    id: ClassVar[str] = "A7"
    question: ClassVar[str] = "Is a person of one release found in the next one?"

    def run(self, bench: Bench, judges: Sequence[Judge]) -> list[Finding]:
        """Matches the release of the probes with a later one of the gallery's pictures."""
        probes, everybody = bench.subjects.probes, bench.subjects.gallery
        later = everybody.take(np.isin(everybody.persons, probes.persons))
        inside = np.isin(probes.persons, later.persons)
        if not inside.any():
            return []
        try:
            release = bench.method.anonymize(later, _NEXT_SECRET)
        except KveilError:
            return []
        return [
            finding_from_scores(
                self.id,
                "next period",
                judge,
                bench.anonymized_probes(judge)[inside]
                @ bench.seen(judge, later, release, "next period").T,
                probes.persons[inside],
                later.persons,
            )
            for judge in judges
        ]
