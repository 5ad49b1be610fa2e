"""The scheduler's cost is measured with networks that only sleep."""

from __future__ import annotations

import pytest

from benchmarks.streams import cost_table, measure_schedule

pytestmark = pytest.mark.unit


def test_cost_of_streams_that_share_a_device_is_measured() -> None:
    alone, shared = (measure_schedule(streams, 2, 0.2, 0.5) for streams in (1, 4))
    assert alone.fps == pytest.approx(alone.least_fps)
    assert 0 < shared.least_fps <= shared.fps / 4
    assert shared.rows_per_run > alone.rows_per_run
    assert min(alone.processor_ms, shared.processor_ms) > 0
    header, _, *rows = cost_table([alone, shared]).splitlines()
    assert [row.split("|")[1].strip() for row in rows] == ["1", "4"]
    assert header.count("|") == rows[0].count("|")
