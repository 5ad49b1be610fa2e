"""A merge tree from which leaves can be taken, with sizes that follow at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Dendrogram", "dendrogram_from_linkage"]


class Dendrogram:
    """A binary merge tree over n leaves; node i < n is a leaf, node n+j the j-th merge.

    Leaves are laid out so that every node spans one interval. The size of all nodes is then
    one difference of a running count, and pruning costs O(n) whatever the tree's depth (a
    single-linkage tree can be n deep).

    Args:
        children: (n−1, 2) intp, the two nodes that each merge joins, lower merge first.
    """

    def __init__(self, children: NDArray[np.intp]) -> None:
        self._children = children
        self._n = len(children) + 1
        self._start, self._end, self._leaf_at = _intervals(children)
        self._alive = np.ones(self._n, dtype=np.bool_)
        self._sizes = self._end - self._start
        self._merges = self._effective_merges()

    def size(self, node: int) -> int:
        """Leaves still below a node."""
        return int(self._sizes[node])

    def largest_subtree(self, count: int) -> int:
        """The largest sub-tree after cutting what is left into `count`; ties: merged first.

        Args:
            count: 1 … leaves left − 1; cutting undoes the last count−1 merges.
        """
        kept = self._merges[: len(self._merges) - (count - 1)]
        return int(kept[np.argmax(self._sizes[kept])])

    def lowest_node(self, top: int, size: int) -> int:
        """The earliest merge under `top` with at least `size` ≥ 2 leaves (`top` has them)."""
        merges = self._merges
        is_inside = (self._start[merges] >= self._start[top]) & (
            self._end[merges] <= self._end[top]
        )
        return int(merges[np.argmax(is_inside & (self._sizes[merges] >= size))])

    def lowest_leaves(self, node: int, count: int) -> NDArray[np.intp]:
        """`count` leaves under a node: of two halves the tighter first, then of the other.

        A half that alone has enough gives them all; of two such halves, the one that was
        merged first.
        """
        taken: list[NDArray[np.intp]] = []
        while count:
            if self.size(node) == count:
                taken.append(self._leaves(node))
                break
            first, second = sorted(int(child) for child in self._children[node - self._n])
            if self.size(first) < count and self.size(second) >= count:
                first, second = second, first
            if self.size(first) >= count:
                node = first
                continue
            taken.append(self._leaves(first))
            count -= self.size(first)
            node = second
        return np.concatenate(taken)

    def prune(self, leaves: NDArray[np.intp]) -> None:
        """Removes leaves; merges with an emptied side no longer count as merges."""
        self._alive[self._start[leaves]] = False
        running = np.concatenate([[0], np.cumsum(self._alive)])
        self._sizes = running[self._end] - running[self._start]
        self._merges = self._effective_merges()

    def _leaves(self, node: int) -> NDArray[np.intp]:
        inside = slice(int(self._start[node]), int(self._end[node]))
        return self._leaf_at[inside][self._alive[inside]]

    def _effective_merges(self) -> NDArray[np.intp]:
        both = (self._sizes[self._children] > 0).all(axis=1)
        return np.flatnonzero(both) + self._n


def dendrogram_from_linkage(merges: NDArray[np.float64]) -> Dendrogram:
    """A tree from SciPy's linkage matrix.

    Args:
        merges: (n−1, 4) float64, merges by ascending distance.

    >>> tree = dendrogram_from_linkage(np.array([[0, 1, 1.0, 2], [2, 3, 5.0, 3]]))
    >>> tree.size(tree.largest_subtree(2)), tree.lowest_leaves(4, 2).tolist()
    (2, [0, 1])
    """
    return Dendrogram(merges[:, :2].astype(np.intp))


def _intervals(
    children: NDArray[np.intp],
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Start and end of every node in a layout of the leaves, and the leaf at each place."""
    n = len(children) + 1
    sizes = np.ones(2 * n - 1, dtype=np.intp)
    for merge, (left, right) in enumerate(children):
        sizes[n + merge] = sizes[left] + sizes[right]
    start = np.zeros(2 * n - 1, dtype=np.intp)
    for merge in range(n - 2, -1, -1):
        left, right = children[merge]
        start[left] = start[n + merge]
        start[right] = start[n + merge] + sizes[left]
    leaf_at = np.empty(n, dtype=np.intp)
    leaf_at[start[:n]] = np.arange(n)
    return start, start + sizes, leaf_at
