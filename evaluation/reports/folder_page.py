"""What the page of a folder shows: the table and the charts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from evaluation.reports.charts import Chart, Series
from evaluation.reports.clip_record import Record

__all__ = ["folder_charts", "folder_view"]

_COLUMNS = (
    ("A1", "other photograph"),
    ("A1", "same photograph"),
    ("A2", "other photograph"),
    ("A3", "fresh secret"),
    ("A3", "stolen secret"),
    ("A4", "linear map on vectors"),
    ("A5", "regression on pixels"),
    ("A6", "mean of a person's pictures"),
    ("A7", "next period"),
    ("A8", "presence unknown"),
    ("A9", "any member first"),
    ("A9m", "photograph released"),
    ("A10", "three pictures each"),
    ("A11", "weights known"),
)
_GUESS = [10 ** (-4 + place / 10) for place in range(41)]
_DRAWN = ("none", "random stranger", "solid", "mosaic", "k-Same-Pixel", "AnonFACES", "kveil")


def folder_view(record: Record) -> Record:
    """The record with its table laid out: worst judge per cell."""
    methods = cast("list[Record]", record["methods"])
    questions = {str(a["id"]): a["question"] for a in cast("list[Record]", record["attacks"])}
    return record | {
        "columns": [
            {"attack": attack, "variant": variant, "question": questions.get(attack, "")}
            for attack, variant in _COLUMNS
        ],
        "rows": [
            {
                "method": method,
                "cells": [_cell(method, attack, variant) for attack, variant in _COLUMNS],
                "naive": _naive(method),
            }
            for method in methods
        ],
    }


def _findings(method: Record, attack: str, variant: str) -> list[Record]:
    return [
        finding
        for finding in cast("list[Record]", method["findings"])
        if finding["attack"] == attack and finding["variant"] == variant
    ]


def _cell(method: Record, attack: str, variant: str) -> Record | None:
    """The finding of the judge who found most, with whether it is above chance."""
    found = max(_findings(method, attack, variant), key=_rate, default=None)
    if found is None:
        return None
    return found | {"is_above": cast(float, found["lower"]) > cast(float, found["chance"])}


def _rate(finding: Record) -> float:
    return cast(float, finding["rate"])


def _naive(method: Record) -> Record | None:
    """Verification figures of A1 by the worst recogniser each."""
    found = [
        cast("dict[str, float]", f["measures"]) for f in _findings(method, "A1", "other photograph")
    ]
    if not found:
        return None
    return {
        "tar": max(measures["tar"] for measures in found),
        "tar_lower": max(measures["tar_lower"] for measures in found),
        "tar_upper": max(measures["tar_upper"] for measures in found),
        "auc": max(measures["auc"] for measures in found),
        "mean_rank": min(measures["mean_rank_over_chance"] for measures in found),
    }


def folder_charts(record: Record) -> list[Chart]:
    """ROC, CMC, privacy against utility, and the trade-off over k."""
    methods = [m for m in cast("list[Record]", record["methods"]) if not m["failure"]]
    drawn = [method for method in methods if method["name"] in _DRAWN]
    return [
        Chart(
            "A1: match rate against false match rate",
            "false match rate",
            "true match rate",
            [*_curves(drawn, "roc"), Series("guess", _GUESS, _GUESS, dashed=True)],
            x_scale="log",
            y_limits=(-0.02, 1.02),
        ),
        Chart(
            "A1: is the right person among the first n?",
            "n",
            "share of faces",
            _curves(drawn, "cmc"),
            x_scale="log",
            y_limits=(-0.02, 1.02),
        ),
        Chart(
            "Privacy against utility",
            "information loss (distance to the original)",
            "A1 rank-1, same photograph",
            [_privacy(method) for method in methods if method["information_loss"]],
            kind="points",
        ),
        *_trade_offs(cast("list[Record]", record["trade_off"])),
    ]


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


def _privacy(method: Record) -> Series:
    cell = _cell(method, "A1", "same photograph")
    rate = _rate(cell) if cell else 0.0
    return Series(str(method["name"]), [_mean(method["information_loss"])], [rate])


def _trade_offs(rows: Sequence[Record]) -> list[Chart]:
    names = list(dict.fromkeys(str(row["method"]) for row in rows))
    if not names:
        return []
    sizes = sorted({cast(int, row["k"]) for row in rows})

    def series(name: str, attack: str, variant: str) -> Series:
        own = [row for row in rows if row["method"] == name]
        cells = [_cell(row, attack, variant) for row in own]
        rates = [_rate(cell) if cell else 0.0 for cell in cells]
        return Series(name, [cast(int, row["k"]) for row in own], rates)

    bound = Series("1 ÷ k", sizes, [1 / k for k in sizes], dashed=True)
    loss = [
        Series(
            name,
            [cast(int, row["k"]) for row in rows if row["method"] == name],
            [_mean(row["information_loss"]) for row in rows if row["method"] == name],
        )
        for name in names
    ]
    diversity = [
        Series(
            name,
            [cast(int, row["k"]) for row in rows if row["method"] == name],
            [_mean(row["diversity"]) for row in rows if row["method"] == name],
        )
        for name in names
    ]
    return [
        Chart(
            "Found at first rank over k, same photograph",
            "k",
            "A1 rank-1",
            [*(series(name, "A1", "same photograph") for name in names), bound],
        ),
        Chart(
            "A member found first, over k",
            "k",
            "A9",
            [series(name, "A9", "any member first") for name in names],
        ),
        Chart("Information loss over k", "k", "distance to the original", loss),
        Chart("Identities out ÷ in, over k", "k", "ratio", [*diversity, bound]),
    ]
