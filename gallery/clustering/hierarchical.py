"""Hierarchical partitioning (AnonFACES, Algorithm 1, corrected)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist

from gallery.clustering.dendrogram import Dendrogram, dendrogram_from_linkage
from gallery.clustering.partition import (
    ClusteringAlgorithm,
    Groups,
    Points,
    balanced_sizes,
)

__all__ = ["HierarchicalClustering", "Linkage", "merge_tree"]

Linkage = Literal["single", "complete", "average", "ward"]


@dataclass(frozen=True, slots=True)
class HierarchicalClustering(ClusteringAlgorithm):
    """One merge tree, cut again and again, its lowest members taken out each time.

    With m clusters to go, the tree is cut into m sub-trees and the largest of them gives
    its lowest members. Read literally, Algorithm 1 loses people; here:

    - the m = ⌊n/k⌋ sizes are ⌊n/m⌋+1 and ⌊n/m⌋ and add up to n (`balanced_sizes`);
    - exactly that many members leave, not k, and the sub-tree must hold that many, not one
      more;
    - sizes are dealt from the largest down, so the largest of m sub-trees always holds
      enough (it has at least the mean) and m need not change inside its own loop;
    - ties go to the sub-tree that was merged first.

    "Lowest members" are those of the lowest merge in that sub-tree that has enough; where
    it has too many, the tighter half is taken whole and the other half gives the rest by
    the same rule. Removing members prunes the tree; it is built once. The seed plays no
    part. Distances are Euclidean; Ward's is the usual increase of squared error.

    Time O(n²·D + n²/k), memory O(n²): 400 MB of distances, twice over, at n = 10,000.

    Attributes:
        linkage: how the distance between two sub-trees is measured.
    """

    linkage: Linkage = "ward"

    @property
    def name(self) -> str:
        """Short name for tables and settings."""
        return f"hierarchical-{self.linkage}"

    def _group(self, points: Points, k: int, random: np.random.Generator) -> Groups:
        del random
        if k == 1:
            return list(np.arange(len(points), dtype=np.intp)[:, None])
        tree = dendrogram_from_linkage(merge_tree(points, self.linkage))
        sizes = balanced_sizes(len(points), k)
        return [_take(tree, size, len(sizes) - done) for done, size in enumerate(sizes)]


def merge_tree(points: Points, method: Linkage) -> NDArray[np.float64]:
    """SciPy's (m−1, 4) linkage matrix: two nodes, their distance, leaves below.

    Args:
        points: (m, D) float64, m ≥ 2.
        method: how the distance between two sub-trees is measured.
    """
    # Distances are handed over condensed: SciPy would take a square (m, m) point array that
    # happens to be symmetric for a matrix of distances.
    return np.asarray(linkage(pdist(points), method=method), dtype=np.float64)


def _take(tree: Dendrogram, size: int, clusters_to_go: int) -> NDArray[np.intp]:
    """Removes the `size` lowest members of the largest of `clusters_to_go` sub-trees."""
    top = tree.largest_subtree(clusters_to_go)
    leaves = tree.lowest_leaves(tree.lowest_node(top, size), size)
    tree.prune(leaves)
    return leaves
