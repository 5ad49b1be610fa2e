"""One encode per codec and rate of a stream, fanned out to every output that takes it.

Outputs run on threads of their own and fall behind on their own. Whoever comes first to a picture
encodes it; the others get the same bytes. An output that left pictures out gets what it missed,
from the newest key frame on, so that no picture lacks its reference; one that was away for longer
waits for the next key frame, which it asks for.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Protocol

from engines.compositor import Composite
from stream.live.live_encoder import EncodedPicture, EncoderOptions, LiveCodec, LiveEncoder

__all__ = ["EncoderShares", "Encoding", "MakeEncoding", "SharedEncoding"]

_KEPT: Final = 64
"""Composites whose pictures are kept for outputs that are behind; more cost memory."""


class Encoding(Protocol):
    """Encoded pictures of a stream as one output gets them."""

    def encode(self, composite: Composite) -> list[EncodedPicture]:
        """The pictures up to this composite that were not given before."""

    def want_key(self) -> None:
        """A key frame comes soon; callable from any thread."""


MakeEncoding = Callable[[], Encoding]
"""Begins an output's encoding, with a key frame; once per connection."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """The pictures of one composite, and its place among all that were encoded."""

    number: int
    time_s: Fraction
    pictures: tuple[EncodedPicture, ...]

    @property
    def is_key(self) -> bool:
        return any(picture.is_key for picture in self.pictures)


class _Share:
    """One encoder and what it gave of late; its lock is held for the length of one encode.

    Args:
        options: of the encoder.
        codec: which one.
        mark: bytes before H.264 key frames.
    """

    def __init__(self, options: EncoderOptions, codec: LiveCodec, mark: bytes) -> None:
        self._options, self._codec, self._mark = options, codec, mark
        self._lock = threading.Lock()
        self._encoder: LiveEncoder | None = None
        self._size = (0, 0)
        self._is_key_wanted = False
        self._kept: deque[_Kept] = deque(maxlen=_KEPT)
        self._count = 0

    @property
    def newest(self) -> int:
        """Place of the newest picture; what an output begins after."""
        return self._count

    def want_key(self) -> None:
        """The next picture becomes a key frame."""
        self._is_key_wanted = True

    def up_to(self, composite: Composite, after: int) -> list[_Kept]:
        """What was encoded after a place, up to a composite, which is encoded now if need be."""
        time_s = composite.pts * composite.time_base
        with self._lock:
            if not self._kept or self._kept[-1].time_s < time_s:
                self._encode(composite, time_s)
            return [kept for kept in self._kept if kept.number > after and kept.time_s <= time_s]

    def _encode(self, composite: Composite, time_s: Fraction) -> None:
        picture = composite.picture
        size = (picture.height, picture.width)
        # Browsers follow a new size of VP8; whatever is written into a file keeps its first.
        if self._encoder is None or (self._codec == "vp8" and size != self._size):
            self._encoder = LiveEncoder(self._options, self._codec, self._mark)
        self._size = size
        if self._is_key_wanted:
            self._is_key_wanted = False
            self._encoder.want_key()
        try:
            pictures = tuple(self._encoder.encode(composite))
        except BaseException:  # a fresh encoder takes over, with a key frame
            self._encoder = None
            raise
        self._count += 1
        self._kept.append(_Kept(self._count, time_s, pictures))


class SharedEncoding:
    """One output's view of an encoder that it shares; not for several threads at once.

    Args:
        share: the encoder.
    """

    def __init__(self, share: _Share) -> None:
        self._share = share
        self._last = share.newest
        self._needs_key = True
        share.want_key()

    def encode(self, composite: Composite) -> list[EncodedPicture]:
        """The pictures up to this composite that were not given before, none without reference.

        Raises:
            av.FFmpegError: the encoder failed; a fresh one takes over.
        """
        found = self._share.up_to(composite, self._last)
        if not found:
            return []
        self._needs_key = self._needs_key or found[0].number != self._last + 1
        keys = [place for place, kept in enumerate(found) if kept.is_key]
        if keys and (self._needs_key or len(found) > 1):
            found = found[keys[-1] :]
            self._needs_key = False
        self._last = found[-1].number
        if self._needs_key:
            self._share.want_key()
            return []
        return [picture for kept in found for picture in kept.pictures]

    def want_key(self) -> None:
        """A key frame comes soon; callable from any thread."""
        self._share.want_key()


class EncoderShares:
    """The encoders of one stream, each made at its first use.

    Args:
        mark: bytes to put before every H.264 key frame; empty for none.
    """

    def __init__(self, mark: bytes = b"") -> None:
        self._mark = mark
        self._lock = threading.Lock()
        self._shares: dict[tuple[LiveCodec, EncoderOptions], _Share] = {}

    def begin(self, options: EncoderOptions, codec: LiveCodec) -> SharedEncoding:
        """An output's encoding, which begins with a key frame."""
        with self._lock:
            key = (codec, options)
            share = self._shares.get(key)
            if share is None:
                share = self._shares[key] = _Share(options, codec, self._mark)
        return SharedEncoding(share)
