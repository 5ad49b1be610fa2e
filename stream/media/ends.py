"""The two ends of a stream: where frames come from and where composites go."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from engines.blending.compositor import Composite
from engines.types import Frame

__all__ = ["Sink", "Source", "StreamShape"]


@dataclass(frozen=True, slots=True)
class StreamShape:
    """What is known of a stream before its first frame.

    Attributes:
        height: rows of the coded picture, px, before any display rotation.
        width: columns of the coded picture, px.
        rate: nominal frames per second; timestamps, not this, say when a frame is shown.
        time_base: seconds per unit of pts.
        frames: expected number of frames, None where unknown (live, damaged header).
    """

    height: int
    width: int
    rate: Fraction
    time_base: Fraction
    frames: int | None


class Source(Protocol):
    """Gives decoded frames in presentation order. Blocking: runs in a thread of its own."""

    @property
    def shape(self) -> StreamShape:
        """Size and clock of the stream."""

    def frames(self) -> Iterator[Frame]:
        """Every frame once, until the end of the stream or `close`.

        Raises:
            InputUnreadable: nothing could be decoded.
        """

    def close(self) -> None:
        """Stops `frames` and frees decoder and file; idempotent, callable from any thread."""


class Sink(Protocol):
    """Takes composites, and nothing else. Blocking: runs in a thread of its own."""

    def write(self, composite: Composite) -> None:
        """Encodes one composite under its own timestamp.

        Raises:
            OutputNotWritable: disk full, connection lost, encoder refused.
        """

    def finish(self) -> None:
        """Flushes and publishes the output under its final name; graceful end."""

    def abort(self) -> None:
        """Ends at once and removes what is unfinished; idempotent."""
