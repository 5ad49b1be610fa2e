"""A long output in pieces that survive a crash, with the same result as in one go.

Beside `out.mp4` a folder `out.mp4.resume` holds coded segments of a fixed number of
composites each, every one made by a fresh encoder and so independent of the others, and a
journal that says what they depend on. A segment is entered in the journal when it is safe
on the disk. The next run under the same journal skips what is there. At the end the coded
pictures are joined, unchanged, with the sound; how often the run was interrupted leaves no
trace. The folder holds anonymized pictures and what `record` was given, nothing else.

Several video tracks of a file come into one output by the same way: one after the other into
segments of their own, then together into the file.
"""

from __future__ import annotations

import hashlib
import heapq
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import av
from av.packet import Packet
from av.video.stream import VideoStream

from stream.digests import file_digest
from stream.errors import OutputNotWritable, UsageRefused, writing
from stream.file_names import name_beside
from stream.media.containers import Container, container_of
from stream.media.reading.probe import MediaProbe
from stream.media.writing.coded_track import SEGMENT_FRAMES, CodedTrack, CodingPlace
from stream.media.writing.encoder_options import EncodeSettings
from stream.media.writing.encoders import choose_encoder
from stream.media.writing.output_file import OutputFile, PictureTrack, shaped_for
from stream.media.writing.partial_file import checked_output, lock, made_folder
from stream.media.writing.segment_files import LOCK_NAME

__all__ = ["SEGMENT_FRAMES", "SegmentSink", "SegmentedOutput", "resume_folder"]


def resume_folder(path: Path) -> Path:
    """The folder beside an output in which its segments wait.

    >>> resume_folder(Path("a/out.mp4")).name
    'out.mp4.resume'
    """
    return name_beside(path, ".resume")


class SegmentedOutput:
    """An output whose picture tracks are coded one by one and joined at the end.

    Args:
        path: final name; its ending chooses the container.
        probes: formats of the input's tracks, in their order.
        settings: how to write; `encoder="auto"` means software here, since hardware may
            code the same pictures differently from run to run.
        identity: what the composites depend on besides the input, such as a hash of all
            settings and models; segments made under other words are thrown away. None: no
            later run goes on with them, and nothing stays of what is broken off.
        segment_frames: composites per segment.

    Raises:
        UsageRefused: unknown ending, one whose files hold one track where there are several, or
            the output is the input.
        OutputNotWritable: it exists, cannot be made, or another run is at work on it.
    """

    def __init__(
        self,
        path: Path,
        probes: Sequence[MediaProbe],
        settings: EncodeSettings,
        identity: str | None,
        *,
        segment_frames: int = SEGMENT_FRAMES,
    ) -> None:
        checked_output(path, probes[0].path, overwrite=settings.overwrite)
        self._path = path
        self._container = container_of(path)
        _refuse_too_many(path, self._container, len(probes))
        self._settings = _settled(settings)
        self._is_kept = identity is not None
        self._is_over = False
        self._output: OutputFile | None = None
        shaped = [shaped_for(self._container, probe) for probe in probes]
        tracks = [
            PictureTrack(probe, choose_encoder(probe, self._container, self._settings))
            for probe in shaped
        ]
        self._folder = resume_folder(path) if self._is_kept else name_beside(path, ".tracks")
        with writing(path.name):
            self._lock = _claimed(self._folder, path.name)
        words = secrets.token_hex() if identity is None else identity
        self.tracks: list[CodedTrack] = []
        try:
            for number, track in enumerate(tracks):
                place = self._place(number, len(tracks), segment_frames)
                fingerprint = self._fingerprint(words, track, segment_frames)
                self.tracks.append(CodedTrack(track, place, fingerprint))
        except BaseException:
            self.abort()
            raise

    @property
    def notes(self) -> tuple[str, ...]:
        """What became of the tracks, one line each; empty before `finish`."""
        return self._output.notes if self._output is not None else ()

    @property
    def losses(self) -> tuple[str, ...]:
        """Of the notes those that tell what is not as it was."""
        return self._output.losses if self._output is not None else ()

    def finish(self) -> None:
        """Joins the segments and the sound under the final name and removes the folder.

        Raises:
            OutputNotWritable: disk full; the segments stay where they may be gone on with.
        """
        if self._is_over:
            return
        try:
            self._join()
        except BaseException:
            self.abort()
            raise
        self._end(is_kept=False)

    def abort(self) -> None:
        """Ends at once; finished segments stay for the next run, if one may go on. Idempotent."""
        if self._is_over:
            return
        for track in self.tracks:
            track.abort()
        self._end(is_kept=self._is_kept)

    def _end(self, *, is_kept: bool) -> None:
        self._is_over = True
        if not is_kept:
            shutil.rmtree(self._folder, ignore_errors=True)
        os.close(self._lock)

    def _place(self, number: int, count: int, segment_frames: int) -> CodingPlace:
        folder = self._folder if count == 1 else self._folder / f"track-{number + 1}"
        made_folder(folder)
        threads = self._settings.threads
        return CodingPlace(self._path.name, folder, self._container, threads, segment_frames)

    def _join(self) -> None:
        output = OutputFile(
            self._path, [track.track for track in self.tracks], self._container, self._settings
        )
        output.shift_s = max(track.shift_s for track in self.tracks)
        try:
            streams = [video.stream for video in output.videos]
            for number, packet in self._joined(streams, output.shift_s):
                output.mux([packet], number)
        except BaseException:
            output.abort()
            raise
        output.finish()
        self._output = output

    def _joined(
        self, streams: Sequence[VideoStream], shift_s: Fraction
    ) -> Iterator[tuple[int, Packet[VideoStream]]]:
        """All packets of all tracks, with their tracks' places, by decoding time."""

        def numbered(number: int) -> Iterator[tuple[Fraction, int, Packet[VideoStream]]]:
            track = self.tracks[number]
            for packet in track.packets(streams[number], shift_s - track.shift_s):
                yield (packet.dts or 0) * packet.time_base, number, packet

        by_time = [numbered(number) for number in range(len(streams))]
        for _, number, packet in heapq.merge(*by_time, key=lambda one: one[:2]):
            yield number, packet

    def _fingerprint(self, identity: str, track: PictureTrack, segment_frames: int) -> str:
        source = track.probe.path
        facts = [
            identity,
            file_digest(source) if self._is_kept and source.is_file() else "",
            str(track.probe.track),
            repr(replace(self._settings, overwrite=False)),
            repr(track.choice),
            str(segment_frames),
            repr(sorted(av.library_versions.items())),
        ]
        return hashlib.sha256("\n".join(facts).encode()).hexdigest()


class SegmentSink(SegmentedOutput):
    """An output of one picture track, in segments that the next run can build on.

    Args:
        path: final name; its ending chooses the container.
        probe: format of the input.
        settings: as of `SegmentedOutput`.
        identity: likewise.
        segment_frames: composites per segment.

    Attributes:
        choice: the encoder and why it was chosen.
        write: encodes a composite; see `CodedTrack`, as of the others.
        record: keeps a finding about a frame.
        recalled: what was recorded of a frame.

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
        super().__init__(path, [probe], settings, identity, segment_frames=segment_frames)
        (self._track,) = self.tracks
        self.choice = self._track.track.choice
        self.write, self.record = self._track.write, self._track.record
        self.recalled = self._track.recalled

    @property
    def notes(self) -> tuple[str, ...]:
        """What became of sound and clock, one line each; complete after `finish`."""
        return super().notes + self._track.notes

    @property
    def losses(self) -> tuple[str, ...]:
        """Of the notes those that tell what is not as it was; complete after `finish`."""
        return super().losses + self._track.notes

    @property
    def frames_done(self) -> int:
        """Composites that earlier runs left safe on the disk; `write` ignores these."""
        return self._track.frames_done

    def finish(self) -> None:
        """Completes the track, and then the output; see `SegmentedOutput.finish`."""
        try:
            self._track.finish()
        except BaseException:
            self.abort()
            raise
        super().finish()


def _refuse_too_many(path: Path, container: Container, tracks: int) -> None:
    if tracks > 1 and not container.holds_tracks:
        raise UsageRefused(
            f"cannot write {tracks} video tracks into {path.name}: such a file holds one; "
            "name a .mkv, .mp4, .mov or .ts, or choose a track by its number"
        )


def _settled(settings: EncodeSettings) -> EncodeSettings:
    """Settings under which the same pictures are coded the same way every time."""
    encoder = "software" if settings.encoder == "auto" else settings.encoder
    return replace(settings, encoder=encoder, threads=settings.threads or os.cpu_count() or 1)


def _claimed(folder: Path, name: str) -> int:
    """Makes the folder, and keeps a second run out of it for as long as the handle is open.

    What lies in it will be removed: so it must be one that a run has made.

    Raises:
        OutputNotWritable: it is a link, or somebody else's, or another run is at work in it.
    """
    folder.mkdir(exist_ok=True)
    is_ours = (folder / LOCK_NAME).exists() or not any(folder.iterdir())
    if folder.is_symlink() or not is_ours:
        raise OutputNotWritable(
            f"cannot write {name}: {folder.name} beside it is not a folder of kveil's; move it away"
        )
    handle = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    try:
        lock(handle, name)
    except OutputNotWritable:
        os.close(handle)
        raise
    return handle
