"""A sweep over k as a table of text."""

from __future__ import annotations

from collections.abc import Sequence

from gallery.tuning import TuningPoint

__all__ = ["tuning_table"]


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
