"""Sound beside the picture: copied where the container can hold it, else transcoded."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Final

import av
from av.audio.codeccontext import AudioCodecContext
from av.audio.layout import AudioLayout
from av.audio.stream import AudioStream
from av.container import InputContainer, OutputContainer
from av.packet import Packet
from av.stream import Discard, Stream

from stream.media.containers import Container, can_copy, has_unnamed_channels
from stream.media.metadata import PICTURE_TRACKS, is_bare_sound, passing_tags
from stream.media.reading.inspection import has_decoder
from stream.media.writing.encoder_options import EncodeSettings
from stream.media.writing.sound_passage import Copied, Passage, Transcoded

__all__ = ["SideTracks"]

_BITS_PER_CHANNEL: Final = 96_000
_MOST_READ_ERRORS: Final = 100
_DEFAULT_RATE: Final = 48_000


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
        self._has_timed_source = source.format.name != "avi"
        self._passages: dict[int, Passage] = {}
        self._notes: list[str] = []
        self._kept: set[str] = set()
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
        notes = list(self._notes)
        for passage in self._passages.values():
            notes += passage.notes
        if self._misplaced:
            notes.append(f"{self._misplaced} packets without a usable time dropped")
        return tuple(notes)

    @property
    def losses(self) -> tuple[str, ...]:
        """The notes without those of tracks that are kept as they were."""
        return tuple(note for note in self.notes if note not in self._kept)

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
            _shift(packet, shift_s)
            for coded in self._passages[packet.stream.index].packets(packet):
                self._mux(coded)

    def finish(self, shift_s: Fraction = Fraction(0)) -> None:
        """Writes all that is left, encoders' remains included."""
        self.mux_until(None, shift_s)
        for passage in self._passages.values():
            for coded in passage.rest():
                self._mux(coded)

    def close(self) -> None:
        """Frees the input; idempotent."""
        self._source.close()

    def _mux(self, packet: Packet[Stream]) -> None:
        if not self._holds_early_times and packet.pts is not None and packet.pts < 0:
            return
        if self._is_in_order(packet):
            self._output.mux(packet)
        else:
            self._misplaced += 1

    def _is_in_order(self, packet: Packet[Stream]) -> bool:
        """Muxers refuse times that run backwards, which damaged input may hold.

        Of sound they refuse equal ones, too; two lines of text may start together.
        """
        packet.pts = packet.dts if packet.pts is None else packet.pts
        packet.dts = packet.pts if packet.dts is None else packet.dts
        if packet.pts is None or packet.dts is None or not packet.time_base:
            return False
        start_s = packet.dts * packet.time_base
        last_s = self._last_s.get(packet.stream.index)
        is_late = last_s is None or start_s > last_s
        is_text_beside = packet.stream.type != "audio" and start_s == last_s
        if packet.pts < packet.dts or not (is_late or is_text_beside):
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
        elif track.type == "subtitle":
            self._notes.append("subtitle track left out; --keep-metadata keeps it")
        if track.index in self._passages:
            target = self._output.streams[-1]
            target.metadata.update(passing_tags(track.metadata, keep=settings.keep_metadata))
            if track.language:
                target.metadata["language"] = track.language

    def _open_other(self, track: Stream, container: Container) -> None:
        if track.name in PICTURE_TRACKS:
            self._notes.append(f"{track.type} track dropped: {track.name} may hold pictures")
        elif can_copy(track, container):
            self._open_copy(track, track.name)
        else:
            self._notes.append(
                f"{track.type} track dropped: {container.muxer} cannot hold {track.name}"
            )

    def _open_audio(self, track: AudioStream, container: Container) -> None:
        codec = track.codec_context.codec.canonical_name
        is_in_place = container.holds_sound_times or not (
            self._has_timed_source or track.start_time
        )
        if not container.audio:
            self._notes.append(f"sound dropped: {container.muxer} holds none")
        elif is_in_place and is_bare_sound(track) and can_copy(track, container):
            self._open_copy(track, codec)
        elif track.codec_context.sample_rate > 0:
            self._open_transcode(track, container, codec)
        else:
            self._notes.append(f"sound dropped: {codec} cannot be decoded")

    def _open_transcode(self, track: AudioStream, container: Container, codec: str) -> None:
        layout = _layout(container.audio, track)
        if layout is None:
            count = track.codec_context.channels
            self._notes.append(f"sound dropped: {container.audio} cannot code {count} channels")
            return
        target = self._output.add_stream(container.audio, _rate(container.audio, track))
        assert isinstance(target, AudioStream)
        target.codec_context.layout = layout
        target.codec_context.bit_rate = _bit_rate(layout)
        self._passages[track.index] = Transcoded(target, is_timed=container.holds_sound_times)
        self._notes.append(
            f"sound transcoded from {codec} to {container.audio}, which {container.muxer} can hold"
        )

    def _open_copy(self, track: Stream, codec: str | None) -> None:
        self._passages[track.index] = Copied(self._output.add_stream_from_template(track))
        self._notes.append(f"{track.type} copied ({codec})")
        self._kept.add(self._notes[-1])

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


def _layout(encoder: str, track: AudioStream) -> str | None:
    """The layout nearest to the track's that an encoder takes, None where it takes none.

    Channels without names are taken for the usual ones of their number. Surround at the sides
    becomes surround at the back, which every coding numbers and every player knows.
    """
    context, rate = track.codec_context, _rate(encoder, track)
    usual = f"{context.channels}c"
    if has_unnamed_channels(track):
        try:
            context.layout = usual
        except ValueError:
            return None
    named = context.layout.name
    nearest = (named.replace("(side)", ""), named, usual, "stereo", "mono")
    return next((layout for layout in nearest if _takes(encoder, layout, rate)), None)


@lru_cache(maxsize=64)
def _takes(encoder: str, layout: str, rate: int) -> bool:
    """Whether a sound encoder opens for a layout at a sample rate, Hz."""
    context = av.CodecContext.create(encoder, "w")
    assert isinstance(context, AudioCodecContext)
    try:
        context.layout = layout
        context.sample_rate, context.bit_rate = rate, _bit_rate(layout)
        context.format = (context.codec.audio_formats or (context.format,))[0]
        context.open()
    except (av.FFmpegError, ValueError):
        return False
    return True


def _bit_rate(layout: str) -> int:
    return _BITS_PER_CHANNEL * AudioLayout(layout).nb_channels


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
