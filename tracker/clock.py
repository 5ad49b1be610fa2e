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

    >>> clock = StreamClock()
    >>> [round(clock.push(time_s), 3) for time_s in (5.0, 5.04, 5.04, 5.08)]
    [0.0, 0.04, 0.08, 0.12]
    """

    now_s: float = 0.0
    given_s: float | None = None
    usual_s: float = 1 / 25

    def push(self, time_s: float) -> float:
        """The next frame's time, s."""
        before_s = self.given_s
        if not math.isfinite(time_s):
            self.now_s += self.usual_s
            return self.now_s
        self.given_s = time_s
        if before_s is None:
            return self.now_s
        interval_s = time_s - before_s
        if interval_s < _SHORTEST_S:
            interval_s = self.usual_s
        else:
            self.usual_s += _CALM * (min(interval_s, 1.0) - self.usual_s)
        self.now_s += interval_s
        return self.now_s
