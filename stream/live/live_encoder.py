"""Encodes composites for live use: no look-ahead, regular key frames, one picture size."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, cast

import av
from av.video.codeccontext import VideoCodecContext

from engines.blending.compositor import Composite
from stream.live.encoder_choice import THREADS, EncoderOptions, LiveCodec, choose_live_encoder
from stream.live.packet_muxer import TICKS
from stream.media.marking import sei_nal
from stream.media.planes import fitted, frame_from_picture
from stream.media.writing.encoders import EncoderChoice

__all__ = ["TICKS", "EncodedPicture", "LiveEncoder", "even_size"]

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


class LiveEncoder:
    """Encodes composites, and nothing else, picture by picture, in strictly increasing time.

    The first composite sets the size, rounded up to even; others are scaled to fit and
    centred on black, so that a camera which changes its resolution does not break the output.

    Args:
        options: rate, spacing of key frames, and which encoder.
        codec: `h264` (baseline, Annex B), `hevc` (Annex B) or `vp8`.
        is_marked: puts `marking.sei_nal` before every key frame; VP8 has no place for it.
        size: even height and width, px, where they are set already; else zeros.

    Attributes:
        size: of the encoded picture; zeros before the first.
        choice: the encoder; None before the first.
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
        self._keyframe_ticks = round(options.keyframe_s / TICKS)
        self._last_pts: int | None = None
        self._key_pts = 0
        self._is_key_wanted = True
        self._context: VideoCodecContext | None = None
        self.size = size
        self.choice: EncoderChoice | None = None

    def want_key(self) -> None:
        """The next picture becomes a key frame; callable from any thread."""
        self._is_key_wanted = True

    def encode(self, composite: Composite) -> list[EncodedPicture]:
        """The encoded form of one composite: usually one picture.

        Raises:
            TypeError: it is no composite, so nobody says that its faces are gone.
            av.FFmpegError: the encoder failed.
        """
        if not isinstance(composite, Composite):
            message = f"only a Composite is encoded, not a {type(composite).__name__}"
            raise TypeError(message)
        picture = composite.picture
        if self.size == (0, 0):
            self.size = even_size(picture.height, picture.width)
        if self._context is None:
            self.choice, self._context = self._opened()
        assert self.choice is not None
        if (picture.height, picture.width) != self.size:
            picture = fitted(picture, *self.size)
        pts = self._next_pts(composite)
        frame = frame_from_picture(picture, "yuv420p", 0, pts, TICKS)
        if self.choice.pixel_format != frame.format.name:
            frame = frame.reformat(format=self.choice.pixel_format)
            frame.pts, frame.time_base = pts, TICKS
        frame.pict_type = self._next_type(pts)
        encoded = []
        for packet in self._context.encode(frame):
            data = (self._mark if packet.is_keyframe else b"") + bytes(packet)
            shown = packet.pts if packet.pts is not None else pts
            encoded.append(EncodedPicture(data, shown, packet.is_keyframe, self.size))
        return encoded

    def _next_pts(self, composite: Composite) -> int:
        pts = int(composite.pts * composite.time_base / TICKS)
        if self._last_pts is not None:
            pts = max(pts, self._last_pts + _LEAST_STEP)
        self._last_pts = pts
        return pts

    def _next_type(self, pts: int) -> int:
        if not self._is_key_wanted and pts - self._key_pts < self._keyframe_ticks:
            return _DELTA
        self._is_key_wanted, self._key_pts = False, pts
        return _INTRA

    def _opened(self) -> tuple[EncoderChoice, VideoCodecContext]:
        height, width = self.size
        choice = choose_live_encoder(self._codec, self._options, height, width)
        context = cast(VideoCodecContext, av.CodecContext.create(choice.name, "w"))
        context.height, context.width = height, width
        context.pix_fmt = choice.pixel_format
        context.time_base = TICKS
        context.framerate = Fraction(self._options.fps)
        context.thread_count = THREADS
        context.options = dict(choice.options)
        return choice, context


def even_size(height: int, width: int) -> tuple[int, int]:
    """The size in which a picture is encoded.

    >>> even_size(47, 64)
    (48, 64)
    """
    return height + height % 2, width + width % 2
