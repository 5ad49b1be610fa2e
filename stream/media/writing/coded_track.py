"""One picture track in coded segments on the disk, which an output is joined from later."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Final

import av
from av.packet import Packet
from av.video.stream import VideoStream

from engines.blending.compositor import Composite
from stream.errors import OutputNotWritable, writing
from stream.media.containers import Container
from stream.media.writing.file_sink import checked_composite, clock_notes
from stream.media.writing.output_file import PictureTrack
from stream.media.writing.segment_files import (
    CodedPacket,
    Journal,
    JsonValue,
    SegmentReader,
    SegmentWriter,
)
from stream.media.writing.video_track import PictureClock, VideoTrack, track_time_base

__all__ = ["SEGMENT_FRAMES", "CodedTrack", "CodingPlace"]

SEGMENT_FRAMES: Final = 250
"""Composites per segment: the most that a crash costs; each start costs a key frame."""

_GIF_HEADER_BYTES: Final = 13


@dataclass(frozen=True, slots=True)
class CodingPlace:
    """Where a track is coded, and for what.

    Attributes:
        name: of the output, for messages.
        folder: where the segments lie; it is there, and locked.
        container: kind of the output.
        threads: encoder threads, 0 for as many as there are processors.
        segment_frames: composites per segment.
    """

    name: str
    folder: Path
    container: Container
    threads: int
    segment_frames: int = SEGMENT_FRAMES


class CodedTrack:
    """Codes composites into segments, each made by a fresh encoder and so independent.

    Args:
        track: format and encoder.
        place: where the segments go.
        fingerprint: digest of everything that they depend on; those of an earlier run under
            the same one are used, others thrown away.
    """

    def __init__(self, track: PictureTrack, place: CodingPlace, fingerprint: str) -> None:
        self.track = track
        self._place = place
        self._clock = PictureClock(track_time_base(track.probe, place.container))
        self._written = 0
        self._coder: tuple[VideoTrack, SegmentWriter] | None = None
        self._is_over = False
        self._records: dict[int, JsonValue] = {}
        self._records_lock = threading.Lock()
        self._recalled: tuple[int, Mapping[str, JsonValue]] = (-1, {})
        with writing(place.name):
            self._journal = Journal.opened(place.folder, fingerprint)

    @property
    def notes(self) -> tuple[str, ...]:
        """Where times could not be kept to the tick, one line each."""
        return clock_notes(self._clock)

    @property
    def shift_s(self) -> Fraction:
        """Seconds added to all times of the input."""
        return self._clock.shift_s

    @property
    def frames_done(self) -> int:
        """Composites that are safe on the disk; `write` passes over those of earlier runs."""
        return sum(segment.frames for segment in self._journal.segments)

    def record(self, index: int, value: JsonValue) -> None:
        """Keeps a finding about frame `index` with its segment, for `recalled` after a crash.

        It rests on the disk in clear until the output is complete: boxes and scores may,
        biometrics (embeddings, latents, pixels) must not be given. Call it before the composite
        of that index is written. What a finished segment holds stays as it is.
        """
        if index < self.frames_done:
            return
        with self._records_lock:
            self._records[index] = value

    def recalled(self, index: int) -> JsonValue:
        """What was recorded of a frame in a finished segment, None where nothing was."""
        number = index // self._place.segment_frames
        if number >= len(self._journal.segments):
            return None
        if self._recalled[0] != number:
            with writing(self._place.name):
                records = SegmentReader(self._journal.path_of(number)).records
            self._recalled = (number, records)
        return self._recalled[1].get(str(index))

    def write(self, composite: Composite) -> None:
        """Encodes one composite, or passes over it where an earlier run has.

        Raises:
            OutputNotWritable: disk full, or the encoder refused.
        """
        checked_composite(composite)
        if self._is_over:
            raise OutputNotWritable(f"{self._place.name} is closed; nothing more is written")
        pts = self._clock.ticks(composite)
        self._written += 1
        if self._written <= self.frames_done:
            return
        with writing(self._place.name):
            coder, writer = self._coder = self._coder or self._begun()
            writer.add(coder.packets(composite.picture, pts, self._clock.length(composite)))
            writer.frames += 1
            if writer.frames == self._place.segment_frames:
                self._close_segment()

    def finish(self) -> None:
        """Makes the last segment safe on the disk; idempotent.

        Raises:
            OutputNotWritable: disk full; earlier segments stay.
        """
        with writing(self._place.name):
            self._close_segment()
        self._is_over = True

    def abort(self) -> None:
        """Ends at once; finished segments stay. Idempotent."""
        self._is_over = True
        if self._coder is not None:
            self._coder[1].discard()
        self._coder = None

    def packets(
        self, stream: VideoStream, shift_s: Fraction = Fraction(0)
    ) -> Iterator[Packet[VideoStream]]:
        """All coded pictures with decoding times that grow across the seams.

        Args:
            stream: the output's track.
            shift_s: how much later than in the segments all are shown, s.
        """
        base = self._clock.time_base
        later = round(shift_s / base)
        period = max(1, round(1 / (self.track.probe.shape.rate * base)))
        paths = [self._journal.path_of(number) for number in range(len(self._journal.segments))]
        delay = max((SegmentReader(path).delay for path in paths), default=0)
        recent: list[int] | None = None
        for path in paths:
            reader = SegmentReader(path)
            times = (recent or []) + sorted(reader.times)
            if recent is None:
                times = [times[0] - (delay - step) * period for step in range(delay)] + times
            for coded, dts in zip(reader.packets(), times, strict=False):
                if recent is not None:
                    coded = _without_file_header(coded)
                shown = replace(coded, pts=coded.pts + later)
                yield _packet(shown, dts + later, base, stream)
            recent = times[len(times) - delay :] if delay else []

    def _begun(self) -> tuple[VideoTrack, SegmentWriter]:
        # The encoder is made for this container, but its packets go to the segment.
        nowhere = av.open(io.BytesIO(), "w", format=self._place.container.muxer)
        coder = VideoTrack(
            nowhere,
            self.track.probe,
            self._place.container,
            self.track.choice,
            self._place.threads,
        )
        return coder, SegmentWriter(self._journal.path_of(len(self._journal.segments)))

    def _close_segment(self) -> None:
        if self._coder is None:
            return
        coder, writer = self._coder
        writer.add(coder.rest())
        first = len(self._journal.segments) * self._place.segment_frames
        mine = self._taken(range(first, first + self._place.segment_frames))
        self._journal = self._journal.extended(writer.completed(mine))
        self._coder = None

    def _taken(self, indices: range) -> dict[str, JsonValue]:
        """The records of these frames, which are forgotten; others may come in meanwhile."""
        with self._records_lock:
            found = [index for index in self._records if index in indices]
            return {str(index): self._records.pop(index) for index in found}


def _without_file_header(coded: CodedPacket) -> CodedPacket:
    """A GIF encoder's first packet opens with the file's header; it belongs there once."""
    if not coded.data.startswith(b"GIF8"):
        return coded
    return replace(coded, data=coded.data[_GIF_HEADER_BYTES:])


def _packet(
    coded: CodedPacket, dts: int, time_base: Fraction, stream: VideoStream
) -> Packet[VideoStream]:
    packet: Packet[VideoStream] = Packet(coded.data)  # type: ignore[assignment]
    packet.pts, packet.dts, packet.duration = coded.pts, dts, coded.duration
    packet.time_base, packet.is_keyframe = time_base, coded.is_key
    packet.stream = stream
    return packet
