"""An output video under construction: picture packets and the input's sound into one file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Final

import av
from av.container import OutputContainer
from av.packet import Packet
from av.stream import Disposition
from av.video.stream import VideoStream

from stream.errors import writing
from stream.media.audio import SideTracks
from stream.media.containers import Container, muxer_options
from stream.media.marking import marked
from stream.media.metadata import copied_metadata, passing_tags
from stream.media.projection import Projection, hide_second_tags
from stream.media.reading.inspection import opened_input
from stream.media.reading.probe import MediaProbe
from stream.media.writing.encoder_options import EncodeSettings
from stream.media.writing.encoders import EncoderChoice
from stream.media.writing.lost_samples import lost_samples
from stream.media.writing.partial_file import PartialFile
from stream.media.writing.video_track import (
    INTERLACED_ENCODERS,
    TrackEnd,
    VideoTrack,
    kept_projection,
    track_time_base,
)

__all__ = ["OutputFile", "PictureTrack", "shaped_for"]

_MOST_EMPTY_TICKS: Final = 60_000
"""Longer pauses are damage of the input's clock; the muxer refuses them, too."""

_UNMARKED: Final = "this kind of file cannot tell that its faces are synthetic; .mp4 or .mkv can"


def shaped_for(container: Container, probe: MediaProbe) -> MediaProbe:
    """The format as it can be stored: upright pixels where a rotation cannot be tagged.

    Turned upright, the picture looks the same in every player.
    """
    if container.holds_rotation or not probe.turns:
        return probe
    return replace(probe, turns=0, display_matrix=None)


@dataclass(frozen=True, slots=True)
class PictureTrack:
    """One picture track of an output.

    Attributes:
        probe: format of the input's track, from `shaped_for`.
        choice: its encoder.
    """

    probe: MediaProbe
    choice: EncoderChoice


class OutputFile:
    """A video file on its way to its final name.

    Args:
        path: final name.
        tracks: its picture tracks in their order, all of one input.
        container: kind of the file.
        settings: overwriting, sound, metadata and threads.

    Raises:
        UsageRefused: the output is the input.
        OutputNotWritable: it exists or cannot be made.
    """

    def __init__(
        self,
        path: Path,
        tracks: Sequence[PictureTrack],
        container: Container,
        settings: EncodeSettings,
    ) -> None:
        probes = [track.probe for track in tracks]
        bases = [track_time_base(probe, container) for probe in probes]
        self._file = PartialFile(path, probes[0].path, overwrite=settings.overwrite)
        self._is_over = False
        self._has_begun = False
        self._holds_starts = container.muxer != "avi"
        self._sides: SideTracks | None = None
        self._output: OutputContainer | None = None
        self._picture_notes = tuple(
            f"video track {number}: {note}" if len(tracks) > 1 else note
            for number, track in enumerate(tracks, start=1)
            for note in _lost(track.probe, container, track.choice)
        )
        if settings.is_marked and not container.holds_mark:
            self._picture_notes += (_UNMARKED,)
        self._ends = [
            TrackEnd(max(1, round(1 / (probe.shape.rate * base))))
            for probe, base in zip(probes, bases, strict=True)
        ]
        self.shift_s = Fraction(0)
        try:
            with writing(path.name):
                self._has_projection = any(kept_projection(one, container) for one in probes)
                options = muxer_options(
                    container,
                    *bases,
                    keep_metadata=settings.keep_metadata,
                    has_projection=self._has_projection,
                )
                self._output = _opened(self._file.path, container, options)
                self.videos = [
                    VideoTrack(self._output, one.probe, container, one.choice, settings.threads)
                    for one in tracks
                ]
                self._add_sides(self._output, probes, container, settings)
                if settings.is_marked:
                    self._output.metadata.update(marked(self._output.metadata))
                self._output.start_encoding()
        except BaseException:
            self.abort()
            raise

    @property
    def name(self) -> str:
        """The final name, for messages."""
        return self._file.final.name

    @property
    def is_over(self) -> bool:
        """Whether it was finished or aborted."""
        return self._is_over

    @property
    def notes(self) -> tuple[str, ...]:
        """What became of each track beside the picture, one line each."""
        sound = self._sides.notes if self._sides is not None else ()
        return self._picture_notes + sound

    @property
    def losses(self) -> tuple[str, ...]:
        """Of these the ones that tell what is not as it was."""
        sound = self._sides.losses if self._sides is not None else ()
        return self._picture_notes + sound

    def mux(self, packets: list[Packet[VideoStream]], track: int = 0) -> None:
        """Writes picture packets in decoding order, and the sound that belongs before them.

        Args:
            packets: of one track.
            track: its place among the picture tracks.

        Raises:
            OutputNotWritable: disk full.
        """
        with writing(self.name):
            self._mux(self._ends[track].passed(packets))

    def finish(self) -> None:
        """Writes what is left, makes it durable and gives the file its final name.

        Raises:
            OutputNotWritable: disk full; nothing is left under either name.
        """
        if self._is_over or self._output is None:
            return
        try:
            with writing(self.name):
                for end in self._ends:
                    self._mux(end.last())
                if self._sides is not None:
                    self._sides.finish(self.shift_s)
                self._output.close()
                if self._has_projection:
                    hide_second_tags(self._file.path)
            self._file.publish()
        except BaseException:
            self.abort()
            raise
        self._is_over = True
        if self._sides is not None:
            self._sides.close()

    def abort(self) -> None:
        """Ends at once and removes what was written; idempotent."""
        if self._is_over:
            return
        self._is_over = True
        if self._sides is not None:
            self._sides.close()
        try:
            if self._output is not None:
                self._output.close()
        except (av.FFmpegError, OSError, ValueError):
            return  # what could not be written is removed all the same
        finally:
            self._file.discard()

    def _mux(self, packets: list[Packet[VideoStream]]) -> None:
        assert self._output is not None
        if packets and not self._has_begun:
            self._has_begun = True
            packets = [*self._pause_before(packets[0]), *packets]
        for packet in packets:
            if self._sides is not None and packet.dts is not None:
                self._sides.mux_until(packet.dts * packet.time_base, self.shift_s)
            self._output.mux(packet)

    def _pause_before(self, first: Packet[VideoStream]) -> list[Packet[VideoStream]]:
        """Empty packets, one a tick, up to a late first picture, where places are the only times.

        The muxer puts them in between pictures, but not before the first.
        """
        late = first.dts or 0
        if self._holds_starts or not 0 < late <= _MOST_EMPTY_TICKS:
            return []
        pause = []
        for tick in range(late):
            packet: Packet[VideoStream] = Packet()  # type: ignore[assignment]
            packet.pts = packet.dts = tick
            packet.time_base, packet.stream = first.time_base, first.stream
            pause.append(packet)
        return pause

    def _add_sides(
        self,
        output: OutputContainer,
        probes: Sequence[MediaProbe],
        container: Container,
        settings: EncodeSettings,
    ) -> None:
        if probes[0].kind != "video":
            return
        source = opened_input(probes[0].path)
        copied_metadata(source, output, keep=settings.keep_metadata)
        for probe, video in zip(probes, self.videos, strict=True):
            track = source.streams[probe.track]
            tags = passing_tags(track.metadata, keep=settings.keep_metadata)
            video.stream.metadata.update(tags)
            if len(probes) > 1:
                video.stream.disposition = track.disposition & Disposition.default
        self._sides = SideTracks(source, output, container, settings)


def _lost(probe: MediaProbe, container: Container, choice: EncoderChoice) -> tuple[str, ...]:
    """What the output cannot tell of its pictures, one line each."""
    notes = lost_samples(probe, choice) + _lost_aspect(probe, container, choice)
    if probe.display_matrix is not None and not container.holds_rotation:
        notes += (f"{container.muxer} stores no turning or mirroring; .mp4 and .mkv do",)
    if probe.fields and choice.name not in INTERLACED_ENCODERS:
        notes += (f"{choice.name} marks no fields: interlaced pictures show combs; --codec h264",)
    kept = kept_projection(probe, container) or Projection()
    lost = (probe.projection or kept).names - kept.names
    notes += tuple(f"{name} left out" for name in sorted(lost))
    if probe.light is not None and not probe.light.parameters(choice.name):
        notes += (f"{choice.name} does not tell the mastering light; HDR may look different",)
    return notes


def _lost_aspect(probe: MediaProbe, container: Container, choice: EncoderChoice) -> tuple[str, ...]:
    """Told where neither the coding nor the muxer stores the shape of pixels."""
    is_silent = container.muxer in ("matroska", "webm") and choice.codec in ("vp8", "vp9", "av1")
    if probe.sample_aspect == 1 or not is_silent:
        return ()
    return (f"pixel shape {probe.sample_aspect} is not stored in {container.muxer}; .mp4 keeps it",)


def _opened(path: Path, container: Container, options: dict[str, str]) -> OutputContainer:
    return av.open(
        f"file:{path.absolute()}", "w", format=container.muxer, container_options=options
    )
