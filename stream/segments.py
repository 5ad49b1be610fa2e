"""A long output in pieces that survive a crash, with the same result as in one go.

Beside `out.mp4` a folder `out.mp4.resume` holds coded segments of a fixed number of
composites each, every one made by a fresh encoder and so independent of the others, and a
journal that says what they depend on. A segment is entered in the journal when it is safe
on the disk. The next run under the same journal skips what is there. At the end the coded
pictures are joined, unchanged, with the sound; how often the run was interrupted leaves no
trace. The folder holds anonymized pictures and what `record` was given, nothing else.
"""

from __future__ import annotations

import hashlib
import io
import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Final

import av
from av.packet import Packet
from av.video.stream import VideoStream

from engines.compositor import Composite
from stream.containers import container_of
from stream.digests import file_digest
from stream.encoder_options import EncodeSettings
from stream.encoders import EncoderChoice, choose_encoder
from stream.errors import OutputNotWritable, writing
from stream.file_names import name_beside
from stream.file_sink import checked_composite, clock_notes
from stream.output_file import OutputFile, shaped_for
from stream.partial_file import checked_output, lock, removed
from stream.probe import MediaProbe
from stream.segment_files import (
    LOCK_NAME,
    CodedPacket,
    Journal,
    JsonValue,
    SegmentReader,
    SegmentWriter,
)
from stream.video_track import PictureClock, VideoTrack, track_time_base

__all__ = ["SEGMENT_FRAMES", "SegmentSink", "resume_folder"]

SEGMENT_FRAMES: Final = 250
"""Composites per segment: the most that a crash costs; each start costs a key frame."""


_GIF_HEADER_BYTES: Final = 13


def resume_folder(path: Path) -> Path:
    """The folder beside an output in which its segments wait.

    >>> resume_folder(Path("a/out.mp4")).name
    'out.mp4.resume'
    """
    return name_beside(path, ".resume")


class SegmentSink:
    """Encodes composites in segments that the next run can build on.

    Args:
        path: final name; its ending chooses the container.
        probe: format of the input.
        settings: how to write; `encoder="auto"` means software here, since hardware may
            code the same pictures differently from run to run.
        identity: what the composites depend on besides the input, such as a hash of all
            settings and models; segments made under other words are thrown away.
        segment_frames: composites per segment.

    Raises:
        UsageRefused: unknown ending, or the output is the input.
        OutputNotWritable: it exists, cannot be made, or another run is at work on it.
    """

    def __init__(
        self,
        path: Path,
        probe: MediaProbe,
        settings: EncodeSettings,
        identity: str,
        *,
        segment_frames: int = SEGMENT_FRAMES,
    ) -> None:
        checked_output(path, probe.path, overwrite=settings.overwrite)
        self._path = path
        self._container = container_of(path)
        self._probe = shaped_for(self._container, probe)
        self._settings = _settled(settings)
        self._choice = choose_encoder(self._probe, self._container, self._settings)
        self._clock = PictureClock(track_time_base(self._probe, self._container))
        self._length = segment_frames
        self._written = 0
        self._is_over = False
        self._track: VideoTrack | None = None
        self._writer: SegmentWriter | None = None
        self._records: dict[int, JsonValue] = {}
        self._records_lock = threading.Lock()
        self._recalled: tuple[int, Mapping[str, JsonValue]] = (-1, {})
        self._notes: tuple[str, ...] = ()
        self._losses: tuple[str, ...] = ()
        folder = resume_folder(path)
        with writing(path.name):
            folder.mkdir(exist_ok=True)
            self._lock = _locked(folder, path.name)
            self._journal = Journal.opened(folder, self._fingerprint(identity))

    @property
    def choice(self) -> EncoderChoice:
        """The encoder and why it was chosen."""
        return self._choice

    @property
    def notes(self) -> tuple[str, ...]:
        """What became of sound and clock, one line each; complete after `finish`."""
        return self._notes + clock_notes(self._clock)

    @property
    def losses(self) -> tuple[str, ...]:
        """Of the notes those that tell what is not as it was; complete after `finish`."""
        return self._losses + clock_notes(self._clock)

    @property
    def frames_done(self) -> int:
        """Composites that earlier runs left safe on the disk; `write` ignores these."""
        return sum(segment.frames for segment in self._journal.segments)

    def record(self, index: int, value: JsonValue) -> None:
        """Keeps a finding about frame `index` with its segment, for `recalled` after a crash.

        It rests on the disk in clear until `finish`: boxes and scores may, biometrics
        (embeddings, latents, pixels) must not be given. Call it before the composite of
        that index is written. What a finished segment holds stays as it is.
        """
        if index < self.frames_done:
            return
        with self._records_lock:
            self._records[index] = value

    def recalled(self, index: int) -> JsonValue:
        """What was recorded of a frame in a finished segment, None where nothing was."""
        number = index // self._length
        if number >= len(self._journal.segments):
            return None
        if self._recalled[0] != number:
            with writing(self._path.name):
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
            raise OutputNotWritable(f"{self._path.name} is closed; nothing more is written")
        pts = self._clock.ticks(composite)
        self._written += 1
        if self._written <= self.frames_done:
            return
        with writing(self._path.name):
            track, writer = self._open_segment()
            writer.add(track.packets(composite.picture, pts, self._clock.length(composite)))
            writer.frames += 1
            if writer.frames == self._length:
                self._close_segment()

    def finish(self) -> None:
        """Joins the segments and the sound under the final name and removes the folder.

        Raises:
            OutputNotWritable: disk full; the segments stay, so that `--resume` can go on.
        """
        if self._is_over:
            return
        try:
            with writing(self._path.name):
                self._close_segment()
            self._join()
        except BaseException:
            self.abort()
            raise
        self._is_over = True
        os.close(self._lock)
        removed(resume_folder(self._path))

    def abort(self) -> None:
        """Ends at once; finished segments stay for the next run. Idempotent."""
        if self._is_over:
            return
        self._is_over = True
        if self._writer is not None:
            self._writer.discard()
        self._track = self._writer = None
        os.close(self._lock)

    def _open_segment(self) -> tuple[VideoTrack, SegmentWriter]:
        if self._track is None or self._writer is None:
            # The encoder is made for this container, but its packets go to the segment.
            nowhere = av.open(io.BytesIO(), "w", format=self._container.muxer)
            self._track = VideoTrack(
                nowhere, self._probe, self._container, self._choice, self._settings.threads
            )
            self._writer = SegmentWriter(self._journal.path_of(len(self._journal.segments)))
        return self._track, self._writer

    def _close_segment(self) -> None:
        if self._track is None or self._writer is None:
            return
        self._writer.add(self._track.rest())
        first = len(self._journal.segments) * self._length
        mine = self._taken(range(first, first + self._length))
        self._journal = self._journal.extended(self._writer.completed(mine))
        self._track = self._writer = None

    def _taken(self, indices: range) -> dict[str, JsonValue]:
        """The records of these frames, which are forgotten; others may come in meanwhile."""
        with self._records_lock:
            found = [index for index in self._records if index in indices]
            return {str(index): self._records.pop(index) for index in found}

    def _join(self) -> None:
        output = OutputFile(self._path, self._probe, self._container, self._choice, self._settings)
        output.shift_s = self._clock.shift_s
        try:
            for packet in self._joined(output.video.stream):
                output.mux([packet])
        except BaseException:
            output.abort()
            raise
        output.finish()
        self._notes, self._losses = output.notes, output.losses

    def _joined(self, stream: VideoStream) -> Iterator[Packet[VideoStream]]:
        """All coded pictures with decoding times that grow across the seams."""
        time_base = self._clock.time_base
        period = max(1, round(1 / (self._probe.shape.rate * time_base)))
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
                yield _packet(coded, dts, time_base, stream)
            recent = times[len(times) - delay :] if delay else []

    def _fingerprint(self, identity: str) -> str:
        facts = [
            identity,
            file_digest(self._probe.path) if self._probe.path.is_file() else "",
            repr(replace(self._settings, overwrite=False)),
            repr(self._choice),
            str(self._length),
            repr(sorted(av.library_versions.items())),
        ]
        return hashlib.sha256("\n".join(facts).encode()).hexdigest()


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


def _settled(settings: EncodeSettings) -> EncodeSettings:
    """Settings under which the same pictures are coded the same way every time."""
    encoder = "software" if settings.encoder == "auto" else settings.encoder
    return replace(settings, encoder=encoder, threads=settings.threads or os.cpu_count() or 1)


def _locked(folder: Path, name: str) -> int:
    """Keeps a second run out of the folder for as long as the handle is open."""
    handle = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    try:
        lock(handle, name)
    except OutputNotWritable:
        os.close(handle)
        raise
    return handle
