"""What several releases leave of a candidate set.

A release tells an attacker that the person behind it is one of a cluster. Whoever can say
that two releases show the same person intersects the two clusters.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gallery.clustering.people import renumbered

__all__ = ["candidate_sizes"]

Labels = NDArray[np.intp]


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
