"""Encodes composites for live use: no look-ahead, regular key frames, one picture size."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, cast

import av
import numpy as np
from av.video.codeccontext import VideoCodecContext
from av.video.frame import VideoFrame

from engines.blending.compositor import Composite
from stream.live.encoder_choice import EncoderOptions, LiveCodec, choose_live_encoder
from stream.media.marking import sei_nal
from stream.media.planes import frame_from_picture
from stream.media.writing.encoders import EncoderChoice

__all__ = ["TICKS", "EncodedPicture", "FrameFitter", "LiveEncoder", "even_size"]

TICKS: Final = Fraction(1, 90_000)
_LEAST_STEP: Final = 90  # 1 ms, the coarsest clock of any container used here
_INTRA: Final = 1
_DELTA: Final = 0


@dataclass(frozen=True, slots=True)
class EncodedPicture:
    """One encoded composite.

    Attributes:
        data: H.264 or H.265 in Annex B form, or one VP8 frame.
        pts: time in units of 1/90000 s; also the decoding time, as there are no B-frames.
        is_key: can be decoded without what went before.
        size: height and width, px; changes at key frames alone.
    """

    data: bytes
    pts: int
    is_key: bool
    size: tuple[int, int] = (0, 0)


class FrameFitter:
    """Turns composites into frames of one size with strictly increasing time and key frames.

    The first composite sets the size, rounded up to even; others are scaled to fit and
    centred on black, so that a camera which changes its resolution does not break the output.

    Args:
        options: gives the spacing of key frames.
        size: even height and width, px, where they are set already; else zeros.
    """

    def __init__(self, options: EncoderOptions, size: tuple[int, int] = (0, 0)) -> None:
        self._keyframe_ticks = round(options.keyframe_s / TICKS)
        self._last_pts: int | None = None
        self._key_pts = 0
        self._is_key_wanted = True
        self.height, self.width = size

    def want_key(self) -> None:
        """The next frame becomes a key frame; callable from any thread."""
        self._is_key_wanted = True

    def fitted(self, composite: Composite) -> VideoFrame:
        """The frame to encode next."""
        picture = composite.picture
        if not self.height:
            self.height, self.width = even_size(picture.height, picture.width)
        pts = int(composite.pts * composite.time_base / TICKS)
        frame = frame_from_picture(picture, "yuv420p", 0, pts, TICKS)
        if (frame.height, frame.width) != (self.height, self.width):
            frame = _letterboxed(frame, self.height, self.width)
        pts = pts if self._last_pts is None else max(pts, self._last_pts + _LEAST_STEP)
        frame.pts, frame.time_base, self._last_pts = pts, TICKS, pts
        self._choose_type(frame, pts)
        return frame

    def _choose_type(self, frame: VideoFrame, pts: int) -> None:
        is_key = self._is_key_wanted or pts - self._key_pts >= self._keyframe_ticks
        frame.pict_type = _INTRA if is_key else _DELTA
        if is_key:
            self._is_key_wanted, self._key_pts = False, pts


class LiveEncoder:
    """Encodes composites, and nothing else, picture by picture.

    Args:
        options: rate, spacing of key frames, effort, and which encoder.
        codec: `h264` (baseline, Annex B), `hevc` (Annex B) or `vp8`.
        is_marked: puts `marking.sei_nal` before every key frame; VP8 has no place for it.
        size: see `FrameFitter`.
    """

    def __init__(
        self,
        options: EncoderOptions,
        codec: LiveCodec = "h264",
        *,
        is_marked: bool = False,
        size: tuple[int, int] = (0, 0),
    ) -> None:
        self._options = options
        self._codec: LiveCodec = codec
        self._mark = sei_nal(codec) if is_marked and codec != "vp8" else b""
        self._fitter = FrameFitter(options, size)
        self._context: VideoCodecContext | None = None
        self.choice: EncoderChoice | None = None

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of the encoded picture; zeros before the first."""
        return self._fitter.height, self._fitter.width

    def want_key(self) -> None:
        """The next picture becomes a key frame; callable from any thread."""
        self._fitter.want_key()

    def encode(self, composite: Composite) -> list[EncodedPicture]:
        """The encoded form of one composite: usually one picture.

        Raises:
            TypeError: it is no composite, so nobody says that its faces are gone.
            av.FFmpegError: the encoder failed.
        """
        if not isinstance(composite, Composite):
            message = f"only a Composite is encoded, not a {type(composite).__name__}"
            raise TypeError(message)
        frame = self._fitter.fitted(composite)
        if self._context is None:
            self.choice, self._context = self._opened()
        assert self.choice is not None
        if self.choice.pixel_format != frame.format.name:
            frame = _converted(frame, self.choice.pixel_format)
        encoded = []
        for packet in self._context.encode(frame):
            data = (self._mark if packet.is_keyframe else b"") + bytes(packet)
            pts = packet.pts if packet.pts is not None else int(frame.pts or 0)
            encoded.append(EncodedPicture(data, pts, packet.is_keyframe, self.size))
        return encoded

    def _opened(self) -> tuple[EncoderChoice, VideoCodecContext]:
        height, width = self.size
        choice = choose_live_encoder(self._codec, self._options, height, width)
        context = cast(VideoCodecContext, av.CodecContext.create(choice.name, "w"))
        context.height, context.width = height, width
        context.pix_fmt = choice.pixel_format
        context.time_base = TICKS
        context.framerate = Fraction(self._options.fps)
        context.thread_count = self._options.threads
        context.options = dict(choice.options)
        return choice, context


def _converted(frame: VideoFrame, pixel_format: str) -> VideoFrame:
    """The frame in another format, with its time and type."""
    other = frame.reformat(format=pixel_format)
    other.pts, other.time_base, other.pict_type = frame.pts, frame.time_base, frame.pict_type
    return other


def even_size(height: int, width: int) -> tuple[int, int]:
    """The size in which a picture is encoded.

    >>> even_size(47, 64)
    (48, 64)
    """
    return height + height % 2, width + width % 2


def _letterboxed(frame: VideoFrame, height: int, width: int) -> VideoFrame:
    scale = min(height / frame.height, width / frame.width)
    rows, columns = int(frame.height * scale) & ~1, int(frame.width * scale) & ~1
    inner = frame.reformat(width=max(2, columns), height=max(2, rows), format="yuv420p")
    canvas = av.VideoFrame(width, height, "yuv420p")
    for number, (plane, target) in enumerate(zip(inner.planes, canvas.planes, strict=True)):
        half = 1 if number == 0 else 2
        memory = np.frombuffer(memoryview(target), np.uint8).reshape(-1, target.line_size)
        memory[...] = 16 if number == 0 else 128
        source = np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)
        top = (height - inner.height) // 2 // 2 * 2 // half
        left = (width - inner.width) // 2 // 2 * 2 // half
        memory[top : top + plane.height, left : left + plane.width] = source[
            : plane.height, : plane.width
        ]
    return canvas
