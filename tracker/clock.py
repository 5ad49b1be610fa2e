"""Time that only goes forward, whatever the container says."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["StreamClock"]

_SHORTEST_S = 1e-4
_CALM = 0.1


@dataclass(slots=True)
class StreamClock:
    """Turns presentation times into strictly rising seconds, from 0.

    A time that is not finite, repeats or goes back is taken to come the usual interval
    after the one before; later times are counted on from there.

    Attributes:
        now_s: what the newest frame got.
        given_s: what the container said last; None before the first.
        usual_s: usual interval.
        is_started: a frame has been timed.

    >>> clock = StreamClock()
    >>> [round(clock.push(time_s), 3) for time_s in (5.0, 5.04, 5.04, 5.08)]
    [0.0, 0.04, 0.08, 0.12]
    """

    now_s: float = 0.0
    given_s: float | None = None
    usual_s: float = 1 / 25
    is_started: bool = False

    def push(self, time_s: float) -> float:
        """The next frame's time, s."""
        before_s, is_first = self.given_s, not self.is_started
        self.is_started = True
        if not math.isfinite(time_s):
            interval_s = self.usual_s
        else:
            self.given_s = time_s
            interval_s = self._interval(before_s, time_s)
        self.now_s += 0.0 if is_first else interval_s
        return self.now_s

    def _interval(self, before_s: float | None, time_s: float) -> float:
        """Time since the frame before; the usual one where that cannot be told."""
        if before_s is None or time_s - before_s < _SHORTEST_S:
            return self.usual_s
        self.usual_s += _CALM * (min(time_s - before_s, 1.0) - self.usual_s)
        return time_s - before_s
