"""The HTML page of a report: one file, no network, readable on a phone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from evaluation.reports.charts import Chart, Series, svg_from_chart
from evaluation.reports.clip_record import CLIP_SCHEMA, Record

__all__ = ["page_from_record"]

_TEMPLATES = Path(__file__).parent / "templates"


def page_from_record(record: Record) -> str:
    """The page of a clip's or a folder's record."""
    if record["schema"] == CLIP_SCHEMA:
        return _rendered("clip.html", record, _clip_charts(record))
    from evaluation.reports.folder_page import folder_charts, folder_view

    return _rendered("folder.html", folder_view(record), folder_charts(record))


def _rendered(template: str, record: Record, charts: Sequence[Chart]) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined
    )
    environment.filters["percent"] = _percent
    environment.filters["rate"] = _rate
    environment.filters["number"] = _number
    environment.filters["one"] = lambda value: f"{value:.1f}"
    environment.filters["two"] = lambda value: f"{value:.2f}"
    environment.filters["goal"] = _goal
    drawn = [
        # The SVG comes from numbers and names of ours, and must not be escaped.
        {"title": chart.title, "svg": Markup(svg_from_chart(chart))}  # noqa: S704
        for chart in charts
    ]
    return environment.get_template(template).render(record=record, charts=drawn)


def _percent(value: float) -> str:
    """Two figures that matter: 0.00123 → `0.12 %`, 0.5 → `50 %`."""
    share = 100 * value
    if share == 0:
        return "0 %"
    digits = 2 if share < 1 else 1 if share < 10 else 0
    return f"{share:.{digits}f} %"


def _rate(figure: Record) -> str:
    """A rate with its interval; a dash where nothing was measured."""
    if not figure["probes"]:
        return "–"
    rate, lower, upper = (float(cast(float, figure[key])) for key in ("rate", "lower", "upper"))
    return f"{_percent(rate)} [{_percent(lower)}, {_percent(upper)}]"


def _number(value: float) -> str:
    if value != value:
        return "–"
    return "0" if abs(value) < 1e-9 else f"{value:.3g}"


def _goal(value: float, goal: Record) -> str:
    """A goal's figure in its own unit."""
    return _percent(value) if goal["is_share"] else f"{value:.2f}"


def _clip_charts(record: Record) -> list[Chart]:
    if "A12" not in record:
        return []
    figures = cast(Record, record["A12"])
    rows = [
        row
        for row in cast("list[Record]", figures["by_size"])
        if cast(Record, row["bare"])["probes"]
    ]
    if not rows:
        return []
    places = [float(place) for place in range(len(rows))]
    series = [Series("bare", places, [_share(row["bare"]) for row in rows])]
    for name in cast(Record, figures["recognisable"]):
        shares = [_share(cast(Record, row["identified"])[name]) for row in rows]
        series.append(Series(f"identified by {name}", places, shares))
    return [
        Chart(
            "Exposure by face size",
            "size of the face",
            "share of face-frames, %",
            series,
            y_limits=(-2, 102),
            x_names=[str(row["size"]) for row in rows],
        )
    ]


def _share(figure: object) -> float:
    return 100 * float(cast(float, cast(Record, figure)["rate"]))
