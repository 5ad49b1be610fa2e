"""What the page of a folder shows: the table and the charts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, cast

from evaluation.reports.charts import Chart, Series
from evaluation.reports.clip_record import Record
from evaluation.reports.residual import residual_rows

__all__ = ["folder_charts", "folder_view"]

_COLUMNS: Final = (
    ("A1", "other photograph", "another photo"),
    ("A1", "same photograph", "the same photo"),
    ("A2", "other photograph", "search by photo"),
    ("A3", "fresh secret", "parrot"),
    ("A3", "stolen secret", "parrot, key stolen"),
    ("A4", None, "trained on it"),
    ("A5", None, "undone"),
    ("A6", "mean of a person's pictures", "several pictures"),
    ("A7", "next period", "next release"),
    ("A8", "presence known", "three releases"),
    ("A9", "any member first", "a member"),
    ("A9", "any member first, same photographs", "a member, same photo"),
    ("A9m", "photograph released", "was in the set"),
    ("A10", "three pictures each", "duplicates"),
    ("A11", "weights known", "weights known"),
    ("A13", "surroundings alone", "hair and background"),
    ("A13", "new face alone", "new face alone"),
)
"""Attack, variant (the worst of all when None), and what the column is called."""
_RECOGNITION: Final = frozenset({"A1", "A2", "A3", "A4", "A5", "A6", "A9"})
_GUESS = [10 ** (-4 + place / 10) for place in range(41)]
_DRAWN = ("none", "random stranger", "solid", "mosaic", "k-Same-Pixel", "AnonFACES", "kveil")


def folder_view(record: Record) -> Record:
    """The record with its tables laid out: the worst recogniser per cell."""
    methods = cast("list[Record]", record["methods"])
    questions = {str(a["id"]): str(a["question"]) for a in cast("list[Record]", record["attacks"])}
    columns = [column for column in _COLUMNS if any(_cell(m, *column[:2]) for m in methods)]
    return record | {
        "headline": _headline(record),
        "columns": [
            {"attack": attack, "words": words, "question": questions.get(attack, "")}
            for attack, _, words in columns
        ],
        "rows": [
            {
                "method": method,
                "cells": [_cell(method, attack, variant) for attack, variant, _ in columns],
                "use": _by_attribute(method, "downstream"),
                "cluster": _by_attribute(method, "homogeneity"),
                "shown": _by_attribute(method, "attributes"),
                "naive": _naive(method),
                "found": _cell(method, "A1", "other photograph"),
                "worst": _worst_cell(method),
                "diversity": _diversity(method) if method["diversity"] else None,
                "loss": _mean(method["information_loss"]) if method["information_loss"] else None,
                "frechet": _mean(method["frechet"]) if method["frechet"] else None,
            }
            for method in methods
        ],
        "attributes": _attributes(methods),
        "residual": residual_rows(),
        "channels": _channels(record),
        "samples": [
            {"name": method["name"], "jpeg": method["samples"]}
            for method in methods
            if method["samples"]
        ],
    }


def _headline(record: Record) -> str:
    """What the verdict means, in two sentences."""
    controls = cast("list[Record]", record["controls"])
    broken = sum(not control["holds"] for control in controls)
    if not controls:
        believed = "No attack was tried on its controls: nothing here may be believed."
    elif broken:
        believed = (
            f"{broken} of {len(controls)} controls fail: what those attacks found says nothing."
        )
    else:
        believed = f"The figures may be believed: all {len(controls)} controls hold."
    goals = cast("list[Record]", record["goals"])
    met = sum(bool(goal["is_met"]) for goal in goals)
    measured = "goals that were measured" if record["verdict"] == "incomplete" else "goals"
    reached = (
        f"kveil reaches {met} of {len(goals)} {measured}." if goals else "kveil was not tested."
    )
    return f"{believed} {reached}"


def _findings(method: Record, attack: str, variant: str | None) -> list[Record]:
    return [
        finding
        for finding in cast("list[Record]", method["findings"])
        if finding["attack"] == attack and variant in (None, finding["variant"])
    ]


def _cell(method: Record, attack: str, variant: str | None) -> Record | None:
    """The finding of the judge who found most, with whether it is above chance."""
    found = max(_findings(method, attack, variant), key=_rate, default=None)
    if found is None:
        return None
    return found | {"is_above": cast(float, found["lower"]) > cast(float, found["chance"])}


def _worst_cell(method: Record) -> Record | None:
    """The recognition that gained most over a guess; a stolen key is no recognition."""
    cells = [
        cell
        for attack, variant, _ in _COLUMNS
        if attack in _RECOGNITION and variant != "stolen secret"
        if (cell := _cell(method, attack, variant)) is not None
    ]
    return max(cells, key=lambda cell: _rate(cell) - cast(float, cell["chance"]), default=None)


def _rate(finding: Record) -> float:
    return cast(float, finding["rate"])


def _naive(method: Record, attack: str = "A1", variant: str = "other photograph") -> Record | None:
    """Verification figures by the worst recogniser each."""
    found = [
        cast("dict[str, float]", own["measures"]) for own in _findings(method, attack, variant)
    ]
    if not found:
        return None
    return {
        "tar": max(measures["tar"] for measures in found),
        "tar_lower": max(measures["tar_lower"] for measures in found),
        "tar_upper": max(measures["tar_upper"] for measures in found),
        "auc": max(measures["auc"] for measures in found),
        "mean_rank": min(measures["mean_rank_over_chance"] for measures in found),
        "strangers": max(measures["strangers_matched"] for measures in found),
    }


def _by_attribute(method: Record, kind: str) -> dict[str, Record]:
    return {str(own["attribute"]): own for own in cast("list[Record]", method[kind])}


def _attributes(methods: Sequence[Record]) -> list[str]:
    """Names of the attributes that any method was measured on."""
    names: dict[str, None] = {}
    for method in methods:
        for kind in ("downstream", "homogeneity", "attributes"):
            names |= dict.fromkeys(_by_attribute(method, kind))
    return list(names)


def _channels(record: Record) -> list[Record]:
    """What the surroundings and the new face each give away, for methods that replace a part."""
    rows = []
    for method in cast("list[Record]", record["methods"]):
        parts = {
            name: _naive(method, "A13", variant)
            for name, variant in (("left", "surroundings alone"), ("face", "new face alone"))
        }
        kept = [own["measures"] for own in _findings(method, "A13", "surroundings alone")]
        if parts["left"] is None or parts["face"] is None or not kept:
            continue
        share = cast("dict[str, float]", kept[0])["pixels_kept"]
        rows.append({"name": method["name"], "kept": share, "whole": _naive(method), **parts})
    return rows


def folder_charts(record: Record) -> list[Chart]:
    """ROC, CMC, privacy against utility, and the trade-off over k; those with something to show."""
    methods = [m for m in cast("list[Record]", record["methods"]) if not m["failure"]]
    drawn = [method for method in methods if method["name"] in _DRAWN]
    charts = [
        Chart(
            "Another photograph: right matches against false ones",
            "share of strangers matched (false match rate)",
            "share of faces matched with their person",
            [*_curves(drawn, "roc"), Series("guess", _GUESS, _GUESS, dashed=True)],
            x_scale="log",
            y_limits=(-0.02, 1.02),
        ),
        Chart(
            "Is the right person among the first n?",
            "n",
            "share of faces",
            _curves(drawn, "cmc"),
            x_scale="log",
            y_limits=(-0.02, 1.02),
        ),
        Chart(
            "Privacy against utility",
            "information loss (distance to the original)",
            "found with the same photograph",
            _privacy(method for method in methods if method["information_loss"]),
            kind="points",
        ),
        *_trade_offs(cast("list[Record]", record["trade_off"])),
    ]
    return [chart for chart in charts if any(one.x and not one.dashed for one in chart.series)]


def _curves(methods: Iterable[Record], name: str) -> list[Series]:
    series = []
    for method in methods:
        found = max(_findings(method, "A1", "other photograph"), key=_rate, default=None)
        if found is None:
            continue
        curve = cast("dict[str, list[list[float]]]", found["curves"])[name]
        curve = [point for point in curve if point[0] > 0]
        xs, ys = [point[0] for point in curve], [point[1] for point in curve]
        series.append(Series(str(method["name"]), xs, ys))
    return series


def _mean(values: object) -> float:
    numbers = list(cast("dict[str, float]", values).values())
    return sum(numbers) / len(numbers)


def _diversity(method: Record) -> float:
    """Identities out ÷ in by the recogniser that sees fewest."""
    own = cast("dict[str, dict[str, float]]", method["diversity"])
    return min((figures["ratio"] for figures in own.values()), default=0.0)


def _privacy(methods: Iterable[Record]) -> list[Series]:
    """A point for each method that was searched for with the same photograph."""
    return [
        Series(str(method["name"]), [_mean(method["information_loss"])], [_rate(cell)])
        for method in methods
        if (cell := _cell(method, "A1", "same photograph"))
    ]


def _trade_offs(rows: Sequence[Record]) -> list[Chart]:
    names = list(dict.fromkeys(str(row["method"]) for row in rows))
    if not names:
        return []
    sizes = sorted({cast(int, row["k"]) for row in rows})

    def series(name: str, attack: str, variant: str) -> Series:
        points = [
            (cast(int, row["k"]), _rate(cell))
            for row in rows
            if row["method"] == name and (cell := _cell(row, attack, variant))
        ]
        return Series(name, [k for k, _ in points], [rate for _, rate in points])

    bound = Series("1 ÷ k", sizes, [1 / k for k in sizes], dashed=True)

    def over_k(figure: Callable[[Record], float]) -> list[Series]:
        own = [(name, [row for row in rows if row["method"] == name]) for name in names]
        return [
            Series(name, [cast(int, row["k"]) for row in some], [figure(row) for row in some])
            for name, some in own
        ]

    loss = over_k(lambda row: _mean(row["information_loss"]))
    return [
        Chart(
            "Found at first rank over k, same photograph",
            "k",
            "share found",
            [*(series(name, "A1", "same photograph") for name in names), bound],
            y_limits=(-0.02, 1.02),
            whole_x=True,
        ),
        Chart(
            "A member found first, over k",
            "k",
            "share found",
            [series(name, "A9", "any member first") for name in names],
            y_limits=(-0.02, 1.02),
            whole_x=True,
        ),
        Chart("Information loss over k", "k", "distance to the original", loss, whole_x=True),
        Chart(
            "Identities out ÷ in, over k",
            "k",
            "ratio",
            [*over_k(_diversity), bound],
            y_limits=(-0.02, 1.05),
            whole_x=True,
        ),
    ]
