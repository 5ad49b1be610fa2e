"""Composites into a video file that appears under its name only when it is complete."""

from __future__ import annotations

from pathlib import Path

from engines.blending.compositor import Composite
from stream.errors import OutputNotWritable, writing
from stream.media.containers import container_of
from stream.media.reading.probe import MediaProbe
from stream.media.writing.encoder_options import EncodeSettings
from stream.media.writing.encoders import EncoderChoice, choose_encoder
from stream.media.writing.output_file import OutputFile, PictureTrack, shaped_for
from stream.media.writing.video_track import PictureClock, track_time_base

__all__ = ["FileSink", "checked_composite", "clock_notes"]


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
        container = container_of(path)
        shaped = shaped_for(container, probe)
        self._choice = choose_encoder(shaped, container, settings)
        self._clock = PictureClock(track_time_base(shaped, container))
        self._file = OutputFile(path, [PictureTrack(shaped, self._choice)], container, settings)

    @property
    def choice(self) -> EncoderChoice:
        """The encoder and why it was chosen."""
        return self._choice

    @property
    def notes(self) -> tuple[str, ...]:
        """What became of sound and clock, one line each."""
        return self._file.notes + clock_notes(self._clock)

    @property
    def losses(self) -> tuple[str, ...]:
        """Of the notes those that tell what is not as it was."""
        return self._file.losses + clock_notes(self._clock)

    def write(self, composite: Composite) -> None:
        """Encodes one composite under its own timestamp.

        Raises:
            OutputNotWritable: disk full, or the encoder refused.
        """
        checked_composite(composite)
        if self._file.is_over:
            raise OutputNotWritable(f"{self._file.name} is closed; nothing more is written")
        pts = self._clock.ticks(composite)
        self._file.shift_s = self._clock.shift_s
        with writing(self._file.name):
            length = self._clock.length(composite)
            packets = self._file.videos[0].packets(composite.picture, pts, length)
        self._file.mux(packets)

    def finish(self) -> None:
        """Writes what is left, makes it durable and gives the file its final name.

        Raises:
            OutputNotWritable: disk full; nothing is left under either name.
        """
        if self._file.is_over:
            return
        try:
            with writing(self._file.name):
                packets = self._file.videos[0].rest()
            self._file.mux(packets)
        except BaseException:
            self.abort()
            raise
        self._file.finish()

    def abort(self) -> None:
        """Ends at once and removes what was written; idempotent."""
        self._file.abort()


def checked_composite(composite: Composite) -> None:
    """Nothing but a composite is ever encoded, whatever the caller's types said.

    Raises:
        TypeError: it is something else.
    """
    if type(composite) is not Composite:
        message = f"only a Composite may be written, not {type(composite).__name__}"
        raise TypeError(message)


def clock_notes(clock: PictureClock) -> tuple[str, ...]:
    """Where times could not be kept to the tick, one line each."""
    notes: tuple[str, ...] = ()
    if clock.nudged:
        notes += (f"{clock.nudged} frames moved by a tick: two had one time",)
    if clock.shift_s:
        notes += (f"all times moved by {float(clock.shift_s):.3f} s: they were negative",)
    return notes
