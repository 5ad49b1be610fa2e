"""Tables that the report of `kveil evaluate` already holds: AnonFACES' and StyleID's on LFW."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

from evaluation.errors import EvaluationError
from evaluation.reports.clip_record import Record
from evaluation.reports.folder_record import FOLDER_SCHEMA
from evaluation.reproduction.markdown import cells, head, joined

__all__ = ["best_accuracy", "record_section"]

_METHODS: Final = {
    "none": ("0.9994", "0.9935–0.9981", "1.02", "100 %"),
    "random stranger": ("–", "–", "–", "–"),
    "k-Same-Pixel": ("–", "–", "107.32", "under 20 %"),
    "AnonFACES": ("–", "–", "153", "under 20 %"),
    "AnonFACES latent": ("–", "–", "153", "under 20 %"),
    "k-SALSA": ("–", "–", "–", "–"),
    "StyleID layers": ("0.60–0.71", "0.58–0.66", "1,027.21", "about 100 %"),
    "StyleID channels": ("0.60–0.71", "0.58–0.66", "1,027.21", "about 100 %"),
    "StyleID face": ("0.60–0.71", "0.58–0.66", "1,027.21", "about 100 %"),
    "StyleID swapper": ("0.60–0.71", "0.58–0.66", "1,027.21", "about 100 %"),
    "FPSP": ("–", "–", "–", "–"),
    "kveil": ("–", "–", "–", "–"),
}
"""What StyleID's paper says: AUC, accuracy, rank among some 5,000, identities."""
_NAIVE: Final = ("A1", "other photograph")
_TABLE_1: Final = {2: "1.3 %", 4: "0.7 %", 8: "0 %"}


def best_accuracy(curve: Sequence[Sequence[float]]) -> float:
    """Best accuracy on as many pairs of one person as of two, of points (FMR, TAR) of a ROC.

    >>> best_accuracy([[0.0, 0.0], [0.1, 0.7], [1.0, 1.0]])
    0.8
    """
    return max((1 - wrong + right) / 2 for wrong, right in curve)


def record_section(record: Record) -> str:
    """The tables.

    Args:
        record: of an evaluated folder, all methods.

    Raises:
        EvaluationError: it is another kind of report.
    """
    if record.get("schema") != FOLDER_SCHEMA:
        message = f"this is no {FOLDER_SCHEMA}; give the JSON of `kveil evaluate FOLDER`"
        raise EvaluationError(message)
    methods = {str(own["name"]): own for own in cast("list[Record]", record["methods"])}
    named = [name for name in _METHODS if name in methods and not methods[name]["failure"]]
    subjects = cast("dict[str, int]", record["subjects"])
    judges = [str(judge["name"]) for judge in cast("list[Record]", record["judges"])]
    return joined(
        [
            *_recognition(methods, named, judges, subjects),
            *_attributes(methods, named, str(record["labels"])),
            *_over_k(cast("list[Record]", record["trade_off"]), methods["none"]),
        ]
    )


def _recognition(
    methods: Mapping[str, Record],
    named: Sequence[str],
    judges: Sequence[str],
    subjects: Mapping[str, int],
) -> list[str]:
    gallery = subjects["gallery_people"]
    return [
        "## StyleID, Tables 3–5, Figures 12 and 15: recognition on LFW, identities that remain",
        f"{subjects['released_people']} people with another photograph, searched for among "
        f"{gallery}; from the report of `kveil evaluate`, which draws the ROC curves. The paper's "
        "range is over FaceNet, ArcFace and CurricularFace, its gallery has some 5,000 people and "
        "its ranks come from another service. Accuracy: best point of the curve. Identities: see "
        "the guide to the evaluation; the paper counts clusters of k-means.",
        head(
            "method",
            "paper AUC",
            *(f"AUC, {judge}" for judge in judges),
            "paper accuracy",
            *(f"accuracy, {judge}" for judge in judges),
            "paper rank",
            f"mean rank of {gallery}",
            "paper identities",
            "identities out ÷ in",
        ),
        *(_recognition_row(methods[name], name, judges, gallery) for name in named),
    ]


def _recognition_row(method: Record, name: str, judges: Sequence[str], gallery: int) -> str:
    found = {str(own["judge"]): own for own in _findings(method, *_NAIVE)}
    paper = _METHODS[name]
    measures = {judge: cast("dict[str, float]", found[judge]["measures"]) for judge in judges}
    curves = {
        judge: cast("dict[str, list[list[float]]]", found[judge]["curves"])["roc"]
        for judge in judges
    }
    rank = min(own["mean_rank_over_chance"] for own in measures.values()) * (gallery + 1) / 2
    diversity = cast("dict[str, dict[str, float]]", method["diversity"])
    return cells(
        name,
        paper[0],
        *(f"{measures[judge]['auc']:.4f}" for judge in judges),
        paper[1],
        *(f"{best_accuracy(curves[judge]):.3f}" for judge in judges),
        paper[2],
        f"{rank:.1f}",
        paper[3],
        f"{min(own['ratio'] for own in diversity.values()):.1%}",
    )


def _findings(method: Record, attack: str, variant: str) -> list[Record]:
    return [
        own
        for own in cast("list[Record]", method["findings"])
        if (own["attack"], own["variant"]) == (attack, variant)
    ]


def _attributes(methods: Mapping[str, Record], named: Sequence[str], source: str) -> list[str]:
    read = {
        name: {str(own["attribute"]): own for own in cast("list[Record]", method["attributes"])}
        for name, method in methods.items()
        if name in named
    }
    attributes = list(read[named[0]])
    heads = [f"{name}, {what}" for name in attributes for what in ("as before", "crowd moved")]
    return [
        "## StyleID, Figure 13: attributes, face by face and in the crowd",
        "Share of faces that read as before (`none` shows that one reader stands behind both), "
        "and how far the shares of the values moved (total variation). A classifier on gradients "
        f"reads; its labels were {source}. The paper draws bars of four attributes of CelebA, "
        "read by a service, and finds StyleID near the original and means far from it.",
        head("method", *heads),
        *(
            cells(name, *(text for key in attributes for text in _attribute_cells(read[name][key])))
            for name in named
        ),
    ]


def _attribute_cells(own: Record) -> tuple[str, str]:
    same = cast("dict[str, float]", own["same"])
    return f"{same['rate']:.1%}", f"{cast(float, own['shift']):.1%}"


def _over_k(rows: Sequence[Record], untouched: Record) -> list[str]:
    before = min(_rate(own) for own in _findings(untouched, *_NAIVE))
    return [
        "## AnonFACES, Table 1, Figures 10 and 11: over k",
        "Rank-1 with another photograph (Table 1) and with the very one (Figs 10 and 15), worst "
        "recogniser, and information loss. Before: "
        f"{before:.1%} here, 78.7 % in the paper, whose values at k = 2, 4, 8 are "
        f"{', '.join(_TABLE_1.values())}. The paper's plots stay below 1 ÷ k; here a person has up "
        "to two pictures in one mean, which can exceed it by a little where k is small.",
        head("method", "k", "1 ÷ k", "another photograph", "the same photograph", "loss"),
        *(
            cells(
                str(own["method"]),
                str(own["k"]),
                f"{1 / cast(int, own['k']):.1%}",
                f"{max(_rate(found) for found in _findings(own, *_NAIVE)):.1%}",
                f"{max(_rate(found) for found in _findings(own, 'A1', 'same photograph')):.1%}",
                f"{_mean(own['information_loss']):.3f}",
            )
            for own in rows
        ),
    ]


def _rate(finding: Record) -> float:
    return cast(float, finding["rate"])


def _mean(values: object) -> float:
    numbers = list(cast("dict[str, float]", values).values())
    return sum(numbers) / len(numbers)
