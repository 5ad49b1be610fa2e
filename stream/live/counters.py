"""What a live stream counts: rates, losses and latency, in bounded memory."""

from __future__ import annotations

import threading
from collections import Counter, deque
from dataclasses import dataclass
from typing import Literal

__all__ = ["Counters", "Event", "Latency"]

Event = Literal[
    "frames_in",
    "frames_out",
    "frames_damaged",
    "dropped_input",
    "dropped_late",
    "dropped_output",
    "slates",
    "connects",
    "reconnects",
    "source_stalls",
    "clock_jumps",
    "shape_changes",
    "engine_faults",
    "engine_hangs",
    "worker_deaths",
    "encoder_faults",
    "sink_losses",
    "viewers_refused",
]
_RECENT = 300
_FEWEST = 8


@dataclass(frozen=True, slots=True)
class Latency:
    """Recent time from decoded to handed to the encoders, s.

    Attributes:
        p50_s: median of the most recent 300 frames, 0 without any.
        p95_s: 95th percentile of the same.
        largest_s: largest of the same.
    """

    p50_s: float = 0.0
    p95_s: float = 0.0
    largest_s: float = 0.0


class Counters:
    """Counts of one stream; safe to use from several threads.

    >>> counters = Counters()
    >>> counters.add("frames_in", 3)
    >>> counters.counts()["frames_in"]
    3
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[Event] = Counter()
        self._latencies: deque[float] = deque(maxlen=_RECENT)
        self._arrivals: deque[float] = deque(maxlen=_RECENT)
        self._departures: deque[float] = deque(maxlen=_RECENT)

    def add(self, event: Event, times: int = 1) -> None:
        """Counts an event."""
        with self._lock:
            self._counts[event] += times

    def arrived(self, now_s: float) -> None:
        """A frame was decoded."""
        with self._lock:
            self._counts["frames_in"] += 1
            self._arrivals.append(now_s)

    def departed(self, now_s: float, latency_s: float | None) -> None:
        """A picture was handed to the encoders; `latency_s` is None for a slate."""
        with self._lock:
            self._departures.append(now_s)
            self._counts["frames_out" if latency_s is not None else "slates"] += 1
            if latency_s is not None:
                self._latencies.append(latency_s)

    @property
    def newest_latency_s(self) -> float:
        """Latency of the newest picture; 0 before the first."""
        with self._lock:
            return self._latencies[-1] if self._latencies else 0.0

    @property
    def interval_s(self) -> float:
        """Mean time between the frames that came lately; 0 where it is not known."""
        with self._lock:
            if len(self._arrivals) < _FEWEST:
                return 0.0
            return (self._arrivals[-1] - self._arrivals[0]) / (len(self._arrivals) - 1)

    def counts(self) -> dict[Event, int]:
        """Every count since the stream began."""
        with self._lock:
            return dict(self._counts)

    def latency(self) -> Latency:
        """Percentiles of the recent latency."""
        with self._lock:
            ordered = sorted(self._latencies)
        if not ordered:
            return Latency()
        last = len(ordered) - 1
        return Latency(ordered[last // 2], ordered[int(last * 0.95)], ordered[-1])

    def rates(self, now_s: float, window_s: float = 5.0) -> tuple[float, float]:
        """Frames per second in and out over the last `window_s`."""
        with self._lock:
            arrivals, departures = list(self._arrivals), list(self._departures)
        return _rate(arrivals, now_s, window_s), _rate(departures, now_s, window_s)


def _rate(times: list[float], now_s: float, window_s: float) -> float:
    recent = [time for time in times if now_s - time <= window_s]
    if not recent:
        return 0.0
    is_full = len(recent) == len(times) == _RECENT
    span = now_s - recent[0] if is_full else window_s
    return len(recent) / max(span, 1e-3)
