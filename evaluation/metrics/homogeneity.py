"""Attribute disclosure: what a cluster says about all its members at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gallery.diversity import counted_diversity
from gallery.quality import count_entropies

__all__ = ["Homogeneity", "homogeneity_of"]


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
    rows, columns = (np.unique(which, return_inverse=True)[1] for which in (own, value))
    table = np.zeros((int(rows.max()) + 1, int(columns.max()) + 1))
    np.add.at(table, (rows, columns), 1)
    entropies, told = count_entropies(table), counted_diversity(table)
    return Homogeneity(
        name,
        float(entropies @ table.sum(axis=1) / table.sum()),
        float((entropies == 0).mean()),
        told.distinct,
        told.distance,
        len(table),
    )
