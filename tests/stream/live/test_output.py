from __future__ import annotations

import pytest

from stream.live.counters import Counters
from stream.live.output import Output
from stream.live.timeline import Timeline
from tests.stream.live.fakes import Collector, FakeClock, composite_at, slate

pytestmark = pytest.mark.unit


def output_of(clock: FakeClock) -> tuple[Output, Collector, Counters]:
    counters, collector = Counters(), Collector()
    timeline = Timeline()
    timeline.place(0.0, 0.0)
    output = Output(timeline, slate, (90, 160), 1.0, 5.0, clock, counters)
    output.add(collector)
    return output, collector, counters


def test_silence_from_the_start_shows_slates_of_the_configured_size() -> None:
    clock = FakeClock()
    output, collector, _ = output_of(clock)
    output.tick()
    assert not collector.taken
    for _ in range(100):
        clock.seconds += 0.04
        output.tick()
    assert 14 <= len(collector.taken) <= 16
    assert all(item.is_fully_covered for item in collector.taken)
    assert collector.taken[0].picture.height == 90
    assert output.is_on_slate


def test_slate_takes_the_size_of_the_last_picture() -> None:
    clock = FakeClock()
    output, collector, _ = output_of(clock)
    output.put(composite_at(0, 48, 64), 0.1)
    clock.seconds = 5.0
    output.tick()
    assert collector.taken[-1].picture.width == 64


def test_picture_older_than_what_left_is_dropped_and_counted() -> None:
    clock = FakeClock()
    output, collector, counters = output_of(clock)
    output.put(composite_at(9000), 0.1)
    output.put(composite_at(9000), 0.1)
    output.put(composite_at(100), 0.1)
    assert len(collector.taken) == 1
    assert counters.counts()["dropped_late"] == 2


def test_pictures_after_a_slate_follow_in_time() -> None:
    clock = FakeClock()
    output, collector, _ = output_of(clock)
    output.put(composite_at(0), 0.3)
    for _ in range(50):
        clock.seconds += 0.1
        output.tick()
    output.put(composite_at(round(4.9 * 90_000)), 0.3)
    ticks = [item.pts for item in collector.taken]
    assert ticks == sorted(set(ticks))
    assert not output.is_on_slate


def test_slow_camera_is_given_its_own_frame_interval() -> None:
    clock = FakeClock()
    output, collector, _ = output_of(clock)
    for second in range(1, 40):
        clock.seconds = float(second)
        output.put(composite_at(second * 90_000), 0.1)
        clock.seconds += 0.96
        output.tick()
    assert not any(item.cause == "no signal" for item in collector.taken)


def test_pictures_later_than_every_slate_are_let_in_again() -> None:
    clock = FakeClock()
    output, collector, _ = output_of(clock)
    for tenth in range(100):
        clock.seconds = tenth / 10
        output.tick()
        if clock.seconds > 3:
            output.put(composite_at(round((clock.seconds - 2.5) * 90_000)), 2.5)
    assert not output.is_on_slate
    assert [item.pts for item in collector.taken] == sorted({i.pts for i in collector.taken})


def test_removed_outlet_gets_nothing_more() -> None:
    clock = FakeClock()
    output, collector, _ = output_of(clock)
    output.remove(collector)
    output.put(composite_at(1), 0.0)
    assert not collector.taken
