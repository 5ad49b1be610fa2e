"""Cuts an encoded stream into fragmented MP4, one fragment for each picture."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

from stream.live.live_encoder import EncodedPicture
from stream.live.packet_muxer import PacketMuxer

__all__ = ["Fragment", "PartCutter", "boxes_of"]

_HEAD: Final = 8
_INITIAL: Final = (b"ftyp", b"moov")
_OPTIONS: Final = {
    "movflags": "frag_every_frame+empty_moov+default_base_moof+skip_trailer",
    "flush_packets": "1",
}


@dataclass(frozen=True, slots=True)
class Fragment:
    """One picture as MP4.

    Attributes:
        data: a `moof` box and its `mdat`.
        pts: time in units of 1/90000 s.
        duration: until the next picture, in the same units.
        is_key: can be decoded without what went before.
    """

    data: bytes
    pts: int
    duration: int
    is_key: bool


class PartCutter:
    """Gives fragments of what an encoder gives, each when the next picture tells its length.

    `initial` holds what a player needs before the first fragment; empty until the first key
    frame has come.
    """

    def __init__(self) -> None:
        self.initial = b""
        self._written = _Written()
        self._muxer = PacketMuxer(self._written, "mp4", _OPTIONS)
        self._pending = b""
        self._whole = b""
        self._waiting: deque[tuple[int, bool]] = deque()

    def cut(self, picture: EncodedPicture) -> list[Fragment]:
        """Takes the next picture; gives the fragments that are complete by now."""
        self._muxer.write(picture.data, picture.pts, picture.is_key)
        if not self._muxer.is_open:
            return []
        self._waiting.append((picture.pts, picture.is_key))
        fragments = []
        for data in self._fragments():
            pts, is_key = self._waiting.popleft()
            duration = self._waiting[0][0] - pts
            fragments.append(Fragment(data, pts, duration, is_key))
        return fragments

    def close(self) -> None:
        """Ends the muxer; idempotent."""
        self._muxer.discard()

    def _fragments(self) -> list[bytes]:
        boxes, self._pending = boxes_of(self._pending + self._written.take())
        found = []
        for kind, box in boxes:
            if kind in _INITIAL:
                self.initial += box
                continue
            self._whole += box
            if kind == b"mdat":
                found.append(self._whole)
                self._whole = b""
        return found


class _Written:
    """A file that is only written, and emptied by `take`."""

    def __init__(self) -> None:
        self.name = "parts"
        self._bytes = bytearray()

    def write(self, data: bytes) -> int:
        """Keeps bytes until they are taken."""
        self._bytes += data
        return len(data)

    def take(self) -> bytes:
        """What was written since."""
        taken = bytes(self._bytes)
        self._bytes.clear()
        return taken


def boxes_of(data: bytes) -> tuple[list[tuple[bytes, bytes]], bytes]:
    """Splits MP4 into its outermost boxes; gives kind and bytes of each, and the rest.

    >>> boxes, rest = boxes_of(bytes([0, 0, 0, 9]) + b"free!" + b"moo")
    >>> [kind for kind, _ in boxes], rest
    ([b'free'], b'moo')
    """
    boxes, place = [], 0
    while len(data) - place >= _HEAD:
        size = int.from_bytes(data[place : place + 4], "big")
        if size < _HEAD or place + size > len(data):
            break
        boxes.append((data[place + 4 : place + 8], data[place : place + size]))
        place += size
    return boxes, data[place:]
