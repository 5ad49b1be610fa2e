"""The two doors of a recording: a path becomes a source, a path and a source a sink."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from stream.errors import InputUnreadable, UsageRefused
from stream.media.ends import Sink
from stream.media.reading.decoder_bounds import MAX_PIXELS
from stream.media.reading.file_source import FileSource
from stream.media.reading.image_source import ImageSource
from stream.media.reading.inspection import opened_input, video_tracks
from stream.media.reading.recorded_source import RecordedSource
from stream.media.stills import IMAGE_ENDINGS
from stream.media.writing.encoder_options import EncodeSettings
from stream.media.writing.file_sink import FileSink
from stream.media.writing.image_sink import ImageSink
from stream.media.writing.segments import SegmentSink

__all__ = ["open_sink", "open_source", "opened_tracks", "video_track_count"]


def open_source(
    path: Path,
    *,
    max_pixels: int = MAX_PIXELS,
    video_track: int | None = None,
    rotation: int = 0,
) -> RecordedSource:
    """Opens a video file or an image.

    Args:
        path: what to read; a local file.
        max_pixels: larger pictures are refused.
        video_track: which of a file's video tracks, from 1; None for the one that players take.
        rotation: degrees clockwise by which pictures are turned besides what the file says.

    Raises:
        InputUnreadable: missing, empty, damaged beyond use, or no pictures in it.
        UsageRefused: there is no such track.
    """
    if path.suffix.lower() in IMAGE_ENDINGS:
        return ImageSource(path, max_pixels=max_pixels, rotation=rotation)
    return FileSource(path, max_pixels=max_pixels, video_track=video_track, rotation=rotation)


def video_track_count(path: Path, max_pixels: int = MAX_PIXELS) -> int:
    """Video tracks of a file, without cover pictures.

    Raises:
        InputUnreadable: missing, empty, or not a media file.
    """
    with opened_input(path, max_pixels) as container:
        return len(video_tracks(container))


def opened_tracks(
    path: Path, count: int, max_pixels: int = MAX_PIXELS, rotation: int = 0
) -> Iterator[FileSource]:
    """Opens the video tracks of a file one after the other; each is closed before the next.

    Args:
        path: the file.
        count: its video tracks.
        max_pixels: larger pictures are refused.
        rotation: as of `open_source`.

    Raises:
        InputUnreadable: one of them cannot be read.
    """
    for number in range(1, count + 1):
        try:
            source = FileSource(path, max_pixels=max_pixels, video_track=number, rotation=rotation)
        except InputUnreadable as fault:
            raise InputUnreadable(f"{fault} (video track {number} of {count})") from fault
        try:
            yield source
        finally:
            source.close()


def open_sink(
    path: Path, source: RecordedSource, settings: EncodeSettings, *, resume: str | None = None
) -> Sink:
    """Opens the output that belongs to a source.

    Args:
        path: final name; its ending chooses the format.
        source: what the composites are made of.
        settings: how to write.
        resume: what the result depends on besides the input and `settings`, such as a hash
            of all settings; the output is then written in segments that survive a crash,
            and those left by an earlier run under the same words are used. None: no resume.

    Raises:
        UsageRefused: the output is the input, or cannot be of this kind.
        OutputNotWritable: it exists, cannot be made, or no encoder works.
    """
    if isinstance(source, ImageSource):
        return ImageSink(path, source, settings)
    if path.suffix.lower() in IMAGE_ENDINGS:
        raise UsageRefused(f"{path.name} is a picture's name; a video needs one such as .mp4")
    if resume is not None:
        return SegmentSink(path, source.probe, settings, resume)
    return FileSink(path, source.probe, settings)
