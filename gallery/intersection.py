"""What several releases leave of a candidate set: re-clustering against sticky clusters.

A release tells an attacker that the person behind it is one of a cluster. Whoever can say
that two releases show the same person intersects the two clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gallery.clustering.online import OnlineClustering
from gallery.clustering.people import renumbered
from gallery.clustering.shuffle import RandomClustering

__all__ = [
    "CandidateSizes",
    "Releases",
    "candidate_sizes",
    "independent_releases",
    "simulate",
    "sticky_releases",
]

Labels = NDArray[np.intp]
Releases = Callable[[int, int, int, np.random.Generator], Sequence[Labels]]
"""(people, k, releases, random) → the cluster of every person in each release."""

_DIMENSIONS = 16


@dataclass(frozen=True, slots=True)
class CandidateSizes:
    """Candidate sets after some releases of everybody.

    Attributes:
        releases: how many releases were intersected, from 1.
        mean: people who could be behind all of them, mean over people and trials.
        low: lower end of the 95 % interval of the mean, over independent trials.
        high: its upper end.
        smallest: fewest candidates of anybody in any trial.
    """

    releases: int
    mean: float
    low: float
    high: float
    smallest: int


def candidate_sizes(history: Sequence[Labels]) -> NDArray[np.intp]:
    """(n,) people who share all clusters of the history with each person, oneself included.

    The intersection of a person's clusters is the set of people with the same row of labels,
    so it takes a sort and no sets: time O(r·n log n).

    Args:
        history: per release, (n,) the cluster of every person.

    >>> candidate_sizes([np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1])]).tolist()
    [2, 2, 1, 1]
    """
    joint = np.zeros(len(history[0]), dtype=np.intp)
    for labels in history:
        joint = renumbered(joint * (int(labels.max()) + 1) + labels)
    return np.bincount(joint)[joint].astype(np.intp)


def simulate(
    strategy: Releases, people: int, k: int, releases: int, trials: int, seed: int
) -> list[CandidateSizes]:
    """Candidate sets after 1…releases releases of everybody, by Monte Carlo.

    Args:
        strategy: how the clusters of the releases come about.
        people: distinct people, ≥ k.
        k: people in a cluster.
        releases: releases of each person, ≥ 1.
        trials: independent repetitions, ≥ 2.
        seed: ≥ 0.

    Raises:
        TooFewPeople: people < k.

    >>> after = simulate(sticky_releases, 20, 5, 3, trials=2, seed=0)
    >>> [size.smallest for size in after]
    [5, 5, 5]
    """
    means = np.zeros((trials, releases))
    smallest = np.full(releases, people, dtype=np.intp)
    for trial in range(trials):
        history = strategy(people, k, releases, np.random.default_rng([seed, trial]))
        for last in range(releases):
            sizes = candidate_sizes(history[: last + 1])
            means[trial, last] = sizes.mean()
            smallest[last] = min(smallest[last], sizes.min())
    return [_summary(last + 1, means[:, last], int(smallest[last])) for last in range(releases)]


def independent_releases(
    people: int, k: int, releases: int, random: np.random.Generator
) -> list[Labels]:
    """Everybody is clustered anew, at random, for every release."""
    faces = np.zeros((people, 1), dtype=np.float32)
    seeds = random.integers(2**31, size=releases).tolist()
    return [RandomClustering().partition(faces, k, seed).labels for seed in seeds]


def sticky_releases(
    people: int, k: int, releases: int, random: np.random.Generator
) -> list[Labels]:
    """Everybody is clustered once, on arrival, and stays; later pictures change nothing."""
    faces = random.normal(size=(people, _DIMENSIONS))
    faces /= np.linalg.norm(faces, axis=1, keepdims=True)
    labels = OnlineClustering().partition(faces.astype(np.float32), k, 0).labels
    return [labels] * releases


def _summary(releases: int, means: NDArray[np.float64], smallest: int) -> CandidateSizes:
    mean = float(means.mean())
    half = 1.96 * float(means.std(ddof=1)) / float(np.sqrt(len(means)))
    return CandidateSizes(releases, mean, mean - half, mean + half, smallest)
