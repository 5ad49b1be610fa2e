"""Bounds on pictures that hold before a decoder makes room for them, while a file is opened too.

To learn what an input holds, the library opens it and decodes its first pictures by itself. The
options given at the opening reach the tracks that are known by then. FLV, MPEG programs and RTMP
streams make theirs known later, and decoders of those would take pictures of any size.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import av

__all__ = ["MAX_PIXELS", "decoder_bound", "unseen_at_opening"]

MAX_PIXELS: Final = 1 << 27
"""Largest recorded picture that is decoded, px; 16K UHD (15360 × 8640) passes."""

_RIM_PIXELS: Final = 1 << 16
_SIZED_BY_DECODER: Final = "mjpeg"
"""The coding of cameras whose size only a decoder finds out, so that opening would take seconds;
its track is always known at the opening."""


def decoder_bound(max_pixels: int) -> dict[str, str]:
    """Options under which a decoder makes no room for pictures that are much larger than this.

    Decoders round sizes up and need a rim, so that the exact limit is for others to hold.

    >>> decoder_bound(1 << 20)
    {'max_pixels': '1245184'}
    """
    return {"max_pixels": str(max_pixels + max_pixels // 8 + _RIM_PIXELS)}


@cache
def unseen_at_opening() -> dict[str, str]:
    """Options of a container under which no picture is decoded while it is opened.

    Sizes and rates are found by parsing all the same; sample format and pixel shape are not,
    unless the container tells them. Sound is decoded.
    """
    return {"codec_whitelist": ",".join([*_sound_decoders(), _SIZED_BY_DECODER])}


def _sound_decoders() -> list[str]:
    names = []
    for name in sorted(av.codecs_available):
        try:
            codec = av.Codec(name, "r")
        except ValueError:  # it only encodes
            continue
        if codec.type == "audio":
            names.append(name)
    return names
