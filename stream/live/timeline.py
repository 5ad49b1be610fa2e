"""Puts the frames of a source that comes, goes and restarts on one timeline that only advances."""

from __future__ import annotations

from stream.live.packet_muxer import TICKS

__all__ = ["Timeline"]


class Timeline:
    """Maps a source's own times to ticks of the stream's output.

    While the source's clock and ours agree to within `tolerance_s`, the source's spacing of
    frames is kept to the tick. When they part (a jump of the camera's clock, a reconnect, a file
    that starts over), the source is anchored anew at the present. Ticks strictly increase.

    Args:
        tolerance_s: largest disagreement kept; larger keeps more of a bursty camera's own
            spacing, smaller follows a jump of its clock sooner.

    >>> line = Timeline(tolerance_s=1.0)
    >>> [line.place(seconds, now) for seconds, now in [(50.0, 0.0), (50.1, 0.12), (9.0, 0.2)]]
    [0, 9000, 18000]
    """

    def __init__(self, tolerance_s: float = 1.0) -> None:
        self._tolerance_s = tolerance_s
        self._start_s: float | None = None
        self._offset_s: float | None = None
        self._last = -1
        self._jumps = 0

    @property
    def jumps(self) -> int:
        """How often a source was anchored anew after its first frame."""
        return self._jumps

    def place(self, source_s: float, now_s: float) -> int:
        """Ticks of a frame.

        Args:
            source_s: the frame's time by the source's clock, s.
            now_s: monotonic time of its arrival, s.
        """
        arrival_s = self._elapsed(now_s)
        if self._offset_s is None:
            self._offset_s = arrival_s - source_s
        elif abs(source_s + self._offset_s - arrival_s) > self._tolerance_s:
            self._offset_s = arrival_s - source_s
            self._jumps += 1
        return self._advance(source_s + self._offset_s)

    def along(self, source_s: float) -> float | None:
        """Where a moment of the source's clock lies, s; None before the first frame."""
        return None if self._offset_s is None else source_s + self._offset_s

    def peek(self, now_s: float) -> int:
        """Ticks of a moment, for a picture that has no source; takes nothing from `place`."""
        return max(0, round(self._elapsed(now_s) / TICKS))

    def _elapsed(self, now_s: float) -> float:
        if self._start_s is None:
            self._start_s = now_s
        return now_s - self._start_s

    def _advance(self, seconds: float) -> int:
        self._last = max(self._last + 1, round(seconds / TICKS))
        return self._last
