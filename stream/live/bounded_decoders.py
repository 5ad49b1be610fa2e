"""Decoders of the WebRTC library that refuse pictures beyond a size, before they make room.

The library's own take whatever a publisher sends: a kilobyte can ask for half a gigabyte.
"""

from __future__ import annotations

from typing import Final, Protocol

from aiortc import rtcrtpreceiver
from aiortc.jitterbuffer import JitterFrame
from av.codec.context import CodecContext
from av.frame import Frame
from av.video.codeccontext import VideoCodecContext

from stream.media.reading.decoder_bounds import decoder_bound

__all__ = ["bound_decoders", "vp8_size"]

_GETTER: Final = "get_decoder"
_KEY_FRAME_START: Final = b"\x9d\x01\x2a"
_SIZE_BITS: Final = 0x3FFF


class _Decoder(Protocol):
    def decode(self, encoded_frame: JitterFrame) -> list[Frame]: ...


class _Bounded:
    """A decoder behind a look at the size that a coded picture claims.

    The VP8 library makes room before it looks at its own limit.
    """

    def __init__(self, inner: _Decoder, max_pixels: int) -> None:
        self._inner = inner
        self._max_pixels = max_pixels

    def decode(self, encoded_frame: JitterFrame) -> list[Frame]:
        """The frames; none where they are too large."""
        height, width = vp8_size(encoded_frame.data)
        if height * width > self._max_pixels:
            return []
        return self._inner.decode(encoded_frame)


def bound_decoders(max_pixels: int) -> None:
    """From here on no WebRTC decoder of this process decodes larger pictures; idempotent."""
    inner = getattr(rtcrtpreceiver, _GETTER, None)
    if inner is None:
        raise RuntimeError("the WebRTC library changed; its decoders cannot be bounded")
    if getattr(inner, "max_pixels", None) == max_pixels:
        return
    original = getattr(inner, "original", inner)

    def bounded(parameters: object) -> _Decoder:
        decoder: _Decoder = original(parameters)
        context: CodecContext | None = getattr(decoder, "codec", None)
        if not isinstance(context, VideoCodecContext):
            return decoder
        context.options = decoder_bound(max_pixels)
        return _Bounded(decoder, max_pixels)

    bounded.max_pixels, bounded.original = max_pixels, original  # type: ignore[attr-defined]
    setattr(rtcrtpreceiver, _GETTER, bounded)


def vp8_size(data: bytes) -> tuple[int, int]:
    r"""Height and width that a VP8 key frame claims (RFC 6386, section 9.1); else 0, 0.

    >>> vp8_size(bytes([0x10, 0, 0]) + b"\x9d\x01\x2a" + bytes([0x80, 2, 0x68, 1]))
    (360, 640)
    """
    if len(data) < 10 or data[0] & 1 or data[3:6] != _KEY_FRAME_START:
        return 0, 0
    width, height = (int.from_bytes(data[at : at + 2], "little") & _SIZE_BITS for at in (6, 8))
    return height, width
