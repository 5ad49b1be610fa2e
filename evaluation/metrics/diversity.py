"""How many people an anonymized set still shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["Diversity", "count_identities", "identity_diversity", "separating_threshold"]

_TOLD_APART: Final = 0.99


def count_identities(embeddings: NDArray[np.float32], threshold: float) -> int:
    """People that a recogniser tells apart: each face joins the first leader it matches.

    Args:
        embeddings: (N, D) unit rows; the order decides ties.
        threshold: cosine above which two faces are one person; larger finds more people.

    >>> count_identities(np.eye(3, dtype=np.float32)[[0, 1, 1, 2]], 0.5)
    3
    """
    similar = np.asarray(embeddings @ embeddings.T > threshold)
    leads = np.zeros(len(embeddings), bool)
    for row, alike in enumerate(similar):
        leads[row] = not (alike & leads).any()
    return int(leads.sum())


def separating_threshold(originals: NDArray[np.float32]) -> float:
    """The lowest cosine at which 99 % of different people count as different people.

    A threshold for matching two faces, at a false match rate of 1e-3, merges one person in
    ten among 300 and more among 1,000; a count of people needs a stricter one.

    Args:
        originals: (N, D) unit rows, one picture per person.

    >>> separating_threshold(np.eye(4, dtype=np.float32))
    0.0
    """
    people = len(originals)
    pairs = (originals @ originals.T)[np.triu_indices(people, 1)]
    cosines = np.unique(np.concatenate([[0.0], pairs[pairs > 0]]))
    low, high = 0, len(cosines) - 1
    while low < high:
        middle = (low + high) // 2
        if count_identities(originals, float(cosines[middle])) >= _TOLD_APART * people:
            high = middle
        else:
            low = middle + 1
    return float(cosines[low])


@dataclass(frozen=True, slots=True)
class Diversity:
    """How many of the people a recogniser still counts after anonymization.

    Attributes:
        seen: identities counted among the outputs, one picture per person.
        originals: identities counted among the originals by the same threshold.
        threshold: cosine that tells 99 % of the originals apart.
    """

    seen: int
    originals: int
    threshold: float

    @property
    def ratio(self) -> float:
        """Identities out ÷ in: 1 when as many people are seen as before."""
        return self.seen / max(1, self.originals)


def identity_diversity(
    originals: NDArray[np.float32], anonymized: NDArray[np.float32]
) -> Diversity:
    """Counts identities among originals and outputs, one picture per person on both sides.

    Untouched pictures give a ratio of 1 by construction; strangers drawn with repetition
    give the share of distinct ones; a mean of k people gives 1 ÷ k.
    """
    threshold = separating_threshold(originals)
    return Diversity(
        count_identities(anonymized, threshold), count_identities(originals, threshold), threshold
    )
