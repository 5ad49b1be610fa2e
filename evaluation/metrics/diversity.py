"""How many people an anonymized set still shows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["count_identities", "identity_diversity", "identity_variance"]


def count_identities(embeddings: NDArray[np.float32], threshold: float) -> int:
    """People that a recogniser tells apart: each face joins the first leader it matches.

    Args:
        embeddings: (N, D) unit rows; the order decides ties.
        threshold: cosine above which two faces are one person; larger finds more people.

    >>> count_identities(np.eye(3, dtype=np.float32)[[0, 1, 1, 2]], 0.5)
    3
    """
    leaders: list[NDArray[np.float32]] = []
    for row in embeddings:
        if not leaders or float((np.stack(leaders) @ row).max()) <= threshold:
            leaders.append(row)
    return len(leaders)


def identity_diversity(
    originals: NDArray[np.float32], anonymized: NDArray[np.float32], threshold: float
) -> float:
    """Identities out ÷ identities in, one image per person on both sides.

    Both are counted by the same recogniser, so people it confuses anyway do not count.

    Returns:
        1 when as many people are seen as before; above 1 when more are told apart.
    """
    return count_identities(anonymized, threshold) / max(1, count_identities(originals, threshold))


def identity_variance(embeddings: NDArray[np.float32]) -> float:
    """1 − length of the mean of unit vectors: 0 when all show one identity.

    >>> identity_variance(np.array([[1, 0], [1, 0]], np.float32))
    0.0
    """
    return max(0.0, 1.0 - float(np.linalg.norm(embeddings.mean(axis=0))))
