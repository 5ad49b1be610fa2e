"""Keeps what is in memory, original faces among it, out of files that the system writes of it.

A core dump of a process that crashes holds every picture it was at work on, and may lie for years
where nobody looks for it or be sent to a maker. So no such file is written of kveil, and on Linux
no other process of the same user may read its memory either.
"""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress
from typing import Final

__all__ = ["forbid_memory_dumps"]

_PR_SET_DUMPABLE: Final = 4


def forbid_memory_dumps() -> None:
    """For this process, and the limit for those that it starts; does what the system offers."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
