from __future__ import annotations

import pytest

from evaluation.reports.folder_page import folder_charts

pytestmark = pytest.mark.unit


def record(curves: dict[str, list[list[float]]], **changed: object) -> dict[str, object]:
    found = {
        "attack": "A1",
        "variant": "other photograph",
        "judge": "one",
        "rate": 0.1,
        "probes": 10,
        "curves": curves,
    }
    method = {
        "name": "kveil",
        "failure": None,
        "findings": [found] if curves else [],
        "information_loss": None,
    }
    return {"methods": [method | changed], "trade_off": []}


def test_charts_with_nothing_to_show_are_left_out() -> None:
    line = [[0.001, 0.1], [1.0, 1.0]]
    shown = folder_charts(record({"roc": line, "cmc": line}))
    assert len(shown) == 2
    assert folder_charts(record({})) == []


def test_what_was_not_attacked_is_not_drawn_as_if_nobody_had_been_found() -> None:
    trained = {"attack": "A4", "variant": "linear map", "judge": "one", "rate": 0.0, "probes": 10}
    alone = record({}, findings=[trained], information_loss={"one": 1.4})
    assert folder_charts(alone) == []
    of_five = {
        "method": "kveil",
        "k": 5,
        "findings": [trained],
        "information_loss": {"one": 1.4},
        "diversity": {"one": {"ratio": 0.9}},
    }
    titles = [chart.title for chart in folder_charts(alone | {"trade_off": [of_five]})]
    assert titles == ["Information loss over k", "Identities out ÷ in, over k"]
