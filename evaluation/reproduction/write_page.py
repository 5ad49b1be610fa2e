"""Writes docs/reproduction.md: `python -m evaluation.reproduction.write_page --help`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from engines.backends.openvino import OpenVino
from evaluation.faces import Faces
from evaluation.finders import finder_from_models
from evaluation.folder import people_in_folder, portraits
from evaluation.metrics.intervals import Proportion
from evaluation.recognisers import models_folder, recognisers_from_names
from evaluation.reproduction.cluster_tables import centroid_rows, clustering_rows, collapse_rows
from evaluation.reproduction.ksame_tables import (
    PAPER_TABLE_1,
    ad_hoc_rows,
    ksame_rows,
    orl_faces,
    threshold_rows,
)

__all__ = ["write_page"]

_COMMAND = "python -m evaluation.reproduction.write_page ORL_DIR LFW_DIR"


def write_page(
    orl: Annotated[Path, typer.Argument(help="ORL/AT&T, unpacked.")],
    lfw: Annotated[Path, typer.Argument(help="LFW or a part of it, one folder per person.")],
    output: Annotated[Path, typer.Option("-o")] = Path("docs/reproduction.md"),
    models: Annotated[Path | None, typer.Option(help="Folder of the evaluator's networks.")] = None,
    people: Annotated[int, typer.Option(help="People of LFW to look at.")] = 1000,
) -> None:
    """Redoes the experiments and writes the page."""
    sets = orl_faces(orl)
    parts = [_HEAD, _table_1(sets), _figure_15(sets), _figure_18(sets)]
    backend, folder = OpenVino(), models_folder(models)
    judge = recognisers_from_names(["mobilefacenet_w128"], backend, folder)[0]
    _, finder = finder_from_models(backend, folder)
    chosen = [paths[0] for paths in people_in_folder(lfw).values()][:people]
    faces, _ = portraits(list(enumerate(chosen)), finder, lambda *_: None)
    vectors = faces.embed(judge)
    parts += [
        _figures_2_and_3(vectors, judge.name),
        _centroids(vectors, judge.name, judge.threshold),
        _collapse(vectors),
        _OPEN,
    ]
    output.write_text("\n\n".join(parts) + "\n", "utf-8")
    typer.echo(f"wrote {output}")


_HEAD = f"""# The papers' experiments, redone

This page is written by one command and holds nothing that it did not measure:

```
{_COMMAND}
```

Brackets hold 95 % Wilson intervals, clustered by person. The papers' figures stand beside
ours; where they differ, the reason is given. Data differ throughout: FERET, CelebA and RaFD
are not redistributable, so ORL/AT&T and LFW stand in."""

_OPEN = """## Not redone

| paper | tables and figures | why |
|---|---|---|
| AnonFACES | Figs 9–16 | need CelebA, RaFD and their StyleGAN; \
`kveil evaluate` draws the same curves over k on any folder |
| StyleID | Tables 1–5, Figs 3, 5, 13, 15 | need StyleGAN2 on FFHQ with its encoders and CelebA-HQ |
| k-SALSA | Tables 1–4 | need fundus photographs (APTOS, EyePACS) and their generator |
| FPSP | Tables 2–4 | need CelebA with expressions and the VQ-VAE; \
the morph (Eq. 12–13) is a method of `kveil evaluate` |"""


def _table_1(sets: list[Faces]) -> str:
    rows = ad_hoc_rows(sets)
    lines = [
        "## k-Same 2003, Table 1: ad hoc covers do not protect",
        "Eigenfaces, best match. ORL: 40 people, one picture each, over the ten person-specific "
        "sets. As in the paper the very same pictures are anonymized and looked up.",
        _row("cover", "paper naive", "ours naive", "ours reverse", "paper parrot", "ours parrot"),
        _rule(6),
    ]
    for row in rows:
        naive, parrot = PAPER_TABLE_1.get(row.name, ("–", "–"))
        lines.append(
            _row(
                row.name,
                naive,
                _share(row.naive),
                _share(row.reverse),
                parrot,
                _share(row.parrot),
            )
        )
    lines.append(
        "Chance is 1 ÷ 40 = 2.5 % here and 1 ÷ 200 = 0.5 % in the paper. Masks keep more of ORL "
        "than of FERET, because ORL's pictures are not aligned and show hair and shoulders, "
        "which is also why naive recognition of masked faces need not fall to chance."
    )
    return _joined(lines)


def _figure_15(sets: list[Faces]) -> str:
    rows = threshold_rows(sets, (20, 65, 90, 118, 140, 180, 230))
    lines = [
        "## k-Same 2003, Figure 15: black and white by threshold",
        "The paper sees at most 30 % naive (at 118), 29 % reverse (at 120), and parrot "
        "recognition above 10 % nearly everywhere.",
        _row("threshold", "naive", "reverse", "parrot"),
        _rule(4),
        *(
            _row(row.name, _share(row.naive), _share(row.reverse), _share(row.parrot))
            for row in rows
        ),
    ]
    return _joined(lines)


def _figure_18(sets: list[Faces]) -> str:
    rows = ksame_rows(sets, (2, 3, 5, 10, 20))
    lines = [
        "## k-Same 2003, Figure 18: recognition stays below 1 ÷ k",
        "The paper finds both variants below 1 ÷ k at every k, and says the same of parrot "
        "recognition.",
        _row("k", "1 ÷ k", "k-Same-Pixel", "k-Same-Eigen", "parrot, k-Same-Pixel"),
        _rule(5),
        *(
            _row(
                str(row.k),
                f"{1 / row.k:.1%}",
                _share(row.pixel),
                _share(row.eigen),
                _share(row.parrot),
            )
            for row in rows
        ),
    ]
    return _joined(lines)


def _figures_2_and_3(vectors: np.ndarray[tuple[int, ...], np.dtype[np.float32]], judge: str) -> str:
    lines = [
        "## AnonFACES, Figures 2 and 3: which clustering groups alike faces",
        f"{len(vectors)} people of LFW, one picture each, vectors of {judge}, k = 20. The paper "
        "(CelebA, dlib) finds hierarchical partitioning with Ward or average linkage slightly "
        "ahead in distance, and alone in having positive silhouettes.",
        _row("clustering", "least", "mean", "largest distance", "silhouette", "information loss"),
        _rule(6),
    ]
    for name, quality in clustering_rows(vectors, 20):
        lines.append(
            _row(
                name,
                f"{quality.min_distance:.3f}",
                f"{quality.mean_distance:.3f}",
                f"{quality.max_distance:.3f}",
                f"{quality.silhouette:+.3f}",
                f"{quality.information_loss:.3f}",
            )
        )
    return _joined(lines)


def _centroids(
    vectors: np.ndarray[tuple[int, ...], np.dtype[np.float32]], judge: str, threshold: float
) -> str:
    lines = [
        "## A mean of k people matches each of them",
        f"Cosine of a member with his cluster's mean vector ({judge}), which an ideal mixing "
        "generator would render. Expected: √((1 + (k − 1)ρ) ÷ k), with ρ the mean cosine between "
        f"members. The last column: members whom the mean matches at the threshold {threshold}.",
        _row("k", "clusters", "ρ", "expected", "measured", "members matched"),
        _rule(6),
    ]
    lines.extend(
        _row(
            str(row.k),
            row.clustering,
            f"{row.between_members:.3f}",
            f"{row.expected:.3f}",
            f"{row.measured:.3f}",
            f"{row.matched:.1%}",
        )
        for row in centroid_rows(vectors, (2, 3, 5, 10, 20), threshold)
    )
    return _joined(lines)


def _collapse(vectors: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> str:
    releases = 4
    rows = collapse_rows(vectors[:100], 5, releases)
    lines = [
        "## Re-clustering collapses",
        "100 people, k = 5. Candidates that remain for a person once several releases of "
        "everybody are intersected, on average; sticky clusters are kveil's.",
        _row("clusters", *(f"{n + 1} releases" for n in range(releases))),
        _rule(releases + 1),
        *(_row(name, *(f"{value:.3f}" for value in means)) for name, means in rows.items()),
    ]
    return _joined(lines)


def _share(figure: Proportion) -> str:
    return f"{figure.rate:.1%} [{figure.lower:.1%}, {figure.upper:.1%}]"


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def _rule(columns: int) -> str:
    return "|" + "---|" * columns


def _joined(lines: Sequence[str]) -> str:
    """Paragraphs apart, table rows together."""
    text = lines[0]
    for before, line in pairwise(lines):
        text += ("\n" if before.startswith("|") and line.startswith("|") else "\n\n") + line
    return text


if __name__ == "__main__":
    typer.run(write_page)
