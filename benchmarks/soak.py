"""Runs live streams for a long time and says whether anything grows: `python -m benchmarks.soak`.

Streams read a pattern made on the spot, or any address given with `--source`; each writes HLS
into a folder that is thrown away, or publishes to `--sink`. Sources break now and then, and one
stream is taken away and put back. Memory, threads and open files are sampled all along.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import psutil
import structlog

from config.service import Live, ServiceSettings, StreamSpec
from config.settings import Settings
from engines.pictures import Picture
from engines.types import Frame
from stream.allocator import keep_memory_flat
from stream.live.assembly import Assembly
from stream.live.clock import SystemClock
from stream.live.errors import SourceLost
from stream.live.replacers import open_replacers
from stream.live.running_stream import RunningStream
from stream.media.ends import Source, StreamShape
from stream.pipeline.engine_set import open_engines
from stream.service.url_guard import OpenGate

__all__ = ["PatternSource", "Sample", "Verdict", "main", "verdict_of"]

_WARM_SHARE = 0.3
_MOST_MB_PER_10_MIN = 1.0
_SAMPLE_S = 5.0


@dataclass(frozen=True, slots=True)
class Sample:
    """The process at one moment: s since the start, resident MB, threads, open files."""

    time_s: float
    memory_mb: float
    threads: int
    files: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the samples say.

    Attributes:
        mb_per_10_min: slope of the memory after warming up, by Theil and Sen (median of slopes).
        threads_more: threads at the end more than after warming up, at least.
        files_more: open files likewise.
        latency_p95_ms: largest of the streams.
        frames_out: of all streams.
        slates: of all streams.
        threads_left: names of threads that did not leave at the end.
        is_passed: nothing grows and nothing is left.
    """

    mb_per_10_min: float
    threads_more: int
    files_more: int
    latency_p95_ms: float
    frames_out: int
    slates: int
    threads_left: list[str]
    is_passed: bool


class PatternSource:
    """A moving pattern in real time, which breaks off after some frames.

    Args:
        height: px.
        width: px.
        fps: frames a second.
        breaks_after: frames until it fails like a lost camera.
    """

    def __init__(self, height: int, width: int, fps: int, breaks_after: int) -> None:
        self._size = (height, width)
        self._fps = fps
        self._breaks_after = breaks_after
        self._closed = threading.Event()

    @property
    def shape(self) -> StreamShape:
        """Size and clock."""
        return StreamShape(*self._size, Fraction(self._fps), Fraction(1, self._fps), None)

    def frames(self) -> Iterator[Frame]:
        """Frames at their time.

        Raises:
            SourceLost: after the last.
        """
        start = time.monotonic()
        for index in range(self._breaks_after):
            if self._closed.wait(max(0.0, start + index / self._fps - time.monotonic())):
                return
            yield Frame(self._picture(index), index, Fraction(1, self._fps), index)
        raise SourceLost("the pattern breaks off, as planned")

    def close(self) -> None:
        """Ends `frames`."""
        self._closed.set()

    def _picture(self, index: int) -> Picture:
        height, width = self._size
        row = ((np.arange(width) + 4 * index) % 256).astype(np.uint8)
        luma = np.ascontiguousarray(np.broadcast_to(row, (height, width)))
        chroma = [np.full((-(-height // 2), -(-width // 2)), 128, np.uint8) for _ in range(2)]
        return Picture((luma, *chroma), "yuv420")


def verdict_of(
    samples: Sequence[Sample],
    latency_p95_ms: float,
    frames_out: int,
    slates: int,
    threads_left: list[str],
) -> Verdict:
    """Judges a run.

    >>> flat = [Sample(60.0 * n, 500.0, 12, 30) for n in range(40)]
    >>> verdict_of(flat, 400.0, 1000, 10, []).is_passed
    True
    >>> leak = [Sample(60.0 * n, 500.0 + n, 12, 30) for n in range(40)]
    >>> round(verdict_of(leak, 400.0, 1000, 10, []).mb_per_10_min)
    10
    """
    warm = list(samples[int(len(samples) * _WARM_SHARE) :])
    slope = _median_slope(warm) * 600.0
    half = max(1, len(warm) // 3)
    threads = min(s.threads for s in warm[-half:]) - min(s.threads for s in warm[:half])
    files = min(s.files for s in warm[-half:]) - min(s.files for s in warm[:half])
    is_flat = slope <= _MOST_MB_PER_10_MIN and threads <= 0 and files <= 0
    return Verdict(
        round(slope, 3),
        threads,
        files,
        round(latency_p95_ms, 1),
        frames_out,
        slates,
        threads_left,
        is_flat and not threads_left and frames_out > 0,
    )


def _median_slope(samples: Sequence[Sample]) -> float:
    """MB per second: the median over all pairs of samples far enough apart."""
    times = np.array([sample.time_s for sample in samples])
    memory = np.array([sample.memory_mb for sample in samples])
    gaps = times[None, :] - times[:, None]
    far = gaps > (times[-1] - times[0]) / 3
    if not far.any():
        return 0.0
    return float(np.median((memory[None, :] - memory[:, None])[far] / gaps[far]))


class _Soak:
    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self._options = options
        self._folder = folder
        self._left: list[str] = []
        self._frames = self._slates = 0
        self._latency_s = 0.0

    def run(self) -> Verdict:
        settings = ServiceSettings(
            anonymize=Settings(method=self._options.method), live=Live(fps=self._options.fps)
        )
        with (
            open_engines(settings.anonymize, hang_s=settings.live.hang_s) as engines,
            open_replacers(engines, settings.anonymize) as make,
        ):
            assembly = Assembly(settings, engines, make, OpenGate(), SystemClock())
            samples = self._watch(assembly)
        return verdict_of(samples, self._latency_s * 1e3, self._frames, self._slates, self._left)

    def _watch(self, assembly: Assembly) -> list[Sample]:
        streams = [self._started(assembly, number) for number in range(self._options.streams)]
        samples, start = [], time.monotonic()
        exchange_s = start + 60.0
        never = threading.Event()
        while time.monotonic() - start < self._options.minutes * 60:
            never.wait(_SAMPLE_S)
            samples.append(_sample(time.monotonic() - start))
            self._note(samples[-1])
            self._latency_s = max(
                self._latency_s, *(one.live.counters.latency().p50_s for one in streams)
            )
            if time.monotonic() > exchange_s and len(streams) > 1:
                self._stopped(streams.pop())
                streams.append(self._started(assembly, self._options.streams - 1))
                exchange_s = time.monotonic() + 60.0
        self._latency_s = max(one.live.counters.latency().p95_s for one in streams)
        for one in streams:
            self._stopped(one)
        return samples

    def _note(self, sample: Sample) -> None:
        """Writes a sample down at once, so that a long run can be watched."""
        if self._options.samples is None:
            return
        with self._options.samples.open("a") as file:
            file.write(json.dumps(asdict(sample)) + "\n")

    def _started(self, assembly: Assembly, number: int) -> RunningStream:
        name = f"soak-{number}"
        sink = self._options.sink or str(self._folder / name / "live.m3u8")
        source = self._options.source
        spec = StreamSpec(name=name, source=source or "/dev/video0", sinks=(sink,))
        running = assembly.build(spec)
        if not source:
            running.live.replace_source(self._pattern)
        running.live.start()
        return running

    def _stopped(self, running: RunningStream) -> None:
        counts = running.live.counters.counts()
        self._frames += counts.get("frames_out", 0)
        self._slates += counts.get("slates", 0)
        self._left += running.stop()

    def _pattern(self) -> Source:
        height, width = self._options.size
        return PatternSource(height, width, self._options.fps, self._options.fps * 90)


def _sample(time_s: float) -> Sample:
    gc.collect()
    process = psutil.Process()
    memory = process.memory_info().rss / 1e6
    return Sample(round(time_s, 1), round(memory, 2), process.num_threads(), process.num_fds())


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the soak; 0 when nothing grew."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--streams", type=int, default=2)
    parser.add_argument("--fps", type=int, default=15)
    parser.add_argument("--size", type=_size, default=(720, 1280), help="WIDTHxHEIGHT")
    parser.add_argument("--method", default="solid")
    parser.add_argument("--source", default="", help="an address instead of the pattern")
    parser.add_argument("--sink", default="", help="an address instead of HLS in a folder")
    parser.add_argument("--samples", type=Path, help="file to append each sample to, as JSON")
    options = parser.parse_args(arguments)
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    keep_memory_flat()
    with tempfile.TemporaryDirectory() as folder:
        verdict = _Soak(options, Path(folder)).run()
    sys.stdout.write(json.dumps(asdict(verdict), indent=2) + "\n")
    return 0 if verdict.is_passed else 1


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.partition("x")
    return int(height), int(width)


if __name__ == "__main__":
    sys.exit(main())
