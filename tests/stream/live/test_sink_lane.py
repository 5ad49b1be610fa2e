from __future__ import annotations

import threading
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any

import pytest

from stream.live.backoff import Backoff
from stream.live.counters import Counters
from stream.live.sink_lane import SinkLane
from stream.live.sound import Sound
from tests.stream.live.fakes import FakeClock, FakeSink, encoded, lost

pytestmark = pytest.mark.unit
Logged = Sequence[MutableMapping[str, Any]]


class CannotEnd(FakeSink):
    """Takes pictures into a buffer and finds out at the end that nobody took them out."""

    def finish(self) -> None:
        raise lost("cannot publish to rtmp://host:1: connection refused")


def made_lane(*sinks: FakeSink, capacity: int = 512) -> SinkLane:
    """A lane that opens these sinks in turn."""
    script = iter(sinks)
    open_sink: Callable[[], FakeSink] = lambda: next(script)  # noqa: E731
    backoff = Backoff(1.0, 8.0)
    return SinkLane("out", open_sink, capacity, backoff, FakeClock(), Counters(), stream="cam")


def run_lane(pictures: int, *sinks: FakeSink) -> SinkLane:
    """Gives so many key frames to a lane, each when it is done with the one before."""
    lane = made_lane(*sinks)
    thread, never = threading.Thread(target=lane.run), threading.Event()
    thread.start()

    def is_done_with(given: int) -> bool:
        failures = sum(sink.failures for sink in sinks)
        written = sum(len(sink.written) for sink in sinks)
        clock = vars(lane)["_clock"]
        is_back = len(clock.waits) == failures and lane.need != "nothing"
        return is_back and written + failures == given

    for number in range(pictures):
        while not is_done_with(number):
            never.wait(0.0005)
        lane.offer(encoded(number, is_key=True))
    lane.end()
    thread.join(20.0)
    assert not thread.is_alive()
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


def test_sink_that_is_behind_loses_pictures_up_to_a_key_frame_and_they_are_counted() -> None:
    sink = FakeSink()
    lane = made_lane(sink, capacity=8)
    for number in range(40):
        lane.offer(encoded(number, is_key=number % 10 == 0))
    lane.end()
    lane.run()
    assert [picture.pts // 3600 for picture in sink.written] == [30, 31, 32, 33, 34, 35, 36, 37]
    counters = vars(lane)["_counters"]
    assert counters.counts()["dropped_output"] == 32


def test_sink_that_is_behind_asks_for_a_key_frame_once_it_has_caught_up_and_not_before() -> None:
    lane, needs = made_lane(FakeSink(), capacity=4), []
    needs.append(lane.need)
    for number in range(10):
        lane.offer(encoded(number, is_key=number == 0))
    needs.append(lane.need)
    lane.end()
    lane.run()
    needs.append(lane.need)
    assert needs == ["key", "next", "key"]


def test_sound_is_written_with_the_picture_of_its_time() -> None:
    sink = FakeSink()
    lane = made_lane(sink)
    sounds = [Sound(b"....", number / 25) for number in range(4)]
    for number, sound in enumerate(sounds):
        lane.hear((sound,), (number + 1) / 25)
    for number in (1, 4, 5):  # two were dropped before they were encoded
        lane.offer(encoded(number, is_key=True))
    lane.end()
    lane.run()
    assert sink.sounds == [((sounds[0],), 1 / 25), (tuple(sounds[1:]), 4 / 25)]
