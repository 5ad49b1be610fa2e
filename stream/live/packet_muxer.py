"""Writes already encoded pictures into a container, which it opens at the first key frame.

Sound, where there is any, is encoded here, as AAC, which every container used here holds.

Imports nothing of ours, so that the publishing process stays small.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from typing import Literal, Protocol

import av
from av.audio.stream import AudioStream
from av.container import InputContainer, OutputContainer
from av.packet import Packet
from av.stream import Stream

__all__ = ["SOUND_RATE", "TICKS", "PacketMuxer", "Writable"]

TICKS = Fraction(1, 90_000)
"""Seconds per unit of a live stream's times."""
SOUND_RATE = 48_000
_SOUND_BITS = 128_000
_SAMPLE_BYTES = 4


class Writable(Protocol):
    """What a container can be written into."""

    def write(self, data: bytes, /) -> int:
        """Takes bytes; gives how many."""


class PacketMuxer:
    """One track of pictures in one container, and one of sound on request.

    Args:
        place: URL, file or whatever has a `write`; opened when the first key frame comes.
        form: the library's name of the container.
        options: of the container.
        codec: of the pictures.
        metadata: of the container.
        has_sound: adds a track of sound, which then must go on as long as the pictures.
    """

    def __init__(
        self,
        place: str | Writable,
        form: str,
        options: Mapping[str, str],
        codec: Literal["h264", "hevc"] = "h264",
        metadata: Mapping[str, str] | None = None,
        *,
        has_sound: bool = False,
    ) -> None:
        self._codec = codec
        self._place, self._form, self._options = place, form, options
        self._metadata = metadata or {}
        self._has_sound = has_sound
        self._sound: AudioStream | None = None
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

    def write_sound(self, pcm: bytes, place: int) -> None:
        """Adds sound; what comes before the first key frame is skipped.

        Args:
            pcm: int16 stereo samples at 48 kHz.
            place: of the first sample, in samples on the clock of `write`.
        """
        if self._container is None or self._sound is None:
            return
        place -= round(self._first_pts * TICKS * SOUND_RATE)
        if place < 0:
            pcm, place = pcm[-place * _SAMPLE_BYTES :], 0
        if pcm:
            self._container.mux(self._sound.encode(_audio_frame(pcm, place)))

    def close(self) -> None:
        """Writes the trailer and closes; idempotent."""
        container, self._container = self._container, None
        if container is not None:
            if self._sound is not None:
                container.mux(self._sound.encode(None))
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
        self._template = av.open(io.BytesIO(key_frame), "r", format=self._codec)
        container = av.open(
            self._place, "w", format=self._form, container_options=dict(self._options)
        )
        container.metadata.update(self._metadata)
        template = self._template.streams.video[0]
        stream: Stream = container.add_stream_from_template(template, opaque=True)
        if self._codec == "hevc" and container.format.name in ("mp4", "hls"):
            stream.codec_context.codec_tag = "hvc1"  # what players of Apple take
        self._stream = stream
        if self._has_sound:
            sound = container.add_stream("aac", SOUND_RATE, layout="stereo")
            assert isinstance(sound, AudioStream)
            sound.codec_context.bit_rate = _SOUND_BITS
            self._sound = sound
        self._container, self._first_pts = container, pts

    def _drop_template(self) -> None:
        template, self._template = self._template, None
        if template is not None:
            template.close()


def _audio_frame(pcm: bytes, place: int) -> av.AudioFrame:
    samples = len(pcm) // _SAMPLE_BYTES
    frame = av.AudioFrame("s16", "stereo", samples)
    memoryview(frame.planes[0])[: len(pcm)] = pcm
    frame.sample_rate, frame.pts, frame.time_base = SOUND_RATE, place, Fraction(1, SOUND_RATE)
    return frame
