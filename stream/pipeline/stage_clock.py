"""How long each stage of a run takes, in bounded memory."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from stream.files.report import StageTimes

__all__ = ["StageClock"]

_BINS_PER_DOUBLING = 16
_SMALLEST_S = 1e-6


class StageClock:
    """Collects durations by stage name into logarithmic bins (width 4.4 %).

    Memory is constant however long the run is. Safe to use from several threads.

    Args:
        now: monotonic seconds; tests pass a fake.

    >>> times = iter([0.0, 0.010, 1.0, 1.030])
    >>> clock = StageClock(now=lambda: next(times))
    >>> for _ in range(2):
    ...     with clock.measure("detect"):
    ...         pass
    >>> round(clock.summary()["detect"].p99_ms)
    30
    """

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self._now = now
        self._bins: dict[str, dict[int, int]] = {}
        self._lock = threading.Lock()

    @contextmanager
    def measure(self, stage: str) -> Iterator[None]:
        """Times the body and files it under `stage`, also when it raises."""
        start = self._now()
        try:
            yield
        finally:
            self.add(stage, self._now() - start)

    def add(self, stage: str, seconds: float) -> None:
        """Files one duration."""
        place = round(_BINS_PER_DOUBLING * math.log2(max(seconds, _SMALLEST_S) / _SMALLEST_S))
        with self._lock:
            bins = self._bins.setdefault(stage, {})
            bins[place] = bins.get(place, 0) + 1

    def summary(self) -> dict[str, StageTimes]:
        """Percentiles of every stage, ms."""
        with self._lock:
            copies = {stage: dict(bins) for stage, bins in self._bins.items()}
        return {stage: _times_from_bins(bins) for stage, bins in copies.items()}


def _times_from_bins(bins: dict[int, int]) -> StageTimes:
    runs = sum(bins.values())

    def percentile(share: float) -> float:
        rank, seen = share * runs, 0
        for place in sorted(bins):
            seen += bins[place]
            if seen >= rank:
                return float(round(_SMALLEST_S * 2 ** (place / _BINS_PER_DOUBLING) * 1e3, 3))
        return 0.0

    return StageTimes(
        p50_ms=percentile(0.50), p95_ms=percentile(0.95), p99_ms=percentile(0.99), runs=runs
    )
