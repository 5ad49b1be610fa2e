"""Whether a Matroska or WebM file is all there, by what its own head says.

Its last picture may be held for long: nothing but the length of the recording tells so, and that
must not be taken for a file that was cut off.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import BinaryIO, Final

__all__ = ["is_whole_matroska", "seconds_of_tag"]

_HEAD: Final = 0x1A45DFA3
_SEGMENT: Final = 0x18538067
_SIZE_BYTES: Final = 8
_ID_BYTES: Final = 4


def is_whole_matroska(path: Path) -> bool:
    """Whether the file is as long as its one segment says (RFC 8794, RFC 9559).

    False where it is cut off, was never finished, or is of another kind.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        head = _element(file)
        if head is None or head[0] != _HEAD or head[1] is None:
            return False
        file.seek(head[1], io.SEEK_CUR)
        segment = _element(file)
        if segment is None or segment[0] != _SEGMENT or segment[1] is None:
            return False
        return file.tell() + segment[1] <= size


def seconds_of_tag(text: str) -> float | None:
    """A length as writers note it for each track, s.

    >>> seconds_of_tag("00:01:07.966000000"), seconds_of_tag("soon")
    (67.966, None)
    """
    try:
        hours, minutes, seconds = (float(part) for part in text.strip("\0 ").split(":"))
    except ValueError:
        return None
    return 3600 * hours + 60 * minutes + seconds


def _element(file: BinaryIO) -> tuple[int, int | None] | None:
    """Id and size of the element that begins here; a size of None where it was left open."""
    name = _number(file, _ID_BYTES, is_id=True)
    size = _number(file, _SIZE_BYTES, is_id=False)
    if name is None or size is None:
        return None
    bits = 7 * size[1]
    return name[0], None if size[0] == (1 << bits) - 1 else size[0]


def _number(file: BinaryIO, most: int, *, is_id: bool) -> tuple[int, int] | None:
    """A number of variable length, and its bytes; ids keep the mark that tells their length."""
    first = file.read(1)
    if not first or not first[0]:
        return None
    length = 9 - first[0].bit_length()
    rest = file.read(length - 1)
    if length > most or len(rest) < length - 1:
        return None
    kept = first[0] if is_id else first[0] & ((1 << (8 - length)) - 1)
    return int.from_bytes(bytes([kept]) + rest, "big"), length
