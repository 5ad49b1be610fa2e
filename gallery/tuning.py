"""Which k: information loss, re-identification and homogeneity over a range of k.

AnonFACES Sections 3.5 and 4.4. The loss grows with k, steeply at first; after a knee more
people cost little.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gallery.clustering.partition import ClusteringAlgorithm, Partition
from gallery.clustering.people import group_means
from gallery.errors import EmbeddingsRejected, TooFewPeople
from gallery.faces import FaceSet
from gallery.knees import knees
from gallery.quality import centroids, homogeneous_rate, information_loss

__all__ = ["Judge", "Recommendation", "TuningPoint", "recommend", "sweep"]


@dataclass(frozen=True, slots=True)
class Judge:
    """A recogniser's view of the same faces; best one that did not make the clusters.

    Attributes:
        embeddings: (n, D') float32, the same rows as the clustered faces.
        threshold: cosine from which two faces match; higher matches less.
    """

    embeddings: NDArray[np.float32]
    threshold: float


@dataclass(frozen=True, slots=True)
class TuningPoint:
    """What one k costs and protects.

    Attributes:
        k: fewest people in a cluster.
        n_clusters: clusters.
        information_loss: mean distance of faces to their surrogate (AnonFACES Def. 3.2), in
            the clustering recogniser's unit.
        rank_one_rate: share of people who are nearest to their own surrogate among everybody;
            the gallery holds the very pictures that were mixed, which is the worst case. One
            surrogate has one nearest person, so it is at most n_clusters ÷ people ≤ 1/k.
        match_rate: share of people whom their surrogate matches at the judge's threshold:
            what an attacker learns about membership (group disclosure), whatever k is.
        homogeneity: per attribute, and for all of them under "all", the share of clusters
            whose people agree.
    """

    k: int
    n_clusters: int
    information_loss: float
    rank_one_rate: float
    match_rate: float
    homogeneity: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A k, and why.

    Attributes:
        k: the recommended k.
        knee_ks: where the loss flattens.
        plateau_ks: where it begins to rise steeply again.
        reason: one sentence.
    """

    k: int
    knee_ks: tuple[int, ...]
    plateau_ks: tuple[int, ...]
    reason: str


def sweep(
    faces: FaceSet,
    ks: Sequence[int],
    algorithm: ClusteringAlgorithm,
    seed: int,
    judge: Judge,
) -> list[TuningPoint]:
    """Clusters the faces at every k and measures.

    What a cluster would release is the people's mean in embedding space, which stands in for
    a generator.

    Args:
        faces: who is to be clustered.
        ks: values of k, each ≥ 1; those above the number of people are left out.
        algorithm: how to cluster.
        seed: ≥ 0.
        judge: who measures re-identification.

    Raises:
        TooFewPeople: no k is small enough.
        EmbeddingsRejected: the judge has other rows, or nothing is left to measure.
    """
    if len(judge.embeddings) != len(faces.embeddings):
        raise EmbeddingsRejected("the judge needs one embedding for each clustered row")
    usable = sorted({k for k in ks if k <= faces.n_people})
    if not usable:
        raise TooFewPeople(f"{faces.n_people} people are fewer than every k; add people")
    return [_measured(faces, k, algorithm, seed, judge) for k in usable]


def recommend(
    points: Sequence[TuningPoint],
    *,
    k_min: int = 2,
    slack: float = 0.01,
    homogeneity_min: float = 0.0,
) -> Recommendation:
    """The k up to which more people cost little.

    A larger k may lose less than a smaller one (families of five split badly in twos), and
    then it is better in both respects; so knees are sought on the least loss at k or above.
    The end of the first plateau, before a steep rise, is recommended; without one, the
    largest k whose loss is close to that at the first flattening.

    Args:
        points: a sweep, at least one.
        k_min: least k that policy allows.
        slack: loss above that at the flattening, as a share of it, that still counts as
            close; larger recommends larger k.
        homogeneity_min: least share of clusters that agree in all attributes.

    Raises:
        TooFewPeople: no k of the sweep meets the conditions.
    """
    allowed = [
        point
        for point in points
        if point.k >= k_min and point.homogeneity.get("all", 1.0) >= homogeneity_min
    ]
    if not allowed:
        raise TooFewPeople(
            f"no k ≥ {k_min} keeps {homogeneity_min:.0%} of the clusters homogeneous; relax one"
        )
    ks = np.array([point.k for point in points])
    costs = _costs(points)
    knee_ks = tuple(int(ks[position]) for position in knees(ks, costs))
    plateau_ks = tuple(int(ks[position]) for position in knees(ks, costs, "convex"))
    k, reason = _chosen(points, costs, [point.k for point in allowed], knee_ks, plateau_ks, slack)
    return Recommendation(k, knee_ks, plateau_ks, reason)


def _costs(points: Sequence[TuningPoint]) -> NDArray[np.float64]:
    """Least loss at this k or any larger one: clusters of more people protect as well."""
    losses = np.array([point.information_loss for point in points], dtype=np.float64)
    return np.minimum.accumulate(losses[::-1])[::-1]


def _chosen(
    points: Sequence[TuningPoint],
    costs: NDArray[np.float64],
    allowed: Sequence[int],
    knee_ks: Sequence[int],
    plateau_ks: Sequence[int],
    slack: float,
) -> tuple[int, str]:
    ends = [k for k in plateau_ks if k in allowed]
    if ends:
        return ends[0], f"above k = {ends[0]} the loss rises steeply"
    after = [k for k in knee_ks if k >= allowed[0]]
    if not after:
        return allowed[0], "the loss has no knee: this is the least k allowed"
    limit = costs[[point.k for point in points].index(after[0])] * (1 + slack)
    cheap = {point.k for point, cost in zip(points, costs, strict=True) if cost <= limit}
    k = max(cheap & set(allowed), default=allowed[0])
    return k, f"the loss flattens at k = {after[0]} and stays within {slack:.0%} up to k = {k}"


def _measured(
    faces: FaceSet, k: int, algorithm: ClusteringAlgorithm, seed: int, judge: Judge
) -> TuningPoint:
    partition = algorithm.partition(faces.embeddings, k, seed, faces.persons)
    released = centroids(faces.embeddings, partition)[partition.labels]
    rank_one, match = _reidentified(judge, partition)
    homogeneity = {n: homogeneous_rate(partition, v) for n, v in faces.attributes.items()}
    if homogeneity:
        homogeneity["all"] = homogeneous_rate(partition, *faces.attributes.values())
    return TuningPoint(
        k,
        partition.n_clusters,
        information_loss(faces.embeddings, released),
        rank_one,
        match,
        homogeneity,
    )


def _reidentified(judge: Judge, partition: Partition) -> tuple[float, float]:
    """Rank-1 rate and match rate over people, by cosine in the judge's space."""
    released = _unit(centroids(judge.embeddings, partition))
    people = _unit(group_means(judge.embeddings, partition.persons))
    homes = partition.people_labels
    similarities = released @ people.T
    nearest = similarities.argmax(axis=1)
    rank_one = float((homes[nearest] == np.arange(len(released))).sum()) / len(people)
    own = similarities[homes, np.arange(len(people))]
    return rank_one, float((own >= judge.threshold).mean())


def _unit(rows: NDArray[np.floating]) -> NDArray[np.float64]:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(lengths, 1e-12), dtype=np.float64)
