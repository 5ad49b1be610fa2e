"""The times of a recording's frames: they grow, whatever its container says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from stream.media.reading.probe import MediaProbe

__all__ = ["FrameClock"]

_WOBBLE_FRAMES: Final = 4
"""Periods that a time may lie behind, and frames in a row that may be, before its clock was set."""


@dataclass(slots=True)
class FrameClock:
    """Gives every frame a timestamp that grows, from the container's or from the rate.

    Where the container's clock was set back (files joined end to end, a camera started anew),
    frames go on one period after the last and keep their spacing. Packed into one instant they
    would leave too fast, and all that is measured in time, thorough searches first, would wait.

    Attributes:
        probe: the file's rate and time base.
        last: the newest frame's pts.
        first: the first frame's.
        shift: added to the container's times.
        shift_before: the same before the clock was last set; frames of both times may alternate
            for a while, where the codec puts frames out of order.
        nudged: frames in a row whose time did not grow by itself.
        last_s: for how long the last frame is shown; 0 for one period.
    """

    probe: MediaProbe
    last: int | None = None
    first: int = 0
    shift: int = 0
    shift_before: int = 0
    nudged: int = 0
    last_s: float = 0.0

    @property
    def period(self) -> int:
        """Ticks of one nominal frame."""
        shape = self.probe.shape
        return max(1, round(1 / (shape.rate * shape.time_base)))

    def pts_of(self, pts: int | None) -> int:
        """The frame's pts; frames without one follow their predecessor by one period."""
        period = self.period
        if self.last is None:
            self.first = self.last = pts if self.probe.has_timestamps and pts is not None else 0
        elif not self.probe.has_timestamps or pts is None:
            self.last += period
        else:
            self.last = self._grown(pts, self.last, period)
        return self.last

    def _grown(self, given: int, last: int, period: int) -> int:
        """A time after `last`: as given, or near it, or of a clock that was set back."""
        wanted = last + period
        pts = min(given + self.shift, given + self.shift_before, key=lambda at: abs(at - wanted))
        if pts > last:
            self.nudged = 0
            return pts
        if pts >= last - _WOBBLE_FRAMES * period and self.nudged < _WOBBLE_FRAMES:
            self.nudged += 1
            return last + 1
        self.shift, self.shift_before = wanted - given, self.shift
        return wanted

    @property
    def start_s(self) -> float:
        """Time of the first frame in the file, seconds."""
        return float(self.first * self.probe.shape.time_base)

    @property
    def end_s(self) -> float:
        """Seconds from the first frame to the end of the last."""
        if self.last is None:
            return 0.0
        shape = self.probe.shape
        length_s = self.last_s or 1 / shape.rate
        return float((self.last - self.first) * shape.time_base) + float(length_s)
