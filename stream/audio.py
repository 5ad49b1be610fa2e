"""Sound beside the picture: copied where the container can hold it, else transcoded."""

from __future__ import annotations

import io
from collections.abc import Iterator
from fractions import Fraction
from typing import Final, Protocol

import av
from av.audio.codeccontext import AudioCodecContext
from av.audio.stream import AudioStream
from av.container import InputContainer, OutputContainer
from av.packet import Packet
from av.stream import Discard, Stream

from stream.containers import Container
from stream.encoders import EncodeSettings
from stream.inspection import has_decoder
from stream.metadata import passing_tags

__all__ = ["SideTracks", "can_copy"]

_BITS_PER_CHANNEL: Final = 96_000
_MOST_READ_ERRORS: Final = 100
_DEFAULT_RATE: Final = 48_000


class _Passage(Protocol):
    """One track's way from the input to the output."""

    def packets(self, packet: Packet[Stream]) -> list[Packet[Stream]]:
        """What one input packet becomes."""

    def rest(self) -> list[Packet[Stream]]:
        """What is left when the input has ended."""


class _Copy:
    """Packets pass as they are."""

    def __init__(self, track: Stream) -> None:
        self._track = track

    def packets(self, packet: Packet[Stream]) -> list[Packet[Stream]]:
        packet.stream = self._track
        return [packet]

    def rest(self) -> list[Packet[Stream]]:
        return []


class _Transcode:
    """Sound is decoded and coded anew; damaged stretches fall silent."""

    def __init__(self, track: AudioStream) -> None:
        self._track = track

    def packets(self, packet: Packet[Stream]) -> list[Packet[Stream]]:
        coded: list[Packet[Stream]] = []
        try:
            for frame in packet.decode():
                if isinstance(frame, av.AudioFrame):
                    coded += self._track.encode(frame)
        except (av.FFmpegError, ValueError):
            return coded
        return coded

    def rest(self) -> list[Packet[Stream]]:
        return list(self._track.encode(None))


class SideTracks:
    """Sound, and on request text and data tracks, of an input beside a new picture track.

    Args:
        source: the input, opened for this alone; closed by `close`.
        output: where the tracks go; its header is not yet written.
        container: kind of the output.
        settings: what to do with sound and metadata.
    """

    def __init__(
        self,
        source: InputContainer,
        output: OutputContainer,
        container: Container,
        settings: EncodeSettings,
    ) -> None:
        self._source = source
        self._output = output
        self._holds_early_times = container.holds_early_times
        self._passages: dict[int, _Passage] = {}
        self._notes: list[str] = []
        for track in source.streams:
            self._open(track, container, settings)
            if track.index not in self._passages:
                track.discard = Discard.all
        self._packets = self._demuxed()
        self._held: Packet[Stream] | None = None
        self._last_s: dict[int, Fraction] = {}
        self._misplaced = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """What became of each track, one line each."""
        if self._misplaced:
            return (*self._notes, f"{self._misplaced} sound packets without a usable time dropped")
        return tuple(self._notes)

    def mux_until(self, time_s: Fraction | None, shift_s: Fraction = Fraction(0)) -> None:
        """Writes everything that starts before a time, or all that is left.

        Args:
            time_s: in the output's time, s; None for all.
            shift_s: added to every time of the input, s.
        """
        if not self._passages:
            return
        while True:
            packet = self._held or next(self._packets, None)
            self._held = None
            if packet is None:
                return
            starts_s = _start_s(packet, shift_s)
            if time_s is not None and starts_s is not None and starts_s > time_s:
                self._held = packet
                return
            for coded in self._passages[packet.stream.index].packets(packet):
                self._mux(coded, shift_s)

    def finish(self, shift_s: Fraction = Fraction(0)) -> None:
        """Writes all that is left, encoders' remains included."""
        self.mux_until(None, shift_s)
        for passage in self._passages.values():
            for coded in passage.rest():
                self._mux(coded, shift_s)

    def close(self) -> None:
        """Frees the input; idempotent."""
        self._source.close()

    def _mux(self, packet: Packet[Stream], shift_s: Fraction) -> None:
        _shift(packet, shift_s)
        if not self._holds_early_times and packet.pts is not None and packet.pts < 0:
            return
        if self._is_in_order(packet):
            self._output.mux(packet)
        else:
            self._misplaced += 1

    def _is_in_order(self, packet: Packet[Stream]) -> bool:
        """Muxers refuse times that run backwards, which damaged input may hold."""
        packet.pts = packet.dts if packet.pts is None else packet.pts
        packet.dts = packet.pts if packet.dts is None else packet.dts
        if packet.pts is None or packet.dts is None or not packet.time_base:
            return False
        start_s = packet.dts * packet.time_base
        last_s = self._last_s.get(packet.stream.index)
        if packet.pts < packet.dts or (last_s is not None and start_s <= last_s):
            return False
        self._last_s[packet.stream.index] = start_s
        return True

    def _open(self, track: Stream, container: Container, settings: EncodeSettings) -> None:
        if track.type in ("audio", "subtitle") and not has_decoder(track):
            self._notes.append(f"{track.type} dropped: its coding is unknown")
        elif isinstance(track, AudioStream) and settings.audio == "copy":
            self._open_audio(track, container)
        elif track.type in ("subtitle", "data") and settings.keep_metadata:
            self._open_other(track, container)
        if track.index in self._passages:
            target = self._output.streams[-1]
            target.metadata.update(passing_tags(track.metadata, keep=settings.keep_metadata))
            if track.language:
                target.metadata["language"] = track.language

    def _open_other(self, track: Stream, container: Container) -> None:
        if can_copy(track, container):
            self._open_copy(track, track.name)
        else:
            self._notes.append(
                f"{track.type} track dropped: {container.muxer} cannot hold {track.name}"
            )

    def _open_audio(self, track: AudioStream, container: Container) -> None:
        if not container.audio:
            self._notes.append(f"sound dropped: {container.muxer} holds none")
        elif can_copy(track, container):
            self._open_copy(track, track.codec_context.name)
        elif track.codec_context.sample_rate > 0:
            target = self._output.add_stream(container.audio, _rate(container.audio, track))
            assert isinstance(target, AudioStream)
            target.codec_context.layout = track.codec_context.layout.name
            target.codec_context.bit_rate = _BITS_PER_CHANNEL * track.codec_context.channels
            self._passages[track.index] = _Transcode(target)
            self._notes.append(
                f"sound transcoded from {track.codec_context.name} to {container.audio}, "
                f"which {container.muxer} can hold"
            )
        else:
            self._notes.append(f"sound dropped: {track.codec_context.name} cannot be decoded")

    def _open_copy(self, track: Stream, codec: str | None) -> None:
        self._passages[track.index] = _Copy(self._output.add_stream_from_template(track))
        self._notes.append(f"{track.type} copied ({codec})")

    def _demuxed(self) -> Iterator[Packet[Stream]]:
        """Packets of the tracks that pass; goes on behind what cannot be read."""
        tracks = [track for track in self._source.streams if track.index in self._passages]
        for _ in range(_MOST_READ_ERRORS):
            try:
                for packet in self._source.demux(tracks):
                    if packet.size:
                        yield packet
            except av.error.EOFError:
                return
            except (av.FFmpegError, ValueError):
                continue
            return


def can_copy(track: Stream, container: Container) -> bool:
    """Whether a container takes a track's coding as it is, tried on a header in memory."""
    if track.type == "audio" and container.sounds:
        return track.codec_context.name in container.sounds
    try:
        with av.open(io.BytesIO(), "w", format=container.muxer) as trial:
            trial.add_stream_from_template(track)
            trial.start_encoding()
    except (av.FFmpegError, ValueError, OSError):
        return False
    return True


def _rate(encoder: str, track: AudioStream) -> int:
    """The encoder's sample rate nearest to the track's that is not below it, Hz."""
    context = av.CodecContext.create(encoder, "w")
    assert isinstance(context, AudioCodecContext)
    rates = sorted(context.codec.audio_rates or (track.codec_context.sample_rate,))
    enough = [rate for rate in rates if rate >= track.codec_context.sample_rate]
    return enough[0] if enough else (rates[-1] if rates else _DEFAULT_RATE)


def _start_s(packet: Packet[Stream], shift_s: Fraction) -> Fraction | None:
    start = packet.dts if packet.dts is not None else packet.pts
    return None if start is None else start * packet.time_base + shift_s


def _shift(packet: Packet[Stream], shift_s: Fraction) -> None:
    if shift_s == 0 or not packet.time_base:
        return
    ticks = round(shift_s / packet.time_base)
    if packet.pts is not None:
        packet.pts += ticks
    if packet.dts is not None:
        packet.dts += ticks
