from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress

import pytest

from engines.compositor import Composite
from engines.types import Frame
from stream.live.clock import SystemClock
from stream.live.errors import SourceLost
from stream.live.live_stream import Liveliness, LiveStream
from stream.live.soak import PatternSource
from stream.live.turns import Turns
from tests.stream.live.fakes import slate
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
        Turns(1),
        SystemClock(),
        bounds=Liveliness(hold_s=0.1, hang_s=0.02, slate_shape=(16, 16)),
    )
    stream.start()
    assert eventually(lambda: stream.status().hung_calls == 3)
    assert "cam-worker" in stream.stop(timeout_s=0.2)
    release.set()
    assert eventually(lambda: stream.status().hung_calls == 0)
    assert eventually(lambda: not stream.stop(timeout_s=1.0))


def test_file_that_ends_while_its_engine_hangs_ends_after_the_fresh_worker() -> None:
    release = threading.Event()
    stream = LiveStream(
        "cam",
        lambda hear: EndsAfter(5),
        lambda: Hangs(release),
        slate,
        Turns(1),
        SystemClock(),
        bounds=Liveliness(hold_s=0.1, hang_s=10.0, slate_shape=(16, 16)),
    )
    stream.start()
    assert not stream.ended.wait(0.3)
    release.set()
    assert stream.ended.wait(10.0)
    assert stream.stop() == []


class EndsAfter(PatternSource):
    """A source that ends instead of breaking off."""

    def __init__(self, frames: int) -> None:
        super().__init__(16, 16, 100, frames)

    def frames(self) -> Iterator[Frame]:
        with suppress(SourceLost):
            yield from super().frames()
