"""Attribute disclosure: what a cluster says about all its members at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["attribute_entropy", "l_diversity", "t_closeness"]


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
