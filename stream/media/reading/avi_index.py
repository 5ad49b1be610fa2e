"""Whether the index at the end of an AVI leads to its pictures.

The library believes an index. Where a repair or a cut has left a wrong one, it finds a few pictures
and stops; without an index it reads one chunk after the other, and finds them all.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO, Final

__all__ = ["end_before_wrong_index"]

_ENTRY_BYTES: Final = 16
_MOST_ENTRIES: Final = 1 << 20
_LOOKED_AT: Final = 32
"""Entries that are compared with what stands in the file, spread over all of them."""


def end_before_wrong_index(path: Path) -> int | None:
    """Where an AVI's media end, bytes, if the index behind them is wrong; else None."""
    with path.open("rb") as file:
        head = file.read(12)
        if head[:4] != b"RIFF" or head[8:] != b"AVI ":
            return None
        media = _chunk(file, b"LIST", b"movi")
        if media is None:
            return None
        index = _chunk(file, b"idx1")
        if index is None or index[1] > _MOST_ENTRIES * _ENTRY_BYTES:
            return None
        file.seek(index[0])
        entries = file.read(index[1])
        starts = range(0, len(entries) - _ENTRY_BYTES + 1, _ENTRY_BYTES)
        seen = [entries[at : at + _ENTRY_BYTES] for at in starts[:: len(starts) // _LOOKED_AT + 1]]
        # Offsets count from the list's name or from the file's start.
        is_right = any(all(_leads(file, entry, base) for entry in seen) for base in (media[0], 0))
        return None if is_right else index[0] - 8


def _chunk(file: BinaryIO, name: bytes, kind: bytes = b"") -> tuple[int, int] | None:
    """Start and length of the content of the next chunk of this name; the file is behind it."""
    while len(head := file.read(8)) == 8:
        (size,) = struct.unpack("<I", head[4:])
        start = file.tell()
        is_it = head[:4] == name and file.read(len(kind)) == kind
        file.seek(start + size + size % 2)
        if is_it:
            return start, size
    return None


def _leads(file: BinaryIO, entry: bytes, base: int) -> bool:
    """Whether a chunk of the entry's name and length stands where it says."""
    (offset,) = struct.unpack("<I", entry[8:12])
    file.seek(base + offset)
    return file.read(8) == entry[:4] + entry[12:]
