"""Threads that die are noticed and replaced, whatever killed them, and no frame leaves bare."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from benchmarks.soak import PatternSource
from config.service import Live
from engines.blending.compositor import Composite
from engines.types import Frame
from stream.live.clock import SystemClock
from stream.live.counters import Event
from stream.live.live_stream import LiveStream
from tests.stream.live.fakes import Collector, LookAhead, slate
from tests.stream.live.rtsp_peer import eventually

pytestmark = pytest.mark.unit


class Panic(BaseException):
    """What Python code sees of a panic in Rust: no `Exception`."""


class PanicsAt:
    """Covers nothing, and panics at one frame."""

    def __init__(self, number: int, where: str = "push") -> None:
        self._inner = LookAhead(0)
        self._number = number
        self._where = where

    def push(self, frame: Frame) -> Sequence[Composite]:
        if frame.index == self._number and self._where == "push":
            raise Panic
        return self._inner.push(frame)

    def flush(self) -> Sequence[Composite]:
        return ()

    def close(self) -> None:
        if self._where == "close":
            raise Panic


class Scene:
    """A stream of a camera that never fails."""

    def __init__(self, *anonymizers: PanicsAt) -> None:
        spare = list(anonymizers)
        self.seen = Collector()
        self.stream = LiveStream(
            "cam",
            lambda hear: PatternSource(16, 16, 100, 100_000),
            lambda: spare.pop(0) if spare else LookAhead(0),
            slate,
            SystemClock(),
            bounds=Live(hold_s=0.3, slate_height=16, slate_width=16),
        )
        self.stream.add_outlet(self.seen)
        self.stream.start()

    def count(self, event: Event) -> int:
        return self.stream.counters.counts().get(event, 0)

    def goes_on(self) -> bool:
        so_far = self.count("frames_out")
        return eventually(lambda: self.count("frames_out") >= so_far + 20)


@pytest.mark.parametrize("where", ["push", "close"])
def test_panic_in_the_engines_covers_its_frame_and_the_stream_goes_on(where: str) -> None:
    scene = Scene(PanicsAt(5, where))
    try:
        if where == "push":
            assert eventually(lambda: scene.count("engine_faults") == 1)
            assert "Panic" in scene.stream.status().trouble
        assert scene.goes_on()
        assert scene.stream.status().output == "live"
    finally:
        assert scene.stream.stop() == []
    covered = [one for one in scene.seen.taken if one.cause == "anonymizer_fault"]
    assert len(covered) == (1 if where == "push" else 0)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_worker_that_dies_is_replaced_counted_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    put, fails = scene.stream.output.put, [True]

    def kills(composite: Composite, latency_s: float) -> None:
        if fails.pop() if fails else False:
            raise Panic
        put(composite, latency_s)

    try:
        assert scene.goes_on()
        monkeypatch.setattr(scene.stream._worker, "_put", kills)
        assert eventually(lambda: scene.count("worker_deaths") == 1)
        assert "a worker died" in scene.stream.status().trouble
        assert scene.goes_on()
    finally:
        assert scene.stream.stop() == []


def test_supervisor_outlives_what_fails_in_its_duties(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()

    def fails() -> None:
        raise Panic

    try:
        monkeypatch.setattr(scene.stream.output, "tick", fails)
        assert eventually(lambda: scene.count("engine_faults") >= 2)
        assert scene.goes_on()
    finally:
        assert scene.stream.stop() == []


def test_source_that_panics_is_opened_again() -> None:
    attempts: list[int] = []

    def connect(hear: object) -> PatternSource:
        attempts.append(1)
        if len(attempts) == 1:
            raise Panic
        return PatternSource(16, 16, 100, 100_000)

    stream = LiveStream("cam", connect, lambda: LookAhead(0), slate, SystemClock())
    stream.start()
    try:
        assert eventually(lambda: stream.counters.counts().get("frames_out", 0) > 5)
    finally:
        assert stream.stop() == []
