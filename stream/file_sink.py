"""Composites into a video file that appears under its name only when it is complete."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import av
from av.container import OutputContainer
from av.packet import Packet
from av.video.stream import VideoStream

from engines.compositor import Composite
from stream.audio import SideTracks
from stream.containers import Container, container_of, muxer_options
from stream.encoders import EncoderChoice, EncodeSettings, choose_encoder
from stream.errors import OutputNotWritable, writing
from stream.inspection import opened_input
from stream.metadata import copied_metadata
from stream.partial_file import PartialFile
from stream.probe import MediaProbe
from stream.video_track import VideoTrack, track_time_base

__all__ = ["FileSink", "checked_composite", "opened_output", "shaped_for"]


class FileSink:
    """Encodes composites into one file, with the input's sound beside them.

    Args:
        path: final name; its ending chooses the container.
        probe: format of the input.
        settings: how to write.

    Raises:
        UsageRefused: unknown ending, or the output is the input.
        OutputNotWritable: exists, cannot be made, or no encoder works.
    """

    def __init__(self, path: Path, probe: MediaProbe, settings: EncodeSettings) -> None:
        self._container = container_of(path)
        self._probe = shaped_for(self._container, probe)
        self._choice = choose_encoder(self._probe, self._container, settings)
        self._file = PartialFile(path, probe.path, overwrite=settings.overwrite)
        self._is_over = False
        self._sides: SideTracks | None = None
        try:
            with writing(path.name):
                self._output = opened_output(self._file.path, self._container, self._probe)
                self._video = VideoTrack(
                    self._output, self._probe, self._container, self._choice, settings
                )
                if probe.kind == "video":
                    self._add_sides(settings)
                self._output.start_encoding()
        except BaseException:
            self.abort()
            raise

    @property
    def choice(self) -> EncoderChoice:
        """The encoder and why it was chosen."""
        return self._choice

    @property
    def notes(self) -> tuple[str, ...]:
        """What became of sound and clock, one line each."""
        notes = self._sides.notes if self._sides is not None else ()
        if self._video.nudged:
            notes += (f"{self._video.nudged} frames moved by a tick: two had one time",)
        if self._video.shift_s:
            notes += (f"all times moved by {float(self._video.shift_s):.3f} s: they were negative",)
        return notes

    def write(self, composite: Composite) -> None:
        """Encodes one composite under its own timestamp.

        Raises:
            OutputNotWritable: disk full, or the encoder refused.
        """
        checked_composite(composite)
        if self._is_over:
            raise OutputNotWritable(f"{self._file.final.name} is closed; nothing more is written")
        with writing(self._file.final.name):
            self._mux(self._video.packets(composite))

    def finish(self) -> None:
        """Writes what is left, makes it durable and gives the file its final name.

        Raises:
            OutputNotWritable: disk full; nothing is left under either name.
        """
        if self._is_over:
            return
        try:
            with writing(self._file.final.name):
                self._mux(self._video.rest())
                if self._sides is not None:
                    self._sides.finish(self._video.shift_s)
                self._output.close()
            self._is_over = True
            if self._sides is not None:
                self._sides.close()
            self._file.publish()
        except BaseException:
            self._is_over = False
            self.abort()
            raise

    def abort(self) -> None:
        """Ends at once and removes what was written; idempotent."""
        if self._is_over:
            return
        self._is_over = True
        if self._sides is not None:
            self._sides.close()
        try:
            output: OutputContainer | None = getattr(self, "_output", None)
            if output is not None:
                output.close()
        except (av.FFmpegError, OSError, ValueError):
            return  # what could not be written is removed all the same
        finally:
            self._file.discard()

    def _mux(self, packets: list[Packet[VideoStream]]) -> None:
        for packet in packets:
            if self._sides is not None and packet.dts is not None:
                self._sides.mux_until(packet.dts * packet.time_base, self._video.shift_s)
            self._output.mux(packet)

    def _add_sides(self, settings: EncodeSettings) -> None:
        source = opened_input(self._probe.path)
        copied_metadata(source, self._output, keep=settings.keep_metadata)
        self._sides = SideTracks(source, self._output, self._container, settings)


def opened_output(path: Path, container: Container, probe: MediaProbe) -> OutputContainer:
    """Opens a muxer on a local file, with options that keep our clock."""
    options = muxer_options(container, track_time_base(probe, container))
    return av.open(
        f"file:{path.absolute()}", "w", format=container.muxer, container_options=options
    )


def shaped_for(container: Container, probe: MediaProbe) -> MediaProbe:
    """The format as it can be stored: upright pixels where a rotation cannot be tagged.

    Turned upright, the picture looks the same in every player.
    """
    if container.holds_rotation or not probe.turns:
        return probe
    return replace(probe, turns=0, display_matrix=None)


def checked_composite(composite: Composite) -> None:
    """Nothing but a composite is ever encoded, whatever the caller's types said."""
    if type(composite) is not Composite:
        message = f"only a Composite may be written, not {type(composite).__name__}"
        raise TypeError(message)
