from __future__ import annotations

import pytest

from evaluation.reports.folder_page import folder_charts

pytestmark = pytest.mark.unit


def record(curves: dict[str, list[list[float]]]) -> dict[str, object]:
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
    return {"methods": [method], "trade_off": []}


def test_charts_with_nothing_to_show_are_left_out() -> None:
    line = [[0.001, 0.1], [1.0, 1.0]]
    shown = folder_charts(record({"roc": line, "cmc": line}))
    assert len(shown) == 2
    assert folder_charts(record({})) == []
