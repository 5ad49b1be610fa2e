"""Lets OpenCV and OpenBLAS compute on the thread that calls them.

What is painted is small. By sharing it among threads they save less than they lose by waking them,
and those that have nothing to do wait in loops that keep the processor busy, which networks and
codecs could use. Their threads change no result.
"""

from __future__ import annotations

import os
from typing import Final

__all__ = ["keep_arrays_on_one_thread"]

_COUNTS: Final = ("OPENCV_FOR_THREADS_NUM", "OPENBLAS_NUM_THREADS")
"""Variables that both read when they are imported."""


def keep_arrays_on_one_thread() -> None:
    """For this process, before it imports them, and for those that it starts.

    What the environment says already stays.
    """
    for name in _COUNTS:
        os.environ.setdefault(name, "1")
