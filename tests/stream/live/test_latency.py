from __future__ import annotations

import itertools
import json
import os
import sys
import time
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import av
import numpy as np
import psutil
import pytest

from config.service import Live, ServiceSettings, Sources, StreamSpec
from config.settings import Settings
from engines.blending.compositor import Composite
from engines.types import Frame
from stream.allocator import keep_memory_flat
from stream.live.address import address_from_text
from stream.live.assembly import Assembly
from stream.live.clock import SystemClock
from stream.live.network_source import NetworkSource
from stream.live.replacers import open_replacers
from stream.live.running_stream import RunningStream
from stream.media.ends import Source, StreamShape
from stream.pipeline.engine_set import open_engines
from stream.service.url_guard import OpenGate
from tests.stream.live.rtsp_peer import RtspPeer, burnt_ms, eventually, free_port

pytestmark = [pytest.mark.rtsp, pytest.mark.slow]
FPS = 15
LOOP_MS = 10_000
MINUTES = float(os.environ.get("KVEIL_LATENCY_MINUTES", "10"))
METHOD = os.environ.get("KVEIL_LATENCY_METHOD", "solid")
STREAMS = int(os.environ.get("KVEIL_LATENCY_STREAMS", "2"))
_GROWTH_MB = 5.0


@dataclass(slots=True)
class Stopwatch:
    """Reads the burnt time of pictures, decoded and handed to the encoders.

    Attributes:
        decoded_s: by burnt time, when that picture was decoded.
        added_s: of each picture handed over, since it was decoded.
        glass_s: of the same, since its burnt time.
        efforts: how often each effort was seen.
    """

    decoded_s: dict[int, float] = field(default_factory=dict)
    added_s: array[float] = field(default_factory=lambda: array("d"))
    glass_s: array[float] = field(default_factory=lambda: array("d"))
    efforts: Counter[str] = field(default_factory=Counter)

    def offer(self, composite: Composite) -> None:
        now_s = time.monotonic()
        if composite.is_fully_covered:
            return
        burnt = burnt_ms(composite.picture)
        decoded_s = self.decoded_s.pop(burnt, None)
        if decoded_s is not None:
            self.added_s.append(now_s - decoded_s)
            self.glass_s.append((now_s * 1000 - burnt) % LOOP_MS / 1000)

    def start_over(self) -> None:
        del self.added_s[:]
        del self.glass_s[:]
        self.efforts.clear()

    def told(self) -> dict[str, object]:
        return {
            "pictures": len(self.added_s),
            "added_ms": percentiles(self.added_s),
            "glass_ms": percentiles(self.glass_s),
            "efforts": dict(self.efforts),
        }


class Timed:
    """A source that notes when each picture was decoded."""

    def __init__(self, inner: NetworkSource, watch: Stopwatch) -> None:
        self._inner = inner
        self._watch = watch

    @property
    def shape(self) -> StreamShape:
        return self._inner.shape

    def frames(self) -> Iterator[Frame]:
        for frame in self._inner.frames():
            self._watch.decoded_s[burnt_ms(frame.picture)] = time.monotonic()
            yield frame

    def close(self) -> None:
        self._inner.close()


def percentiles(seconds: array[float]) -> dict[str, float]:
    return {f"p{at}": round(float(np.percentile(seconds, at)) * 1e3, 1) for at in (50, 95, 99)}


def write_faces(clip: Path, target: Path) -> None:
    """Ten pictures of the clip as raw I420 of 1280×720."""
    with av.open(str(clip)) as container, target.open("wb") as file:
        for frame in itertools.islice(container.decode(video=0), 10):
            file.write(frame.reformat(1280, 720, "yuv420p").to_ndarray().tobytes())


def watched(assembly: Assembly, name: str, port: int) -> tuple[RunningStream, Stopwatch]:
    at = f"rtsp://127.0.0.1:{port}"
    spec = StreamSpec(name=name, source=f"{at}/camera", sinks=(f"{at}/out",))
    running, watch = assembly.build(spec), Stopwatch()

    def connect() -> Source:
        address = address_from_text(f"{at}/camera")
        return Timed(NetworkSource(address, OpenGate(), SystemClock()), watch)

    running.live.replace_source(connect)
    running.live.add_outlet(watch)
    running.live.start()
    return running, watch


def test_two_streams_for_ten_minutes_keep_latency_and_memory(
    tmp_path: Path, shared_data: Path
) -> None:
    keep_memory_flat()
    base = tmp_path / "faces.i420"
    write_faces(shared_data / "video" / "asl_again.mkv", base)
    options = ("--size", "1280x720", "--fps", str(FPS), "--base", str(base), "--loop")
    peers = [RtspPeer(free_port(), *options) for _ in range(STREAMS)]
    wanted = Settings(method=METHOD)
    settings = ServiceSettings(anonymize=wanted, live=Live(fps=FPS), sources=Sources())
    opened = open_engines(wanted, hang_s=settings.live.hang_s)
    with opened as engines, open_replacers(engines, wanted) as make:
        assembly = Assembly(settings, engines, make, OpenGate(), SystemClock())
        runs = [watched(assembly, f"cam{n}", peer.port) for n, peer in enumerate(peers)]
        assert eventually(lambda: all(len(watch.added_s) > 300 for _, watch in runs), 180.0)
        for _, watch in runs:
            watch.start_over()
        before = [running.live.counters.counts() for running, _ in runs]
        memory = memory_over_time(runs)
        after = [running.live.counters.counts() for running, _ in runs]
        faces = [running.anonymizers.tally.faces() for running, _ in runs]
        stuck = [name for running, _ in runs for name in running.stop()]
    for peer in peers:
        peer.kill()
    growth_mb = growth_of(memory)
    for (_, watch), old, new, seen in zip(runs, before, after, faces, strict=True):
        counts = {str(event): number - old.get(event, 0) for event, number in new.items()}
        told = {**watch.told(), "counts": counts, "swapped": seen.swapped}
        sys.stdout.write(json.dumps({**told, "covered": seen.covered_by_cause}) + "\n")
    each_minute = [round(one / 1e6, 1) for one in memory[::6]]
    sys.stdout.write(f"memory grew by {growth_mb:.2f} MB in {MINUTES:g} minutes: {each_minute}\n")
    assert not stuck
    assert growth_mb < _GROWTH_MB
    lookahead = wanted.tracking.lookahead_live_frames
    for _, watch in runs:
        half = len(watch.added_s) // 2
        first, second = (
            np.percentile(part, 50) for part in (watch.added_s[:half], watch.added_s[half:])
        )
        assert second - first < 0.1, "the latency grows"
        assert np.percentile(watch.added_s, 95) <= (lookahead + 2) / FPS


def memory_over_time(runs: list[tuple[RunningStream, Stopwatch]]) -> list[int]:
    """Resident bytes every ten seconds; notes the effort of each stream by the way."""
    process = psutil.Process()
    memory = [process.memory_info().rss]
    end = time.monotonic() + MINUTES * 60
    while time.monotonic() < end:
        assert eventually(lambda: False, 10.0) is False
        memory.append(process.memory_info().rss)
        for running, watch in runs:
            watch.efforts[running.anonymizers.overload.effort.name] += 1
    return memory


def growth_of(memory: list[int]) -> float:
    """MB by which the last third's median lies above the middle third's; the first warms up."""
    third = max(1, len(memory) // 3)
    return float(np.median(memory[-third:]) - np.median(memory[-2 * third : -third])) / 1e6
