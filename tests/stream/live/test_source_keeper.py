from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from typing import Any

import pytest

from config.service import Live
from engines.types import Frame
from stream.live.counters import Counters
from stream.live.source_keeper import SourceKeeper
from stream.media.ends import Source
from tests.stream.live.fakes import FakeClock, ScriptedSource, lost

pytestmark = pytest.mark.unit
Logged = Sequence[MutableMapping[str, Any]]


def keeper_of(
    clock: FakeClock,
    attempts: list[Callable[[], Source]],
    bounds: Live | None = None,
    *,
    repeats: bool = False,
) -> tuple[SourceKeeper, list[Frame], Counters]:
    delivered: list[Frame] = []
    counters = Counters()
    script = iter(attempts)

    def connect() -> Source:
        attempt = next(script, None)
        if attempt is None:
            keeper.stop()
            raise lost("script over")
        return attempt()

    keeper = SourceKeeper(
        connect,
        delivered.append,
        bounds or Live(),
        clock,
        counters,
        stream="cam",
        repeats=repeats,
    )
    return keeper, delivered, counters


def failing() -> Source:
    raise lost()


def test_connections_without_video_pause_longer_each_time() -> None:
    clock = FakeClock()
    silent = [lambda: ScriptedSource(clock, [], then=lost("no video"))] * 5
    keeper, delivered, _ = keeper_of(clock, list(silent), Live(reconnect_first_s=1.0))
    keeper.run()
    assert not delivered
    assert clock.waits == [1.0, 2.0, 4.0, 8.0, 15.0]


def test_stable_video_after_failures_resets_the_pause() -> None:
    clock = FakeClock()
    stable = lambda: ScriptedSource(clock, [n / 10 for n in range(12)], then=lost())  # noqa: E731
    keeper, delivered, counters = keeper_of(
        clock, [failing, failing, stable, failing], Live(reconnect_first_s=1.0)
    )
    keeper.run()
    assert clock.waits == [1.0, 2.0, 1.0, 2.0]
    assert len(delivered) == 12
    assert counters.counts()["connects"] == 1


def test_short_burst_of_video_does_not_reset_the_pause() -> None:
    clock = FakeClock()
    burst = lambda: ScriptedSource(clock, [0.0, 0.1], then=lost())  # noqa: E731
    keeper, _, counters = keeper_of(clock, [burst, burst, burst], Live(reconnect_first_s=1.0))
    keeper.run()
    assert clock.waits == [1.0, 2.0, 4.0]
    assert counters.counts()["reconnects"] == 2


def test_silent_connection_is_closed_by_the_watchdog() -> None:
    clock = FakeClock()
    source = ScriptedSource(clock, [0.0, 0.1, 0.2])
    keeper, delivered, counters = keeper_of(clock, [lambda: source], Live(stall_s=5.0))

    def stall(frame: Frame) -> None:
        delivered.append(frame)
        clock.seconds += 6.0
        keeper.check()

    keeper._deliver = stall
    keeper.run()
    assert source.is_closed
    assert keeper.state == "stopped"
    assert clock.waits
    assert counters.counts()["source_stalls"] == 1
    assert len(delivered) == 1


def test_source_that_ends_ends_the_stream() -> None:
    clock = FakeClock()
    keeper, delivered, _ = keeper_of(clock, [lambda: ScriptedSource(clock, [0.0])])
    keeper.run()
    assert keeper.state == "ended"
    assert len(delivered) == 1


def test_file_that_repeats_begins_again_without_a_pause() -> None:
    clock = FakeClock()
    whole = lambda: ScriptedSource(clock, [0.0, 0.1])  # noqa: E731
    keeper, delivered, _ = keeper_of(clock, [whole, whole], repeats=True)
    keeper.run()
    assert len(delivered) == 4
    assert not clock.waits


def test_empty_file_that_repeats_is_paced() -> None:
    clock = FakeClock()
    empty = lambda: ScriptedSource(clock, [])  # noqa: E731
    keeper, _, _ = keeper_of(clock, [empty, empty], repeats=True)
    keeper.run()
    assert clock.waits == [0.5, 1.0]


def test_unexpected_exception_is_told_without_its_text() -> None:
    clock = FakeClock()
    secret = RuntimeError("rtsp://user:secret@host")
    broken = lambda: ScriptedSource(clock, [], then=secret)  # noqa: E731
    keeper, _, _ = keeper_of(clock, [broken])
    seen: list[str] = []
    clock.on_wait = lambda: seen.append(keeper.trouble)
    keeper.run()
    assert seen[0] == "the source failed unexpectedly (RuntimeError)"


def test_camera_that_is_away_is_logged_once_and_once_when_it_is_back(logged: Logged) -> None:
    clock = FakeClock()
    stable = lambda: ScriptedSource(clock, [n / 10 for n in range(12)])  # noqa: E731
    keeper, _, _ = keeper_of(
        clock, [failing, failing, failing, stable], Live(reconnect_first_s=1.0)
    )
    keeper.run()
    assert [(one["event"], one["stream"]) for one in logged] == [
        ("source_lost", "cam"),
        ("source_back", "cam"),
    ]
    assert logged[0]["reason"] == "the camera is gone"
    assert logged[1]["duration_ms"] == 8000  # pauses of 1, 2 and 4 s and ten frames


def test_camera_with_short_bursts_of_video_is_logged_as_lost_once(logged: Logged) -> None:
    clock = FakeClock()
    burst = lambda: ScriptedSource(clock, [0.0, 0.1], then=lost())  # noqa: E731
    keeper, _, _ = keeper_of(clock, [burst] * 5)
    keeper.run()
    assert [one["event"] for one in logged] == ["source_lost"]


def test_camera_that_never_fails_logs_nothing(logged: Logged) -> None:
    clock = FakeClock()
    keeper, _, _ = keeper_of(clock, [lambda: ScriptedSource(clock, [n / 10 for n in range(99)])])
    keeper.run()
    assert not logged


def test_log_of_an_unexpected_failure_holds_no_secret(logged: Logged) -> None:
    clock = FakeClock()
    secret = RuntimeError("rtsp://user:secret@host")
    keeper, _, _ = keeper_of(clock, [lambda: ScriptedSource(clock, [], then=secret)])
    keeper.run()
    assert len(logged) == 1
    assert "secret" not in str(logged)
