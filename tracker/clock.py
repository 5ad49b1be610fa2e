"""Time that only goes forward, whatever the container says."""

from __future__ import annotations

import math

__all__ = ["StreamClock"]

_NOMINAL_S = 1 / 25
_SHORTEST_S = 1e-4
_CALM = 0.1


class StreamClock:
    """Turns presentation times into strictly rising seconds.

    A time that is not finite, repeats or goes back is replaced by the time before plus the
    usual interval; the offset is kept, so that the frames after it stay in order.

    >>> clock = StreamClock()
    >>> [round(clock.push(time_s), 3) for time_s in (0.0, 0.04, 0.04, 0.08)]
    [0.0, 0.04, 0.08, 0.12]
    """

    def __init__(self) -> None:
        self._last_given: float | None = None
        self._now_s = 0.0
        self._usual_s = _NOMINAL_S

    def push(self, time_s: float) -> float:
        """The next frame's time, s."""
        given = time_s if math.isfinite(time_s) else None
        if self._last_given is None and given is not None:
            self._last_given = given
            return self._now_s
        interval_s = (
            given - self._last_given if given is not None and self._last_given is not None else 0.0
        )
        if interval_s >= _SHORTEST_S:
            self._usual_s += _CALM * (min(interval_s, 1.0) - self._usual_s)
        else:
            interval_s = self._usual_s
        if given is not None:
            self._last_given = given
        self._now_s += interval_s
        return self._now_s
