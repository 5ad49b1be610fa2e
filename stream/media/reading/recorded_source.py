"""What the sources of recordings have in common: a format, and an account of the reading."""

from __future__ import annotations

from typing import Protocol

from stream.media.ends import Source, StreamShape
from stream.media.reading.probe import MediaProbe, SourceReport

__all__ = ["RecordedSource"]


class RecordedSource(Source, Protocol):
    """A source that knows its format and tells afterwards what it met."""

    _probe: MediaProbe
    _report: SourceReport

    @property
    def probe(self) -> MediaProbe:
        """Format of the input."""
        return self._probe

    @property
    def shape(self) -> StreamShape:
        """Size and clock of the frames."""
        return self._probe.shape

    @property
    def report(self) -> SourceReport:
        """What was met so far; complete when `frames` has ended."""
        return self._report
