"""AnonFACES 2020: embeddings, clusterings and weights against information loss and matches.

Figures 9, 14, 15 and 16, with the mean of pixels for its generator. One recogniser clusters and
adjusts, the other judges: the paper has dlib do both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evaluation.faces import Faces
from evaluation.methods.anonfaces import AnonFaces
from evaluation.metrics.intervals import Proportion, clustered
from evaluation.recognisers import Recogniser
from evaluation.reproduction.markdown import cells, head, joined, share
from gallery.clustering.maxdist import MaxDistanceClustering
from gallery.clustering.samesize import SameSizeKMeansClustering
from gallery.clustering.shuffle import RandomClustering
from gallery.quality import information_loss

__all__ = ["MixRow", "anonfaces_section", "mix_rows"]

_SECRET: Final = b"the reproduction's secret, of no further use"
_SIZES: Final = (2, 5, 10, 20)


@dataclass(frozen=True, slots=True)
class MixRow:
    """One form of the method at one k, by the judge.

    Attributes:
        form: in words.
        k: least people per cluster.
        loss: information loss (Definition 3.2), 0…2.
        found: share of faces that are most alike to their own original (naive, Figure 15).
        matched: share of faces that the judge matches with their own original (Figure 14).
    """

    form: str
    k: int
    loss: float
    found: Proportion
    matched: Proportion


def mix_rows(
    faces: Faces, embedder: Recogniser, judge: Recogniser, sizes: Sequence[int]
) -> list[MixRow]:
    """Every form at every k.

    Args:
        faces: one picture per person.
        embedder: clusters, and adjusts the weights.
        judge: another recogniser, at its own threshold.
        sizes: values of k.
    """
    base = AnonFaces(embedder=embedder, spread=0.0)
    forms = {
        "Ward, recogniser's vectors": base,
        "Ward, principal components": replace(base, embedder=None),
        "k-means of one size": replace(base, clustering=SameSizeKMeansClustering()),
        "nearest neighbours": replace(base, clustering=MaxDistanceClustering()),
        "random clusters": replace(base, clustering=RandomClustering()),
        "Ward, adjusted weights": replace(base, adjuster=embedder),
        "Ward, adjusted and random weights": replace(base, adjuster=embedder, spread=0.5),
    }
    truth = faces.embed(judge)
    return [
        _row(form, replace(method, k=k), faces, truth, judge)
        for form, method in forms.items()
        for k in sizes
    ]


def _row(
    form: str, method: AnonFaces, faces: Faces, truth: NDArray[np.float32], judge: Recogniser
) -> MixRow:
    seen = faces.showing(method.anonymize(faces, _SECRET).images).embed(judge)
    cosines = seen @ truth.T
    own = cosines[np.arange(len(faces)), np.arange(len(faces))]
    return MixRow(
        form,
        method.k,
        information_loss(truth, seen),
        clustered(cosines.argmax(axis=1) == np.arange(len(faces)), faces.persons),
        clustered(own > judge.threshold, faces.persons),
    )


def anonfaces_section(faces: Faces, judges: Sequence[Recogniser]) -> str:
    """The three measures, forms down and k across."""
    rows = mix_rows(faces, judges[0], judges[1], _SIZES)
    by_place = {(row.form, row.k): row for row in rows}
    forms = list(dict.fromkeys(row.form for row in rows))
    top = head("form", *(f"k = {k}" for k in _SIZES))
    lines = [
        "## AnonFACES, Figures 9, 14, 15 and 16: embeddings, clusterings, weights",
        f"{len(faces)} people of LFW, one picture each; {judges[0].name} clusters and adjusts, "
        f"{judges[1].name} judges; the mean of pixels stands for StyleGAN. Information loss "
        "(Figs 9 and 16a; the paper, dlib on CelebA: recogniser's vectors lose less than "
        "principal components, Ward slightly less than k-means and nearest neighbours, adjusted "
        "weights a little more):",
        top,
        *(cells(form, *(f"{by_place[form, k].loss:.3f}" for k in _SIZES)) for form in forms),
        "Most alike to their own original (naive recognition, Figs 15 and 16b; the paper: below "
        "1 ÷ k throughout; here 1 ÷ k is "
        + ", ".join(f"{1 / k:.0%}" for k in _SIZES)
        + "). A cluster shares one mean, so that one member at most is nearest to it:",
        top,
        *(cells(form, *(share(by_place[form, k].found) for k in _SIZES)) for form in forms),
        "Matched with their own original at the judge's threshold (Fig. 14: in the paper cluster "
        "averages lie beyond dlib's). A bound of 1 ÷ k on who comes first says nothing of this: "
        "the mean matches several members at once:",
        top,
        *(cells(form, *(share(by_place[form, k].matched) for k in _SIZES)) for form in forms),
    ]
    return joined(lines)
