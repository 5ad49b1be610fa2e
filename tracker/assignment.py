"""The cheapest one-to-one assignment, by shortest augmenting paths.

After Jonker and Volgenant (1987) as Crouse (2016) gives it for rectangles. It stands here since the
import of SciPy's takes longer than a short clip's assignments.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["cheapest_pairs"]


def cheapest_pairs(prices: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows and columns whose prices have the least sum.

    Args:
        prices: (N, M) float64, finite; [i, j] is the price of row i with column j.

    Returns:
        Two arrays of min(N, M) indices; each row and each column occurs once at most.

    >>> rows, columns = cheapest_pairs(np.array([[1.0, 2.0], [1.5, 9.0]]))
    >>> rows.tolist(), columns.tolist()
    ([1, 0], [0, 1])
    """
    if prices.shape[0] > prices.shape[1]:
        columns, rows = cheapest_pairs(prices.T)
        return rows, columns
    height, width = prices.shape
    row_of = np.full(width + 1, -1, np.intp)
    of_rows, of_columns = np.zeros(height), np.zeros(width + 1)
    for row in range(height):
        _add_row(row, prices, row_of, of_rows, of_columns)
    taken = np.flatnonzero(row_of[:-1] >= 0)
    return row_of[taken], taken


def _add_row(
    row: int,
    prices: NDArray[np.float64],
    row_of: NDArray[np.intp],
    of_rows: NDArray[np.float64],
    of_columns: NDArray[np.float64],
) -> None:
    """Gives one more row a column along the cheapest path; rows before it may change theirs.

    Args:
        row: the row.
        prices: (N, M).
        row_of: (M + 1,) the row of each column, -1 where it has none; changed. The last stands for
            no column, where the path begins.
        of_rows: (N,) dual prices; changed.
        of_columns: (M + 1,) dual prices; changed.
    """
    start = column = len(row_of) - 1
    row_of[start] = row
    length, before = np.full(start, np.inf), np.full(start, start)
    is_done = np.zeros(start + 1, np.bool_)
    while row_of[column] >= 0:
        is_done[column] = True
        here = row_of[column]
        further = prices[here] - of_rows[here] - of_columns[:-1]
        is_nearer = ~is_done[:-1] & (further < length)
        length[is_nearer], before[is_nearer] = further[is_nearer], column
        column = int(np.where(is_done[:-1], np.inf, length).argmin())
        step = length[column]
        of_rows[row_of[is_done]] += step
        of_columns[is_done] -= step
        length[~is_done[:-1]] -= step
    while column != start:
        row_of[column] = row_of[before[column]]
        column = int(before[column])
