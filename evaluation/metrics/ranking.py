"""Identification: where the true person stands in a ranked gallery."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.intervals import Proportion, clustered

__all__ = ["Ranking", "ranking_from_scores", "true_ranks"]

Persons = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Ranking:
    """Identification of probes in a gallery.

    Attributes:
        rank_1: share of probes whose best match is the right person.
        mean_rank_over_chance: mean rank of the right person ÷ (G + 1) / 2, the rank of a
            guess among G people: 1 is chance, 0 is certainty. Above 1 is no privacy either:
            the attacker turns his list around.
        cmc: (G,) share of probes whose right person is among the first 1…G.
        gallery: people in the gallery, G.
    """

    rank_1: Proportion
    mean_rank_over_chance: float
    cmc: NDArray[np.float64]
    gallery: int

    @property
    def chance_rank_1(self) -> float:
        """Rank-1 of a guess."""
        return 1 / self.gallery if self.gallery else 0.0


def true_ranks(
    scores: NDArray[np.float32], probes: Persons, gallery: Persons, seed: int = 0
) -> NDArray[np.int64]:
    """Rank of the right person for each probe.

    A person with several gallery images scores by the best of them. Ties, which covers and
    shared surrogates produce, are broken at random: an attacker who cannot tell guesses.

    Args:
        scores: (P, G) similarity, larger is nearer.
        probes: (P,) person of each probe; every one is in the gallery.
        gallery: (G,) person of each gallery image.
        seed: of the random ties.

    Returns:
        (P,) ranks from 1.

    Raises:
        ValueError: a probe's person is not in the gallery.

    >>> true_ranks(np.array([[0.9, 0.1], [0.8, 0.3]], np.float32), np.array([0, 1]),
    ...            np.array([0, 1])).tolist()
    [1, 2]
    """
    people, column = np.unique(gallery, return_inverse=True)
    place = np.searchsorted(people, probes)
    if len(people) == 0 or not np.array_equal(people[np.minimum(place, len(people) - 1)], probes):
        message = "every probe's person must be in the gallery; leave the others out"
        raise ValueError(message)
    best = np.full((len(probes), len(people)), -np.inf, np.float32)
    for image, person in enumerate(column):
        np.maximum(best[:, person], scores[:, image], out=best[:, person])
    own = best[np.arange(len(probes)), place][:, None]
    ahead = (best > own).sum(axis=1)
    tied = (best == own).sum(axis=1) - 1
    guess = np.random.default_rng(seed).integers(0, tied + 1)
    return np.asarray(1 + ahead + guess, np.int64)


def ranking_from_scores(
    scores: NDArray[np.float32], probes: Persons, gallery: Persons, seed: int = 0
) -> Ranking:
    """Rank-1, cumulative match curve and mean rank; see `true_ranks` for the arguments."""
    ranks = true_ranks(scores, probes, gallery, seed)
    size = len(np.unique(gallery))
    cmc = np.cumsum(np.bincount(ranks - 1, minlength=size)) / max(1, len(ranks))
    chance = (size + 1) / 2
    mean = float(ranks.mean()) / chance if len(ranks) else 0.0
    return Ranking(clustered(ranks == 1, probes), mean, cmc, size)
