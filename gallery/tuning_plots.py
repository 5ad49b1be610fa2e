"""Pictures of a sweep over k: trade-off, homogeneity, merge tree (AnonFACES Figs 9–13)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import dendrogram, fcluster

from gallery.clustering.hierarchical import merge_tree
from gallery.clustering.people import group_means
from gallery.faces import FaceSet
from gallery.tuning import Recommendation, TuningPoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["TreeCut", "dendrogram_figure", "homogeneity_figure", "save"]
__all__ += ["tradeoff_figure", "tree_cuts"]

_MOST_LEAVES = 400
_SHARES = (0.5, 0.95)


@dataclass(frozen=True, slots=True)
class TreeCut:
    """A horizontal line across the merge tree.

    Attributes:
        height: distance at which the tree is cut.
        merged: share of people who then have at least one companion.
        smallest: people in the smallest cluster of at least two.
        largest: people in the largest cluster.
    """

    height: float
    merged: float
    smallest: int
    largest: int


def tree_cuts(merges: NDArray[np.float64]) -> list[TreeCut]:
    """The lowest cuts at which half and 95 % of people have a companion.

    The sizes at the two cuts bound good values of k (AnonFACES 4.4).

    Args:
        merges: (m−1, 4) float64 linkage matrix.

    >>> merges = np.array([[0, 1, 1.0, 2], [2, 3, 2.0, 2], [4, 5, 9.0, 4]])
    >>> [cut.height for cut in tree_cuts(merges)]
    [1.0, 2.0]
    """
    people = len(merges) + 1
    joined = np.cumsum((merges[:, :2] < people).sum(axis=1)) / people
    cuts = []
    for share in _SHARES:
        height = float(merges[int(np.argmax(joined >= share)), 2])
        sizes = np.bincount(fcluster(merges, height, criterion="distance"))[1:]
        groups = sizes[sizes > 1]
        cuts.append(
            TreeCut(height, float(groups.sum() / people), int(groups.min()), int(groups.max()))
        )
    return cuts


def tradeoff_figure(points: Sequence[TuningPoint], recommendation: Recommendation) -> Figure:
    """Information loss and re-identification over k, with knees and the recommendation."""
    figure, left = _figure()
    ks = [point.k for point in points]
    left.plot(ks, [p.information_loss for p in points], "o-", color="C0", label="information loss")
    for k in recommendation.knee_ks:
        left.axvline(k, color="C0", linestyle=":", linewidth=1)
    for k in recommendation.plateau_ks:
        left.axvline(k, color="C0", linestyle="-.", linewidth=1)
    left.axvline(recommendation.k, color="C2", label=f"recommended k = {recommendation.k}")
    left.set_xlabel("k (people per cluster, at least)")
    left.set_ylabel("information loss (embedding distance)")
    right = left.twinx()
    right.plot(ks, [p.rank_one_rate for p in points], "s", color="C3", label="rank-1")
    right.plot(ks, [1 / k for k in ks], "--", color="black", linewidth=1, label="1/k")
    right.plot(ks, [p.match_rate for p in points], "^-", color="C1", label="match (membership)")
    right.set_ylabel("share of people")
    right.set_ylim(0, 1.02)
    lines = left.get_legend_handles_labels()[0] + right.get_legend_handles_labels()[0]
    figure.legend(handles=lines, loc="outside lower center", ncols=5, fontsize=8)
    return figure


def homogeneity_figure(points: Sequence[TuningPoint]) -> Figure:
    """Share of clusters that agree in an attribute, over k."""
    figure, axes = _figure()
    for name in points[0].homogeneity:
        axes.plot([p.k for p in points], [p.homogeneity[name] for p in points], "o-", label=name)
    axes.set_xlabel("k (people per cluster, at least)")
    axes.set_ylabel("share of homogeneous clusters")
    axes.set_ylim(0, 1.02)
    axes.legend(fontsize=8)
    return figure


def dendrogram_figure(faces: FaceSet) -> Figure:
    """The merge tree of the people, at most 400 of them, with the two cuts of `tree_cuts`."""
    people = group_means(faces.embeddings, np.unique(faces.persons, return_inverse=True)[1])
    merges = merge_tree(people[:_MOST_LEAVES], "ward")
    drawn = dendrogram(merges, no_plot=True)
    figure, axes = _figure()
    for across, up in zip(drawn["icoord"], drawn["dcoord"], strict=True):
        axes.plot(across, up, color="0.4", linewidth=0.6)
    for cut, colour in zip(tree_cuts(merges), ("black", "magenta"), strict=True):
        text = f"{cut.merged:.0%} merged: clusters of {cut.smallest} to {cut.largest}"
        axes.axhline(cut.height, color=colour, linestyle="--", linewidth=1, label=text)
    axes.set_xticks([])
    axes.set_xlabel(f"{min(len(people), _MOST_LEAVES)} people")
    axes.set_ylabel("merge distance (ward)")
    axes.legend(fontsize=8)
    return figure


def save(figure: Figure, path: Path) -> None:
    """Writes a PNG, replaced at once and without any metadata."""
    beside = path.with_name(path.name + ".new")
    figure.savefig(beside, format="png", dpi=120, metadata={"Software": None})
    beside.replace(path)


def _figure() -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    return figure, figure.subplots()
