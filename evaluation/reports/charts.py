"""Plots as inline SVG, drawn without a display and small enough for a phone."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Chart", "Series", "svg_from_chart"]

_COLOURS = (
    "#0b6e4f",
    "#c8553d",
    "#2d6cdf",
    "#8a5a9e",
    "#b58900",
    "#4d4d4d",
    "#1b9aaa",
    "#d1495b",
    "#7a7a2a",
    "#5b3758",
)


@dataclass(frozen=True, slots=True)
class Series:
    """One line or cloud of a chart.

    Attributes:
        label: in the legend.
        x: horizontal values.
        y: vertical values, as many.
        dashed: drawn as a reference.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart and its words.

    Attributes:
        title: what it shows.
        x_label: with unit.
        y_label: with unit.
        series: what is drawn.
        kind: lines, or labelled points.
        x_scale: of the horizontal axis.
        y_limits: ends of the vertical axis; chosen by the data when None.
        whole_x: the horizontal axis counts, so that only whole numbers stand under it.
        x_names: words under the places 0, 1, 2… instead of numbers.
    """

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    kind: Literal["lines", "points"] = "lines"
    x_scale: Literal["linear", "log"] = "linear"
    y_limits: tuple[float, float] | None = None
    whole_x: bool = False
    x_names: Sequence[str] = ()


def svg_from_chart(chart: Chart) -> str:
    """Draws a chart as SVG markup that scales with the page."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    with matplotlib.rc_context({"svg.fonttype": "none", "font.size": 10}):
        figure = Figure(figsize=(5.2, 3.9), layout="constrained")
        axes = figure.add_subplot()
        if chart.kind == "lines":
            _lines(axes, chart)
        else:
            _points(axes, chart)
        axes.set_xscale(chart.x_scale)
        axes.set_xlabel(chart.x_label)
        axes.set_ylabel(chart.y_label)
        if chart.y_limits is not None:
            axes.set_ylim(*chart.y_limits)
        if chart.whole_x:
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        if chart.x_names:
            axes.set_xticks(range(len(chart.x_names)), labels=list(chart.x_names))
        axes.grid(visible=True, alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        output = io.StringIO()
        figure.savefig(output, format="svg", metadata={"Date": None})
    text = output.getvalue()
    return text[text.index("<svg") :]


def _lines(axes: Axes, chart: Chart) -> None:
    for place, series in enumerate(chart.series):
        style = "--" if series.dashed else "-"
        colour = "#999999" if series.dashed else _COLOURS[place % len(_COLOURS)]
        mark = "o" if len(series.x) <= 12 and not series.dashed else ""
        axes.plot(
            series.x, series.y, style, marker=mark, ms=4, lw=1.6, color=colour, label=series.label
        )
    axes.legend(fontsize=8, frameon=False)


def _points(axes: Axes, chart: Chart) -> None:
    """Points with a legend: labels beside them would lie on each other."""
    marks = "osD^vP*X"
    for place, series in enumerate(chart.series):
        colour = _COLOURS[place % len(_COLOURS)]
        mark = marks[place // len(_COLOURS) % len(marks)]
        axes.plot(series.x, series.y, mark, ms=7, color=colour, label=series.label)
    axes.legend(fontsize=8, frameon=False, ncols=2 if len(chart.series) > 8 else 1)
