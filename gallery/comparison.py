"""All clustering algorithms on one set of faces, in one table (AnonFACES Figs 2 and 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gallery.clustering.partition import ClusteringAlgorithm
from gallery.clustering.registry import ALGORITHMS
from gallery.faces import FaceSet
from gallery.intersection import CandidateSizes
from gallery.quality import ClusterQuality, cluster_quality
from gallery.tuning import TuningPoint

__all__ = ["Compared", "candidate_table", "compare", "quality_table", "tuning_table"]


@dataclass(frozen=True, slots=True)
class Compared:
    """One algorithm's clusters, measured."""

    algorithm: str
    quality: ClusterQuality


def compare(
    faces: FaceSet, k: int, seed: int, algorithms: Sequence[ClusteringAlgorithm] = ALGORITHMS
) -> list[Compared]:
    """Clusters the same faces with each algorithm and measures the clusters.

    Raises:
        TooFewPeople: fewer than k distinct people.
        EmbeddingsRejected: the faces cannot be clustered.
    """
    return [
        Compared(
            algorithm.name,
            cluster_quality(
                faces.embeddings,
                algorithm.partition(faces.embeddings, k, seed, faces.persons),
            ),
        )
        for algorithm in algorithms
    ]


def quality_table(rows: Sequence[Compared]) -> str:
    """Text, one line per algorithm: distances within clusters, silhouette, loss."""
    header = ("algorithm", "clusters", "min", "mean", "max", "silhouette", "loss")
    body = [
        (
            row.algorithm,
            str(row.quality.n_clusters),
            f"{row.quality.min_distance:.3f}",
            f"{row.quality.mean_distance:.3f}",
            f"{row.quality.max_distance:.3f}",
            f"{row.quality.silhouette:+.3f}",
            f"{row.quality.information_loss:.3f}",
        )
        for row in rows
    ]
    return _aligned([header, *body])


def tuning_table(points: Sequence[TuningPoint]) -> str:
    """Text, one line per k."""
    names = list(points[0].homogeneity) if points else []
    header = ("k", "clusters", "loss", "rank-1", "1/k", "match", *names)
    body = [
        (
            str(point.k),
            str(point.n_clusters),
            f"{point.information_loss:.3f}",
            f"{point.rank_one_rate:.3f}",
            f"{1 / point.k:.3f}",
            f"{point.match_rate:.3f}",
            *(f"{point.homogeneity[name]:.3f}" for name in names),
        )
        for point in points
    ]
    return _aligned([header, *body])


def candidate_table(strategies: Sequence[tuple[str, Sequence[CandidateSizes]]]) -> str:
    """Text, one line per strategy and number of releases.

    >>> print(candidate_table([("sticky", [CandidateSizes(1, 5.0, 5.0, 5.0, 5)])]))
    clusters  releases   mean   95 % interval  smallest
    sticky           1  5.000  5.000 to 5.000         5
    """
    header = ("clusters", "releases", "mean", "95 % interval", "smallest")
    body = [
        (
            name,
            str(size.releases),
            f"{size.mean:.3f}",
            f"{size.low:.3f} to {size.high:.3f}",
            str(size.smallest),
        )
        for name, sizes in strategies
        for size in sizes
    ]
    return _aligned([header, *body])


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    """Columns of equal width, the first to the left, all others to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    return "\n".join(line.rstrip() for line in lines)
