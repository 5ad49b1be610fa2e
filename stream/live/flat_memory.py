"""Keeps the C library from hoarding memory in a process whose threads come and go."""

from __future__ import annotations

import ctypes
from typing import Final

__all__ = ["keep_memory_flat"]

_ARENA_MAX: Final = -8
_MMAP_THRESHOLD: Final = -3
_TRIM_THRESHOLD: Final = -1
_ARENAS: Final = 2
_MMAP_BYTES: Final = 131_072


def keep_memory_flat() -> bool:
    """Gives pictures memory of their own, which goes back to the system when they do.

    By default glibc keeps an arena per thread and, once pictures have been freed, takes later
    ones from these arenas too, where they leave holes: the resident size of a service then
    creeps up with every stream that is restarted, although nothing leaks.

    Returns:
        Whether the C library took the settings; others than glibc do not.

    >>> isinstance(keep_memory_flat(), bool)
    True
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False
    wanted = (
        (_ARENA_MAX, _ARENAS),
        (_MMAP_THRESHOLD, _MMAP_BYTES),
        (_TRIM_THRESHOLD, _MMAP_BYTES),
    )
    taken = [int(mallopt(key, value)) for key, value in wanted]
    return taken == [1] * len(wanted)
