"""Files that a runtime maps into memory, whose pages it has read and needs no more."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Final

__all__ = ["page_out"]

_PAGE_OUT: Final = 21
"""MADV_PAGEOUT of Linux 5.4 and later: pages leave memory and are read again where they are used.
Unlike other advice it loses nothing, whatever may lie at that place by now."""
_MAPPINGS: Final = Path("/proc/self/maps")


def page_out(folder: Path) -> None:
    """Takes the pages of a folder's mapped files out of the process's memory.

    What is mapped stays mapped. Systems other than Linux keep the pages.

    Args:
        folder: whose files are meant, those in folders below it included.
    """
    try:
        advise = ctypes.CDLL(None).madvise
        advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        for start, length in _mapped(f"{folder.resolve()}/"):
            advise(start, length, _PAGE_OUT)
    except (AttributeError, OSError):
        return


def _mapped(folder: str) -> Iterator[tuple[int, int]]:
    """Address and length of the process's mappings of files in a folder."""
    for line in _MAPPINGS.read_text(errors="replace").splitlines():
        place, *_, name = line.split(maxsplit=5)
        if name.startswith(folder):
            start, end = (int(one, 16) for one in place.split("-"))
            yield start, end - start
