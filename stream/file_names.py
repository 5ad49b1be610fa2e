"""Names of files: such as fit a file system, and such as can be shown and written as text."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final

__all__ = ["name_beside", "real_place", "shown", "text_of"]

_LONGEST: Final = 255
"""Bytes that a name may have on common file systems."""
_DIGEST_DIGITS: Final = 16


def name_beside(final: Path, ending: str) -> Path:
    """The file's own name with a further ending, shortened where it would be too long.

    The short form keeps the beginning and adds a digest, so that two long names differ.

    >>> name_beside(Path("a/out.mp4"), ".partial").name
    'out.mp4.partial'
    >>> len(name_beside(Path("x" * 250), ".partial").name)
    255
    """
    raw = os.fsencode(final.name)
    room = _longest_name(final.parent) - len(ending)
    if len(raw) > room:
        mark = "~" + hashlib.sha256(raw).hexdigest()[:_DIGEST_DIGITS]
        raw = raw[: room - len(mark)].decode("utf-8", "ignore").encode() + mark.encode()
    return final.with_name(os.fsdecode(raw) + ending)


def real_place(path: Path) -> Path:
    """Where a path leads, whether or not anything is there; of links in a circle the path itself.

    `Path.resolve` fails on those.
    """
    return Path(os.path.realpath(path))


def text_of(name: str) -> str:
    r"""A name as valid Unicode: bytes that are none are written as `\xe9`.

    >>> text_of("caf\udce9.mp4")
    'caf\\xe9.mp4'
    """
    raw = name.encode("utf-8", "surrogateescape" if _is_from_bytes(name) else "surrogatepass")
    return raw.decode("utf-8", "backslashreplace")


def shown(text: str) -> str:
    r"""Text for a terminal: a name in it can neither begin a line nor steer the terminal.

    >>> shown("a\x1b[2Jb\nc")
    'a\\x1b[2Jb\\nc'
    """
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode()
        for sign in text_of(text)
    )


def _is_from_bytes(name: str) -> bool:
    """Whether every lone surrogate stands for a byte of a file name (PEP 383)."""
    return all("\udc80" <= sign <= "\udcff" for sign in name if "\ud800" <= sign <= "\udfff")


def _longest_name(folder: Path) -> int:
    try:
        return os.pathconf(folder, "PC_NAME_MAX")
    except (OSError, ValueError):
        return _LONGEST
