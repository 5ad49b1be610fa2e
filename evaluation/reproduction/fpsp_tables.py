"""FPSP 2023: Table 2 (protected by β) and Table 3 (expressions lost), on any faces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.stylegan.topology import LIPS_INNER_SLICE, LIPS_OUTER_SLICE
from evaluation.faces import Faces, crop_window
from evaluation.methods.baselines import cover_method
from evaluation.methods.fpsp import nearest_centres
from evaluation.methods.fpsp_fusion import BETAS, FpspFusion
from evaluation.methods.generated import GeneratedSurrogates
from evaluation.metrics.intervals import Proportion, clustered
from evaluation.recognisers import Recogniser

__all__ = ["BetaRow", "ExpressionRow", "beta_rows", "expression_rows"]

_SECRET: Final = b"the reproduction's secret, of no further use"
_CLUSTERS: Final = 15
_COVERS: Final = ("bar-mask", "cartoon", "laplace", "mosaic")


@dataclass(frozen=True, slots=True)
class BetaRow:
    """Faces protected once β may be as large as this (Table 2).

    Attributes:
        beta: largest share of the surrogate that is tried.
        by_paper: share protected by Eq. 20: more like itself than like the least similar
            face of its cluster is what the paper counts as protected.
        matched: by judge, share still called the same person at its threshold.
    """

    beta: float
    by_paper: float
    matched: dict[str, Proportion]


def beta_rows(
    faces: Faces, generator: GeneratedSurrogates, judges: Sequence[Recogniser]
) -> list[BetaRow]:
    """Fuses at every β; each face keeps the first β at which the embedder lets it go."""
    rows = []
    truth = {judge.name: faces.embed(judge) for judge in judges}
    labels = _clusters(faces, generator)
    for last in range(1, len(BETAS) + 1):
        method = FpspFusion(generator)
        release = method.released(faces, _SECRET, BETAS[:last])
        shown = faces.showing(release.images)
        seen = {judge.name: shown.embed(judge) for judge in judges}
        matched = {
            judge.name: clustered(
                (seen[judge.name] * truth[judge.name]).sum(axis=1) > judge.threshold,
                faces.persons,
            )
            for judge in judges
        }
        worst = judges[-1].name
        rows.append(BetaRow(BETAS[last - 1], _by_paper(seen[worst], truth[worst], labels), matched))
    return rows


def _clusters(faces: Faces, generator: GeneratedSurrogates) -> NDArray[np.int64]:
    crops = np.ascontiguousarray(faces.images[:, *crop_window()])
    count = min(_CLUSTERS, len(faces) // 2)
    return nearest_centres(generator.told_apart(crops), count, _SECRET)[0]


def _by_paper(
    seen: NDArray[np.float32], truth: NDArray[np.float32], labels: NDArray[np.int64]
) -> float:
    """Eq. 20 as it is written: own similarity above the smallest within the cluster."""
    cosines = seen @ truth.T
    protected = []
    for row, label in enumerate(labels):
        others = np.flatnonzero((labels == label) & (np.arange(len(labels)) != row))
        if len(others):
            protected.append(cosines[row, row] > cosines[row, others].min())
    return float(np.mean(protected)) if protected else float("nan")


@dataclass(frozen=True, slots=True)
class ExpressionRow:
    """Expressions that changed (Table 3).

    Attributes:
        method: by name.
        lost: by expression, share of its faces that show another one afterwards.
    """

    method: str
    lost: dict[str, float]


def expression_rows(faces: Faces, generator: GeneratedSurrogates) -> list[ExpressionRow]:
    """Four expressions of the mouth, read off landmarks before and after."""
    before, edges = _expressions(faces, generator, None)
    releases = {"FPSP": FpspFusion(generator).anonymize(faces, _SECRET).images}
    for name in _COVERS:
        releases[name] = cover_method(name).anonymize(faces, _SECRET).images
    rows = []
    for name, images in releases.items():
        after, _ = _expressions(faces.showing(images), generator, edges)
        names = sorted(set(before))
        lost = {
            kind: float(np.mean([b != a for b, a in zip(before, after, strict=True) if b == kind]))
            for kind in names
        }
        lost["all"] = float(np.mean([b != a for b, a in zip(before, after, strict=True)]))
        rows.append(ExpressionRow(name, lost))
    return rows


def _expressions(
    faces: Faces, generator: GeneratedSurrogates, edges: tuple[float, float] | None
) -> tuple[list[str], tuple[float, float]]:
    """Mouth open or closed, wide or narrow; halves at the medians of the originals."""
    crops = np.ascontiguousarray(faces.images[:, *crop_window()])
    points = generator.control(crops).points
    scale = np.maximum(generator.shape.pose_of(points).scale, 1e-4)
    opened = np.ptp(points[:, LIPS_INNER_SLICE, 1], axis=1) / scale
    width = np.ptp(points[:, LIPS_OUTER_SLICE, 0], axis=1) / scale
    edges = edges or (float(np.median(opened)), float(np.median(width)))
    names = [
        f"{'open' if a > edges[0] else 'closed'}, {'wide' if b > edges[1] else 'narrow'}"
        for a, b in zip(opened, width, strict=True)
    ]
    return names, edges
