"""Proof that an encoder works here: it opens, or what it codes can be decoded."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

import av
from av.codec.context import CodecContext
from av.packet import Packet
from av.video.codeccontext import VideoCodecContext
from av.video.stream import VideoStream

__all__ = ["Coding", "encodes", "known_formats", "passes_live_test", "passes_test_encode"]

os.environ.setdefault("SVT_LOG", "1")

_TEST_PICTURES: Final = 5
_KEY_AT: Final = 3
_INTRA, _DELTA = 1, 0


@dataclass(frozen=True, slots=True)
class Coding:
    """An encoder and what it is to code.

    Attributes:
        name: of the encoder.
        pixel_format: in its own spelling.
        width: of the pictures, px.
        height: likewise.
        options: of the encoder.
        rate: pictures a second.
    """

    name: str
    pixel_format: str
    width: int
    height: int
    options: tuple[tuple[str, str], ...] = ()
    rate: Fraction = Fraction(25)


@lru_cache(maxsize=64)
def known_formats(name: str) -> tuple[str, ...]:
    """Pixel formats that an encoder takes; none where it is not built in."""
    try:
        codec = av.Codec(name, "w")
    except (ValueError, av.FFmpegError):
        return ()
    return tuple(form.name for form in codec.video_formats or ())


@lru_cache(maxsize=256)
def encodes(coding: Coding) -> bool:
    """Whether an encoder opens for such pictures.

    >>> [encodes(Coding("libx264", "yuv420p", width, 48)) for width in (64, 33)]
    [True, False]
    """
    try:
        _opened(coding)
    except (av.FFmpegError, ValueError):
        return False
    return True


def _opened(coding: Coding) -> VideoCodecContext:
    context = CodecContext.create(coding.name, "w")
    assert isinstance(context, VideoCodecContext)
    context.width, context.height = coding.width, coding.height
    context.pix_fmt = coding.pixel_format
    context.time_base, context.framerate = 1 / coding.rate, coding.rate
    context.options = dict(coding.options)
    context.thread_count = 1
    context.open()
    return context


@lru_cache(maxsize=64)
def passes_test_encode(coding: Coding) -> bool:
    """Whether pictures coded by it here and now can be decoded again, all of them."""
    try:
        context = _opened(coding)
        packets = []
        for pts in range(_TEST_PICTURES):
            packets += context.encode(_test_picture(coding, pts))
        packets += context.encode(None)
        return _gives(coding, _TEST_PICTURES, packets, context.extradata)
    except (av.FFmpegError, ValueError, NotImplementedError):
        return False


@lru_cache(maxsize=64)
def passes_live_test(coding: Coding) -> bool:
    """Whether an encoder gives each picture at once, and key frames that need nothing before.

    What joins a live stream begins at a key frame that was asked for, without any header from
    elsewhere. So such a frame must come when it is asked for, and a decoder that knows nothing
    must take it and what follows.

    >>> from dataclasses import replace
    >>> slow = Coding("libx264", "yuv420p", 64, 48)
    >>> quick = replace(slow, options=(("tune", "zerolatency"), ("forced-idr", "1")))
    >>> passes_live_test(slow), passes_live_test(quick)
    (False, True)
    """
    try:
        context = _opened(coding)
        packets = []
        for pts in range(_TEST_PICTURES):
            frame = _test_picture(coding, pts)
            frame.pict_type = _INTRA if pts in (0, _KEY_AT) else _DELTA
            packets += context.encode(frame)
        told = [(packet.pts, packet.is_keyframe) for packet in packets]
        if told != [(pts, pts in (0, _KEY_AT)) for pts in range(_TEST_PICTURES)]:
            return False
        return _gives(coding, _TEST_PICTURES - _KEY_AT, packets[_KEY_AT:])
    except (av.FFmpegError, ValueError, NotImplementedError):
        return False


def _test_picture(coding: Coding, pts: int) -> av.VideoFrame:
    frame = av.VideoFrame(coding.width, coding.height, coding.pixel_format)
    for plane in frame.planes:
        plane.update(bytes([96 + pts]) * plane.buffer_size)
    frame.pts, frame.time_base = pts, 1 / coding.rate
    return frame


def _gives(
    coding: Coding,
    pictures: int,
    packets: Sequence[Packet[VideoStream]],
    extradata: bytes | None = None,
) -> bool:
    """Whether a decoder makes so many pictures of the right size of these packets."""
    decoder = CodecContext.create(av.Codec(coding.name, "w").canonical_name, "r")
    assert isinstance(decoder, VideoCodecContext)
    decoder.extradata = extradata
    images = [image for packet in packets for image in decoder.decode(packet)]
    images += decoder.decode(None)
    size = (coding.width, coding.height)
    return [(image.width, image.height) for image in images] == [size] * pictures
