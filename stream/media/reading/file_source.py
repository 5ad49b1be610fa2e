"""Frames of a video file, each with its own timestamp, damaged stretches included.

Every packet that a container promises comes out as a frame: what the decoder had to guess
is flagged, what it lost altogether is replaced by a grey picture under the lost timestamp,
so that the count and the clock survive and the pipeline covers what cannot be trusted.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Final

from engines.types import Frame
from stream.errors import InputUnreadable, reading
from stream.media.frame_clock import FrameClock
from stream.media.planes import fitted, neutral_picture, picture_from_frame
from stream.media.projection import projection_of
from stream.media.reading.decoder_bounds import MAX_PIXELS
from stream.media.reading.decoding import Decoded, Decoding
from stream.media.reading.inspection import chosen_video, opened_input, probe_of, video_tracks
from stream.media.reading.matroska import is_whole_matroska
from stream.media.reading.pauses import Pauses
from stream.media.reading.probe import SourceReport
from stream.media.reading.recorded_source import RecordedSource
from stream.media.side_data import lost_beside

__all__ = ["FileSource"]

_END_MARGIN_S: Final = 1.0
_ADVICE: Final = "check that the file is complete and its codec is supported"


class FileSource(RecordedSource):
    """Decodes one video track of a file in the caller's thread.

    Construction opens the file and decodes the first frame, so that a file without a single
    decodable frame is refused before anything is written.

    Args:
        path: the file.
        is_upright: turn pictures as the container's display matrix says, so that faces
            stand upright for the detector; a sink turns them back.
        max_pixels: larger pictures are refused.
        video_track: which track, from 1; None for the one that players take.
        rotation: degrees clockwise by which pictures are turned besides what the file says.

    Raises:
        InputUnreadable: missing, empty, damaged, or without video.
        UsageRefused: there is no such track.
    """

    def __init__(
        self,
        path: Path,
        *,
        is_upright: bool = True,
        max_pixels: int = MAX_PIXELS,
        video_track: int | None = None,
        rotation: int = 0,
    ) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._is_closed = False
        self._is_running = False
        self._container = opened_input(path, max_pixels)
        try:
            with reading(path.name):
                self._state = _state_of(path)
                self._stream = chosen_video(self._container, path.name, video_track)
                context = self._stream.codec_context
                _check_size(path.name, context.height, context.width, max_pixels)
                self._decoding = Decoding(self._container, self._stream, max_pixels)
                self._decoded = self._decoding.frames()
                first = next(self._decoded, None)
            if first is None or first.image is None:
                others = len(video_tracks(self._container)) > 1
                advice = "--video-track takes another track" if others else _ADVICE
                raise InputUnreadable(
                    f"cannot read {path.name}: not one frame could be decoded; {advice}"
                )
            _check_size(path.name, first.image.height, first.image.width, max_pixels)
            self._first: Decoded | None = first
            self._probe = probe_of(
                path,
                self._container,
                self._stream,
                first.image,
                has_timestamps=first.pts is not None,
                is_upright=is_upright,
                rotation=rotation,
            )
        except BaseException:
            self._container.close()
            raise
        self._report = SourceReport()
        self._beside: set[str] = set()
        self._pauses = Pauses()

    def frames(self) -> Iterator[Frame]:
        """Every frame once, in presentation order.

        Raises:
            InputUnreadable: reading failed in a way that left nothing to go on with.
        """
        with self._lock:
            if self._is_closed or self._is_running or self._first is None:
                return
            self._is_running = True
        clock = FrameClock(self._probe)
        held: Frame | None = None
        try:
            with reading(self._path.name):
                for index, decoded in enumerate(self._from_first()):
                    if self._is_closed:
                        return
                    frame = self._frame(decoded, index, clock)
                    if held is not None:
                        self._pauses.add(frame.pts - held.pts)
                        yield replace(held, duration=frame.pts - held.pts)
                    held = frame
                    del frame
                if held is not None:
                    yield self._last(held, clock)
                self._note_end(clock)
        finally:
            with self._lock:
                self._is_running = False
                self._is_closed = True
                self._container.close()

    def close(self) -> None:
        """Stops `frames` and frees decoder and file; idempotent, callable from any thread."""
        with self._lock:
            self._is_closed = True
            if not self._is_running:
                self._container.close()

    def _from_first(self) -> Iterator[Decoded]:
        first, self._first = self._first, None
        if first is not None:
            yield first
            del first
        yield from self._decoded

    def _frame(self, decoded: Decoded, index: int, clock: FrameClock) -> Frame:
        probe, image = self._probe, decoded.image
        pts = clock.pts_of(decoded.pts)
        counts = self._report
        if image is None:
            picture = neutral_picture(
                probe.shape.height, probe.shape.width, probe.layout, probe.bit_depth, probe.colour
            )
            counts = replace(counts, replaced=counts.replaced + 1)
        else:
            self._beside |= lost_beside(image)
            projection = projection_of(image)
            if projection not in (None, probe.projection):
                self._beside |= projection.names
            picture = picture_from_frame(image, probe.layout, probe.bit_depth, probe.turns)
            if (picture.height, picture.width) != (probe.shape.height, probe.shape.width):
                picture = fitted(picture, probe.shape.height, probe.shape.width)
                counts = replace(counts, rescaled=counts.rescaled + 1)
        is_damaged = decoded.is_damaged or image is None
        self._report = replace(
            counts, frames=counts.frames + 1, damaged=counts.damaged + int(is_damaged)
        )
        duration = decoded.duration
        return Frame(
            picture, pts, probe.shape.time_base, index, is_damaged=is_damaged, duration=duration
        )

    def _last(self, frame: Frame, clock: FrameClock) -> Frame:
        """The last frame, which is shown as long as it says, or until the recording ends."""
        shape = self._probe.shape
        length = frame.duration or clock.period
        if clock.shift == 0 and is_whole_matroska(self._path):
            end = round(Fraction(self._probe.duration_s or 0.0) / shape.time_base)
            length = max(length, end - frame.pts)
        clock.last_s = float(length * shape.time_base)
        return replace(frame, duration=length)

    def _note_end(self, clock: FrameClock) -> None:
        report, probe = self._report, self._probe
        if probe.container.startswith("mov") and self._stream.frames:
            is_short = self._decoding.packets < self._stream.frames
        else:
            # Matroska tells the time of the end, which is more where a recording starts late.
            start_s = max(0.0, clock.start_s) if probe.container.startswith("matroska") else 0.0
            is_short = start_s + clock.end_s < (probe.duration_s or 0.0) - _END_MARGIN_S
        warnings = []
        if report.damaged:
            warnings.append(f"{report.damaged} damaged frames are covered as a whole")
        if report.rescaled:
            warnings.append(f"{report.rescaled} frames of another size were fitted into the first")
        if self._beside:
            warnings.append(f"{', '.join(sorted(self._beside))} left out")
        if is_short:
            warnings.append(f"the file ends early: {report.frames} frames could be read")
        if _state_of(self._path) != self._state:
            warnings.append("the file changed while it was read; run again when it is complete")
        if self._decoding.lost_at_start:
            warnings.append(f"{self._decoding.lost_at_start} frames at the start were lost")
        if self._decoding.absent:
            warnings.append(f"at least {self._decoding.absent} frames are missing in the file")
        if self._pauses.told and self._decoding.is_silent_on_gaps:
            warnings.append(self._pauses.told)
        if self._decoding.read_errors:
            warnings.append(f"{self._decoding.read_errors} stretches could not be read")
        self._report = replace(report, is_truncated=is_short, warnings=tuple(warnings))


def _state_of(path: Path) -> tuple[int, int]:
    """Size and time of the last change."""
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def _check_size(name: str, height: int, width: int, max_pixels: int) -> None:
    if height * width > max_pixels:
        raise InputUnreadable(
            f"cannot read {name}: it has pictures of {width}×{height}; "
            f"{max_pixels} px are the most (limits.max_pixels)"
        )
