"""Encodes composites for live use: no look-ahead, regular key frames, one picture size."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, cast

import av
import numpy as np
from av.video.codeccontext import VideoCodecContext
from av.video.frame import VideoFrame

from engines.compositor import Composite
from stream.planes import frame_from_picture

__all__ = ["EncodedPicture", "EncoderOptions", "FrameFitter", "LiveCodec", "LiveEncoder"]

LiveCodec = Literal["h264", "vp8"]
TICKS: Final = Fraction(1, 90_000)
_VP8_OPTIONS: Final = {
    "deadline": "realtime",
    "cpu-used": "8",
    "lag-in-frames": "0",
    "error-resilient": "default",
    "static-thresh": "100",
    "g": "100000",
}
_LEAST_STEP: Final = 90  # 1 ms, the coarsest clock of any container used here
_INTRA: Final = 1
_DELTA: Final = 0


@dataclass(frozen=True, slots=True)
class EncoderOptions:
    """How a live output is encoded.

    Attributes:
        fps: nominal rate, for rate control and key frame spacing.
        bitrate_kbps: ceiling; larger keeps more detail and needs a wider line.
        keyframe_s: seconds between key frames; smaller lets viewers in sooner and costs bits.
        speed: preset of the encoder; slower ones keep more detail at the same rate.
        threads: of the encoder; more shorten the time of one frame and cost the others theirs.
    """

    fps: int = 25
    bitrate_kbps: int = 4000
    keyframe_s: float = 1.0
    speed: Literal["ultrafast", "superfast", "veryfast", "faster", "fast"] = "superfast"
    threads: int = 1


@dataclass(frozen=True, slots=True)
class EncodedPicture:
    """One encoded composite.

    Attributes:
        data: H.264 in Annex B form, or one VP8 frame.
        pts: time in units of 1/90000 s; also the decoding time, as there are no B-frames.
        is_key: can be decoded without what went before.
    """

    data: bytes
    pts: int
    is_key: bool


class FrameFitter:
    """Turns composites into frames of one size with strictly increasing time and key frames.

    The first composite sets the size, rounded up to even; others are scaled to fit and
    centred on black, so that a camera which changes its resolution does not break the output.

    Args:
        options: gives the spacing of key frames.
    """

    def __init__(self, options: EncoderOptions) -> None:
        self._keyframe_ticks = round(options.keyframe_s / TICKS)
        self._last_pts: int | None = None
        self._key_pts = 0
        self._is_key_wanted = True
        self.height = 0
        self.width = 0

    def want_key(self) -> None:
        """The next frame becomes a key frame; callable from any thread."""
        self._is_key_wanted = True

    def fitted(self, composite: Composite) -> VideoFrame:
        """The frame to encode next."""
        picture = composite.picture
        if not self.height:
            self.height, self.width = picture.height + picture.height % 2, _even(picture.width)
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
        options: rate, spacing of key frames, effort.
        codec: `h264` (baseline, Annex B) or `vp8`.
        mark: bytes to put before every H.264 key frame, such as `marking.sei_nal()`.
    """

    def __init__(
        self, options: EncoderOptions, codec: LiveCodec = "h264", mark: bytes = b""
    ) -> None:
        self._options = options
        self._codec: LiveCodec = codec
        self._mark = mark if codec == "h264" else b""
        self._fitter = FrameFitter(options)
        self._context: VideoCodecContext | None = None

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of the encoded picture; (0, 0) before the first."""
        return self._fitter.height, self._fitter.width

    def want_key(self) -> None:
        """The next picture becomes a key frame; callable from any thread."""
        self._fitter.want_key()

    def encode(self, composite: Composite) -> list[EncodedPicture]:
        """The encoded form of one composite: usually one picture."""
        frame = self._fitter.fitted(composite)
        if self._context is None:
            self._context = self._configured()
        encoded = []
        for packet in self._context.encode(frame):
            data = (self._mark if packet.is_keyframe else b"") + bytes(packet)
            pts = packet.pts if packet.pts is not None else int(frame.pts or 0)
            encoded.append(EncodedPicture(data, pts, packet.is_keyframe))
        return encoded

    def _configured(self) -> VideoCodecContext:
        name = "libx264" if self._codec == "h264" else "libvpx"
        context = cast(VideoCodecContext, av.CodecContext.create(name, "w"))
        context.height, context.width = self.size
        context.pix_fmt = "yuv420p"
        context.time_base = TICKS
        context.framerate = Fraction(self._options.fps)
        context.thread_count = self._options.threads
        if self._codec == "h264":
            context.options = _h264_options(self._options)
        else:
            context.bit_rate = self._options.bitrate_kbps * 1000
            context.options = dict(_VP8_OPTIONS)
        return context


def _h264_options(options: EncoderOptions) -> dict[str, str]:
    return {
        "preset": options.speed,
        "tune": "zerolatency",
        "profile": "baseline",
        "crf": "23",
        "maxrate": f"{options.bitrate_kbps}k",
        "bufsize": f"{options.bitrate_kbps}k",
        "g": "100000",
        "forced-idr": "1",
    }


def _even(length: int) -> int:
    return length + length % 2


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
