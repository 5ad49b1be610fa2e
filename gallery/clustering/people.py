"""From pictures to people: one averaged point per person, so that k counts people."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gallery.errors import EmbeddingsRejected, TooFewPeople

__all__ = ["People", "group_means", "people_from_embeddings", "renumbered"]


@dataclass(frozen=True, slots=True)
class People:
    """The distinct people behind some pictures.

    Attributes:
        points: (m, D) float64, mean of each person's rows, in order of first appearance.
        of_row: (n,) intp, the person of each row, 0…m−1.
    """

    points: NDArray[np.float64]
    of_row: NDArray[np.intp]


def people_from_embeddings(
    embeddings: NDArray[np.float32], k: int, persons: NDArray[np.integer] | None = None
) -> People:
    """Averages each person's rows, after checking that k people are there.

    Args:
        embeddings: (n, D) floats, finite.
        k: fewest people needed, ≥ 1.
        persons: (n,) integers, any values; None where every row is another person.

    Raises:
        EmbeddingsRejected: wrong shape, not finite, k below 1, or persons that do not match.
        TooFewPeople: fewer than k distinct people.

    >>> rows = np.array([[0.0], [2.0], [9.0]], np.float32)
    >>> people_from_embeddings(rows, 2, np.array([4, 4, 1])).points.tolist()
    [[1.0], [9.0]]
    """
    _check_embeddings(embeddings, k)
    of_row = _numbered(persons, len(embeddings))
    count = int(of_row.max(initial=-1)) + 1
    if count < k:
        raise TooFewPeople(
            f"{count} distinct people cannot form a cluster of k = {k}: "
            f"add {k - count} more people or lower k"
        )
    return People(group_means(embeddings, of_row), of_row)


def group_means(rows: NDArray[np.floating], groups: NDArray[np.intp]) -> NDArray[np.float64]:
    """(m, D) float64 mean of the rows of each group.

    Args:
        rows: (n, D) floats.
        groups: (n,) intp, 0…m−1, each of them used.

    >>> group_means(np.array([[1.0], [3.0], [7.0]]), np.array([0, 0, 1])).tolist()
    [[2.0], [7.0]]
    """
    sizes = np.bincount(groups)
    if len(sizes) == len(rows):
        return rows[np.argsort(groups)].astype(np.float64)
    totals = np.zeros((len(sizes), rows.shape[1]), dtype=np.float64)
    np.add.at(totals, groups, rows.astype(np.float64))
    return totals / sizes[:, None]


def renumbered(numbers: NDArray[np.integer]) -> NDArray[np.intp]:
    """The same grouping numbered 0, 1, 2… by first appearance, intp.

    >>> renumbered(np.array([7, 7, 3, 7, 5])).tolist()
    [0, 0, 1, 0, 2]
    """
    _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.asarray(rank[inverse.reshape(-1)], dtype=np.intp)


def _check_embeddings(embeddings: NDArray[np.float32], k: int) -> None:
    if k < 1:
        raise EmbeddingsRejected(f"k must be at least 1, not {k}")
    if embeddings.ndim != 2 or embeddings.shape[1] == 0:
        raise EmbeddingsRejected(
            f"embeddings must have the shape (pictures, dimensions), not {embeddings.shape}"
        )
    if not np.issubdtype(embeddings.dtype, np.floating):
        raise EmbeddingsRejected(f"embeddings must be floats, not {embeddings.dtype}")
    if not np.isfinite(embeddings).all():
        raise EmbeddingsRejected("embeddings hold NaN or infinity; leave out the failed pictures")


def _numbered(persons: NDArray[np.integer] | None, count: int) -> NDArray[np.intp]:
    """Persons as 0, 1, 2… by first appearance."""
    if persons is None:
        return np.arange(count, dtype=np.intp)
    if persons.shape != (count,) or not np.issubdtype(persons.dtype, np.integer):
        raise EmbeddingsRejected(
            f"persons must be {count} integers, one per picture, not {persons.dtype} "
            f"of shape {persons.shape}"
        )
    return renumbered(persons)
