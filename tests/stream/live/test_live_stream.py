from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

import pytest

from benchmarks.soak import PatternSource
from config.service import Live
from engines.blending.compositor import Composite
from engines.types import Frame
from stream.cli.stream_end import raise_failure
from stream.live.backoff import Backoff
from stream.live.clock import SystemClock
from stream.live.errors import SinkLost, SourceLost
from stream.live.live_encoder import EncodedPicture
from stream.live.live_stream import LiveStream
from stream.live.sink_lane import SinkLane
from tests.stream.live.fakes import Collector, FakeSink, LookAhead, slate
from tests.stream.live.rtsp_peer import eventually

pytestmark = pytest.mark.unit


class Hangs:
    """An anonymizer whose first call returns only when it is let."""

    def __init__(self, release: threading.Event) -> None:
        self._release = release

    def push(self, frame: Frame) -> Sequence[Composite]:
        self._release.wait(60.0)
        return ()

    def flush(self) -> Sequence[Composite]:
        return ()

    def close(self) -> None:
        pass


def test_stop_while_every_engine_hangs_names_the_threads_and_ends() -> None:
    release = threading.Event()
    stream = LiveStream(
        "cam",
        lambda hear: PatternSource(16, 16, 50, 10_000),
        lambda: Hangs(release),
        slate,
        SystemClock(),
        bounds=Live(hold_s=0.1, hang_s=0.02, slate_height=16, slate_width=16),
    )
    stream.start()
    assert eventually(lambda: stream.status().hung_calls == 3)
    assert "cam-worker" in stream.stop(timeout_s=0.2)
    release.set()
    assert eventually(lambda: stream.status().hung_calls == 0)
    assert eventually(lambda: not stream.stop(timeout_s=1.0))


class NeverWritten(FakeSink):
    """A sink whose server takes nothing, and which nothing cuts."""

    def __init__(self, release: threading.Event) -> None:
        super().__init__()
        self._release = release

    def write(self, picture: EncodedPicture) -> None:
        self._release.wait(60.0)


def test_stop_while_an_output_hangs_tells_of_the_output() -> None:
    """The planted fault: under load the thread of such an output was all that was told."""
    release, clock = threading.Event(), SystemClock()
    stream = LiveStream(
        "cam", lambda hear: PatternSource(16, 16, 50, 10_000), lambda: LookAhead(1), slate, clock
    )
    sink = NeverWritten(release)
    lane = SinkLane("rtsp://server:554", lambda: sink, 64, Backoff(1, 8), clock, stream.counters)
    stream.add_lane(lane)
    stream.start()
    assert eventually(lambda: lane.waiting > 1)
    stuck = stream.stop(timeout_s=0.2)
    assert stuck == ["cam-sink-0"]
    with pytest.raises(SinkLost, match="rtsp://server:554 does not take"):
        raise_failure(stream.status(), stuck)
    release.set()
    assert eventually(lambda: not stream.stop(timeout_s=1.0))


def test_file_that_ends_while_its_engine_hangs_ends_after_the_fresh_worker() -> None:
    release = threading.Event()
    stream = LiveStream(
        "cam",
        lambda hear: EndsAfter(5),
        lambda: Hangs(release),
        slate,
        SystemClock(),
        bounds=Live(hold_s=0.1, hang_s=10.0, slate_height=16, slate_width=16),
    )
    stream.start()
    assert not stream.ended.wait(0.3)
    release.set()
    assert stream.ended.wait(10.0)
    assert stream.stop() == []


def test_camera_whose_clock_jumps_leaves_the_outputs_time_alone() -> None:
    stream = LiveStream(
        "cam",
        lambda hear: Jumps(16, 16, 50, 1000),
        lambda: LookAhead(2),
        slate,
        SystemClock(),
        bounds=Live(hold_s=0.5, clock_jump_s=0.5, slate_height=16, slate_width=16),
    )
    seen = Collector()
    stream.add_outlet(seen)
    stream.start()
    assert eventually(lambda: stream.counters.counts().get("clock_jumps", 0) >= 3)
    assert stream.stop() == []
    times_s = [float(one.pts * one.time_base) for one in seen.taken]
    steps_s = [later - sooner for sooner, later in itertools.pairwise(times_s)]
    assert min(steps_s) > 0
    assert max(steps_s) < 2.0


class Jumps(PatternSource):
    """A camera whose clock leaps an hour ahead, back, and falls to zero."""

    def frames(self) -> Iterator[Frame]:
        offsets = (1000, 1000 + 3600 * 50, 1000, 0)
        for frame in super().frames():
            yield replace(frame, pts=frame.pts + offsets[min(3, frame.index // 20)])


class EndsAfter(PatternSource):
    """A source that ends instead of breaking off."""

    def __init__(self, frames: int) -> None:
        super().__init__(16, 16, 100, frames)

    def frames(self) -> Iterator[Frame]:
        with suppress(SourceLost):
            yield from super().frames()
