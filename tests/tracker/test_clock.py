"""A clock that only goes forward."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.clock import StreamClock

pytestmark = pytest.mark.unit


@given(st.lists(st.floats(-1e6, 1e6) | st.just(math.nan) | st.just(math.inf), max_size=50))
def test_whatever_is_said_time_rises(times: list[float]) -> None:
    clock = StreamClock()
    told = [clock.push(time_s) for time_s in times]
    assert all(after > before for before, after in pairwise(told))
    assert all(math.isfinite(time_s) for time_s in told)


def test_good_times_are_kept_from_the_first_on() -> None:
    clock = StreamClock()
    told = [clock.push(10 + index * 0.1) for index in range(5)]
    assert told == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4])


def test_a_repeated_time_counts_as_the_usual_interval() -> None:
    clock = StreamClock()
    for index in range(200):
        clock.push(index * 0.02)
    assert clock.push(199 * 0.02) - 199 * 0.02 == pytest.approx(0.02, rel=0.01)
