"""Counts what happened to frames and faces, for report and metrics."""

from __future__ import annotations

from collections import Counter

from engines.blending.compositor import Composite
from engines.types import Track, TrackState
from stream.files.report import FaceCounts, FrameCounts
from stream.swap.switches import SwitchCount

__all__ = ["Tally"]


class Tally:
    """Counters of one stream; memory does not grow with its length."""

    def __init__(self) -> None:
        self.read = 0
        self.written = 0
        self.damaged = 0
        self._highest_track = 0
        self._swapped = 0
        self._filled = 0
        self._switches = SwitchCount()
        self._covered: Counter[str] = Counter()
        self._full_covers: Counter[str] = Counter()

    def add_composite(self, composite: Composite, tracks: tuple[Track, ...]) -> None:
        """Counts one finished frame and the tracks that were in it."""
        if composite.is_fully_covered:
            self._full_covers[composite.cause] += 1
        self._switches.add(composite)
        for outcome in composite.outcomes:
            if outcome.result == "swapped":
                self._swapped += 1
            else:
                self._covered[outcome.cause] += 1
        self._highest_track = max([self._highest_track, *(track.id for track in tracks)])
        self._filled += sum(track.state is not TrackState.DETECTED for track in tracks)

    def new_run(self) -> None:
        """Numbers of tracks start over."""
        self._switches.new_run()

    def frames(self) -> FrameCounts:
        """Frames so far."""
        return FrameCounts(
            read=self.read,
            written=self.written,
            damaged=self.damaged,
            covered_fully=self._full_covers.total(),
            covered_fully_by_cause=dict(self._full_covers),
        )

    def faces(self) -> FaceCounts:
        """Faces so far."""
        return FaceCounts(
            tracks=self._highest_track,
            swapped=self._swapped,
            covered=self._covered.total(),
            covered_by_cause=dict(self._covered),
            filled=self._filled,
            switches=self._switches.by_cause.total(),
            switches_by_cause=dict(self._switches.by_cause),
        )
