"""What attacks are given and what they report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from evaluation.faces import Faces
from evaluation.methods.method import Method, Release
from evaluation.metrics.intervals import Proportion
from evaluation.recognisers import Embeddings, Recogniser

__all__ = ["LEAST_OUTSIDERS", "Attack", "Bench", "Finding", "Judge", "Subjects"]
__all__ += ["one_picture_each"]

LEAST_OUTSIDERS: Final = 20
"""People whom an attacker needs to learn from; a run of fewer goes without such attacks."""

MethodMaker = Callable[[], Method]


@dataclass(frozen=True, slots=True)
class Subjects:
    """Who takes part; the groups are disjoint by person.

    Attributes:
        probes: faces that are released, one or more per person.
        gallery: the attacker's photographs: other pictures of the same people, one each,
            and of people who were never released.
        donors: people a method may learn from or lend faces from.
        outsiders: people never released: the attacker trains on them.
    """

    probes: Faces
    gallery: Faces
    donors: Faces
    outsiders: Faces


@dataclass(frozen=True, slots=True)
class Judge:
    """A recogniser with what it sees of the subjects and its threshold on originals.

    Attributes:
        recogniser: turns faces into vectors.
        threshold: cosine at a false match rate of `fmr` on pairs of originals.
        fmr: the rate.
        impostor_pairs: pairs it was fixed on; 0 when the recogniser's own was taken
            because there are too few.
        probes: (P, D) originals of the probes.
        gallery: (G, D) the gallery.
        outsiders: (O, D) outsiders.
    """

    recogniser: Recogniser
    threshold: float
    fmr: float
    impostor_pairs: int
    probes: Embeddings
    gallery: Embeddings
    outsiders: Embeddings

    @property
    def name(self) -> str:
        """Of the recogniser."""
        return self.recogniser.name


@dataclass(slots=True)
class Bench:
    """One method on the bench: its releases, made once and shared by the attacks.

    Attributes:
        subjects: who takes part.
        make: makes a fitted instance of the method, without memory of earlier releases.
        method: the instance that made `release`.
        release: of the probes, under `secret`.
        secret: the releaser's secret.
        releases: further releases of named purposes, kept for other attacks.
    """

    subjects: Subjects
    make: MethodMaker
    method: Method
    release: Release
    secret: bytes
    releases: dict[str, Release] = field(default_factory=dict)
    _seen: dict[tuple[str, str], Embeddings] = field(default_factory=dict)

    def seen(self, judge: Judge, faces: Faces, release: Release, label: str) -> Embeddings:
        """(N, D) what a judge sees of a release; computed once per label."""
        key = (judge.name, label)
        if key not in self._seen:
            self._seen[key] = faces.showing(release.images).embed(judge.recogniser)
        return self._seen[key]

    def anonymized_probes(self, judge: Judge) -> Embeddings:
        """(P, D) what a judge sees of the probes' release."""
        return self.seen(judge, self.subjects.probes, self.release, "probes")


@dataclass(frozen=True, slots=True)
class Finding:
    """What one attacker achieved against one method.

    Attributes:
        attack: `A1`…`A14`.
        variant: what this attacker knows.
        judge: recogniser he used; empty where none was.
        rate: the share of successes with its interval: the figure of the table.
        chance: the same for a guess; below it an attacker is worse than that.
        measures: further figures by name.
        curves: named (N, 2) curves for the plots.
    """

    attack: str
    variant: str
    judge: str
    rate: Proportion
    chance: float
    measures: Mapping[str, float] = field(default_factory=dict)
    curves: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)


def one_picture_each(probes: NDArray[np.int64], gallery: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows of the first picture of every released person whom the gallery knows.

    >>> one_picture_each(np.array([3, 3, 5, 7]), np.array([3, 7])).tolist()
    [0, 3]
    """
    people, first = np.unique(probes, return_index=True)
    return np.asarray(first[np.isin(people, gallery)], np.int64)


class Attack(Protocol):
    """One way to break a release."""

    @property
    def id(self) -> str:
        """`A1`…`A14`."""

    @property
    def question(self) -> str:
        """What it answers, in one line for the report."""

    def run(self, bench: Bench, judges: Sequence[Judge]) -> list[Finding]:
        """Attacks the bench's release, once per judge where a judge is needed."""
