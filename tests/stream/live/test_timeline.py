from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.live.timeline import Timeline

pytestmark = pytest.mark.unit


def test_source_clock_jumps_back_time_goes_on() -> None:
    line = Timeline()
    first = line.place(1000.0, 10.0)
    second = line.place(2.0, 10.1)
    assert (first, second) == (0, 9000)
    assert line.jumps == 1


def test_steady_source_keeps_its_own_spacing() -> None:
    line = Timeline()
    arrivals = [0.0, 0.13, 0.18, 0.31]
    ticks = [line.place(n / 10, now) for n, now in enumerate(arrivals)]
    assert ticks == [0, 9000, 18000, 27000]


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(0.0, 0.5)), max_size=50))
def test_any_source_times_strictly_increase(steps: list[tuple[float, float]]) -> None:
    line, now, last = Timeline(), 0.0, -1
    for source_s, step in steps:
        now += step
        ticks = line.place(source_s, now)
        assert ticks > last
        last = ticks
