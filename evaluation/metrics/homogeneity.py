"""Attribute disclosure: what a cluster says about all its members at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Homogeneity", "attribute_entropy", "homogeneity_of", "l_diversity", "t_closeness"]


def attribute_entropy(clusters: NDArray[np.int64], attribute: NDArray[np.int64]) -> float:
    """Mean entropy of an attribute within clusters, in bits, weighted by members.

    0: everybody in a cluster shares the attribute, which therefore is disclosed.

    >>> attribute_entropy(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]))
    0.5
    """
    total = 0.0
    for cluster in np.unique(clusters):
        _, counts = np.unique(attribute[clusters == cluster], return_counts=True)
        share = counts / counts.sum()
        total -= float((share * np.log2(share)).sum()) * int(counts.sum())
    return total / max(1, len(clusters)) + 0.0


def l_diversity(clusters: NDArray[np.int64], attribute: NDArray[np.int64]) -> int:
    """Fewest distinct values of an attribute in any cluster; 1 discloses it.

    >>> l_diversity(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]))
    1
    """
    return min(
        (len(np.unique(attribute[clusters == cluster])) for cluster in np.unique(clusters)),
        default=0,
    )


def t_closeness(clusters: NDArray[np.int64], attribute: NDArray[np.int64]) -> float:
    """Largest total-variation distance between a cluster's attribute and everybody's.

    Returns:
        0 when every cluster looks like the whole, up to 1.

    >>> t_closeness(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))
    0.0
    """
    values = np.unique(attribute)
    overall = np.array([(attribute == value).mean() for value in values])
    distances = [
        np.abs(_shares(attribute[clusters == cluster], values) - overall).sum() / 2
        for cluster in np.unique(clusters)
    ]
    return float(max(distances, default=0.0))


def _shares(attribute: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.array([(attribute == value).mean() for value in values])


@dataclass(frozen=True, slots=True)
class Homogeneity:
    """What clusters disclose of one attribute (AnonFACES Section 5.2.3 and Figure 13).

    Attributes:
        attribute: its name.
        entropy: mean over members, in bits; 0 discloses it of everybody.
        homogeneous: share of clusters in which all share one value.
        least_values: l of l-diversity: fewest different values in a cluster.
        farthest: t of t-closeness: largest distance of a cluster from everybody, 0…1.
        clusters: clusters of two people or more with a known value.
    """

    attribute: str
    entropy: float
    homogeneous: float
    least_values: int
    farthest: float
    clusters: int


def homogeneity_of(
    name: str,
    clusters: NDArray[np.int64],
    persons: NDArray[np.int64],
    values: NDArray[np.int64],
) -> Homogeneity | None:
    """Homogeneity over people, one value each; None without a cluster of two people.

    Args:
        name: of the attribute.
        clusters: (N,) cluster of each face; below 0 for none.
        persons: (N,) person of each face.
        values: (N,) attribute; below 0 where unknown.
    """
    known = (clusters >= 0) & (values >= 0)
    _, first = np.unique(persons[known], return_index=True)
    own, value = clusters[known][first], values[known][first]
    names, counts = np.unique(own, return_counts=True)
    shared = np.isin(own, names[counts > 1])
    own, value = own[shared], value[shared]
    if not len(own):
        return None
    kinds = [len(np.unique(value[own == cluster])) for cluster in np.unique(own)]
    return Homogeneity(
        name,
        attribute_entropy(own, value),
        float(np.mean(np.array(kinds) == 1)),
        l_diversity(own, value),
        t_closeness(own, value),
        len(kinds),
    )
