"""Settings of the C library's allocator for pictures that come and go thirty times a second.

By default glibc gives large blocks back to the system when they are freed and fetches fresh pages
for the next picture, every page of which is then cleared and mapped again. Where memory has not
grown yet by other work, that is up to half of the time in which one face is blended.
"""

from __future__ import annotations

import ctypes
from typing import Final

__all__ = ["give_memory_back", "keep_memory_flat", "keep_memory_warm"]

_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
_ARENA_MAX: Final = -8
_MEBIBYTE: Final = 1 << 20
_WARM: Final = (
    (_ARENA_MAX, 2),
    (_MMAP_THRESHOLD, 32 * _MEBIBYTE),
    (_TRIM_THRESHOLD, 256 * _MEBIBYTE),
)
_FLAT: Final = (
    (_ARENA_MAX, 2),
    (_MMAP_THRESHOLD, _MEBIBYTE),
    (_TRIM_THRESHOLD, 4 * _MEBIBYTE),
)


def keep_memory_warm() -> bool:
    """Keeps what is freed for the next picture; for a process that works and ends.

    Returns:
        Whether the C library took the settings; others than glibc do not.

    >>> isinstance(keep_memory_warm(), bool)
    True
    """
    return _are_taken(_WARM)


def keep_memory_flat() -> bool:
    """Gives pictures memory of their own, which goes back to the system when they do.

    For a service whose threads come and go.

    By default glibc keeps an arena per thread and, once pictures have been freed, takes later
    ones from these arenas too, where they leave holes: the resident size of a service then
    creeps up with every stream that is restarted, although nothing leaks. Fresh pages cost
    time, so what is smaller than a mebibyte stays; `python -m benchmarks.soak --method swap`
    says whether anything grows (with blocks of 4 MiB it was 5 MB in ten minutes, 1 allowed).

    Returns:
        Whether the C library took the settings; others than glibc do not.

    >>> isinstance(keep_memory_flat(), bool)
    True
    """
    return _are_taken(_FLAT)


def give_memory_back() -> bool:
    """Gives the system what is free in the heap at this moment.

    Reading and compiling networks needs much that nobody needs afterwards.

    Returns:
        Whether the C library can; others than glibc cannot.

    >>> isinstance(give_memory_back(), bool)
    True
    """
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError):
        return False
    trim(0)
    return True


def _are_taken(settings: tuple[tuple[int, int], ...]) -> bool:
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False
    taken = [int(mallopt(key, value)) for key, value in settings]
    return taken == [1] * len(settings)
