"""Writes already encoded pictures into a container, which it opens at the first key frame.

Imports nothing of ours, so that the publishing process stays small.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction

import av
from av.container import InputContainer, OutputContainer
from av.packet import Packet
from av.stream import Stream

__all__ = ["PacketMuxer"]

TICKS = Fraction(1, 90_000)


class PacketMuxer:
    """One H.264 track in one container.

    Args:
        open_container: opens it for writing; called when the first key frame comes.
    """

    def __init__(self, open_container: Callable[[], OutputContainer]) -> None:
        self._open = open_container
        self._container: OutputContainer | None = None
        self._template: InputContainer | None = None
        self._stream: Stream | None = None
        self._first_pts = 0

    @property
    def is_open(self) -> bool:
        """The container's header was written."""
        return self._container is not None

    def write(self, data: bytes, pts: int, is_key: bool) -> None:
        """Adds one picture; what comes before the first key frame is skipped.

        Args:
            data: one access unit in Annex B form; a key frame carries its parameter sets.
            pts: time in units of 1/90000 s.
            is_key: can be decoded without what went before.
        """
        if self._container is None or self._stream is None:
            if not is_key:
                return
            self._begin(data, pts)
        assert self._container is not None
        assert self._stream is not None
        packet = Packet(data)
        packet.pts = packet.dts = pts - self._first_pts
        packet.time_base = TICKS
        packet.is_keyframe = is_key
        packet.stream = self._stream
        self._container.mux_one(packet)

    def close(self) -> None:
        """Writes the trailer and closes; idempotent."""
        container, self._container = self._container, None
        if container is not None:
            container.close()
        self._drop_template()

    def discard(self) -> None:
        """Closes without caring whether that works; idempotent."""
        container, self._container = self._container, None
        if container is not None:
            with suppress(av.FFmpegError, OSError, ValueError):
                container.close()
        self._drop_template()

    def _begin(self, key_frame: bytes, pts: int) -> None:
        self._template = av.open(io.BytesIO(key_frame), "r", format="h264")
        container = self._open()
        template = self._template.streams.video[0]
        stream: Stream = container.add_stream_from_template(template, opaque=True)
        self._stream = stream
        self._container, self._first_pts = container, pts

    def _drop_template(self) -> None:
        template, self._template = self._template, None
        if template is not None:
            template.close()
