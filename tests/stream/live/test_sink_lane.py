from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from typing import Any

import pytest

from stream.live.backoff import Backoff
from stream.live.counters import Counters
from stream.live.sink_lane import SinkLane
from tests.stream.live.fakes import FakeClock, FakeSink, composite_at, lost

pytestmark = pytest.mark.unit
Logged = Sequence[MutableMapping[str, Any]]


class CannotEnd(FakeSink):
    """Takes pictures into a buffer and finds out at the end that nobody took them out."""

    def finish(self) -> None:
        raise lost("cannot publish to rtmp://host:1: connection refused")


def run_lane(pictures: int, *sinks: FakeSink) -> SinkLane:
    """Gives so many pictures to a lane that opens these sinks in turn, then ends it."""
    script = iter(sinks)
    open_sink: Callable[[], FakeSink] = lambda: next(script)  # noqa: E731
    lane = SinkLane("out", open_sink, 512, Backoff(1.0, 8.0), FakeClock(), Counters(), stream="cam")
    for number in range(pictures):
        lane.offer(composite_at(number * 3600))
    lane.finish()
    lane.run()
    return lane


def test_pictures_of_a_connection_that_ended_well_are_counted() -> None:
    sink = FakeSink()
    lane = run_lane(7, sink)
    assert sink.is_finished
    assert lane.taken == 7
    assert lane.trouble == ""


def test_pictures_that_only_went_into_buffers_are_not_counted() -> None:
    lane = run_lane(7, CannotEnd())
    assert lane.taken == 0
    assert "connection refused" in lane.trouble


def test_sink_that_is_away_is_logged_once_and_once_when_it_is_back(logged: Logged) -> None:
    lane = run_lane(60, FakeSink(0), FakeSink(0), FakeSink(0), FakeSink())
    assert [(one["event"], one["stream"], one["sink"]) for one in logged] == [
        ("sink_lost", "cam", "out"),
        ("sink_back", "cam", "out"),
    ]
    assert logged[1]["duration_ms"] == 7000
    assert lane.taken == 57
    assert lane.trouble == ""


def test_sink_that_breaks_off_again_and_again_is_never_back(logged: Logged) -> None:
    lane = run_lane(33, FakeSink(10), FakeSink(10), FakeSink(10))
    assert [one["event"] for one in logged] == ["sink_lost"]
    assert "secret" not in str(logged)
    assert lane.taken == 0
    assert "ConnectionResetError" in lane.trouble


def test_stable_connection_that_breaks_off_keeps_what_it_took() -> None:
    lane = run_lane(121, FakeSink(120), FakeSink(0))
    assert lane.taken == 100
    assert lane.trouble
