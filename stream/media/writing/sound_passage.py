"""How one track's packets come into the output: as they are, or decoded and coded anew."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Final, Protocol

import av
from av.audio.resampler import AudioResampler
from av.audio.stream import AudioStream
from av.packet import Packet
from av.stream import Stream

from stream.media.metadata import tells_text

__all__ = ["Copied", "Passage", "Transcoded"]

_LEAST_GAP_S: Final = Fraction(1, 50)
"""Shorter ones are rounding of the input's clock."""
_QUIET_ENOUGH: Final = {"rematrix_maxval": "1"}
"""Channels that are added up keep within full scale in floating point, too."""
_MOST_SILENCE_S: Final = 3600
"""Longer gaps are damage of the input's clock."""


class Passage(Protocol):
    """One track's way from the input to the output."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was lost on the way, one line each."""

    def packets(self, packet: Packet[Stream]) -> Iterator[Packet[Stream]]:
        """What one input packet, in the output's time, becomes."""

    def rest(self) -> Iterator[Packet[Stream]]:
        """What is left when the input has ended."""


class Copied:
    """Packets pass as they are, but for those that hold text."""

    def __init__(self, track: Stream) -> None:
        self._track = track
        self._texts = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """See `Passage`."""
        return (f"{self._texts} sound packets that hold text dropped",) if self._texts else ()

    def packets(self, packet: Packet[Stream]) -> Iterator[Packet[Stream]]:
        """See `Passage`."""
        if isinstance(packet.stream, AudioStream) and tells_text(packet.stream, bytes(packet)):
            self._texts += 1
            return
        packet.stream = self._track
        yield packet

    def rest(self) -> Iterator[Packet[Stream]]:
        """See `Passage`."""
        return iter(())


class Transcoded:
    """Sound is decoded and coded anew; damaged stretches fall silent.

    Args:
        track: the new track, in the form that its encoder takes.
        is_timed: the container holds the times of sound; else silence fills the gaps.
    """

    def __init__(self, track: AudioStream, *, is_timed: bool) -> None:
        self._track = track
        self._is_timed = is_timed
        self._form: tuple[str, str, int] | None = None
        self._resampler: AudioResampler | None = None
        self._end = 0
        self._lost = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """See `Passage`."""
        return (f"{self._lost} stretches of sound could not be transcoded",) if self._lost else ()

    def packets(self, packet: Packet[Stream]) -> Iterator[Packet[Stream]]:
        """See `Passage`."""
        try:
            for frame in packet.decode():
                if isinstance(frame, av.AudioFrame):
                    yield from self._coded(frame)
        except (av.FFmpegError, ValueError):
            self._lost += 1

    def rest(self) -> Iterator[Packet[Stream]]:
        """See `Passage`."""
        try:
            yield from self._drained()
            yield from self._track.encode(None)
        except (av.FFmpegError, ValueError):
            self._lost += 1

    def _coded(self, frame: av.AudioFrame) -> Iterator[Packet[Stream]]:
        form = (frame.format.name, frame.layout.name, frame.sample_rate)
        if form != self._form:
            yield from self._drained()
            context = self._track.codec_context
            self._form = form
            self._resampler = AudioResampler(
                context.format.name,
                context.layout.name,
                context.sample_rate,
                options=_QUIET_ENOUGH,
            )
        assert self._resampler is not None
        for piece in self._resampler.resample(frame):
            yield from self._placed(piece)

    def _drained(self) -> Iterator[Packet[Stream]]:
        """The last samples before the form changes or the input ends."""
        resampler, self._resampler, self._form = self._resampler, None, None
        for piece in resampler.resample(None) if resampler is not None else ():
            if piece is not None:
                yield from self._placed(piece)

    def _placed(self, piece: av.AudioFrame) -> Iterator[Packet[Stream]]:
        """Codes samples at their time, counted in samples since the output's start."""
        rate = self._track.codec_context.sample_rate
        start = self._end
        if piece.pts is not None and piece.time_base:
            start = round(piece.pts * piece.time_base * rate)
        if self._is_timed:
            yield from self._encoded(piece, start)
            return
        gap_s = Fraction(start - self._end, rate)
        if gap_s > _MOST_SILENCE_S:
            self._lost += 1
            return
        if gap_s >= _LEAST_GAP_S:
            yield from self._silence(start - self._end)
        # What lies before the start, or over what was heard, would delay all the rest.
        if gap_s > -_LEAST_GAP_S:
            yield from self._encoded(piece, self._end)

    def _silence(self, samples: int) -> Iterator[Packet[Stream]]:
        context = self._track.codec_context
        end = self._end + samples
        while self._end < end:
            size = min(context.sample_rate, end - self._end)
            frame = av.AudioFrame(context.format.name, context.layout.name, size)
            for plane in frame.planes:
                plane.update(bytes(plane.buffer_size))
            frame.sample_rate = context.sample_rate
            yield from self._encoded(frame, self._end)

    def _encoded(self, frame: av.AudioFrame, start: int) -> Iterator[Packet[Stream]]:
        frame.pts = start
        frame.time_base = Fraction(1, self._track.codec_context.sample_rate)
        self._end = start + frame.samples
        yield from self._track.encode(frame)
