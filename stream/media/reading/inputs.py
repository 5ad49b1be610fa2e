"""What may be read as a recording: regular files, which can be read twice and have an end."""

from __future__ import annotations

import os
import stat
from io import BufferedReader
from pathlib import Path

from stream.errors import UsageRefused, reading

__all__ = ["is_pipe_or_device", "not_a_file", "opened_file"]


def is_pipe_or_device(path: Path) -> bool:
    """Whether something is there that is neither a file nor a folder; links are followed."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def not_a_file(name: str) -> str:
    """What is said of an input that is a pipe, a device or a socket."""
    return (
        f"cannot read {name}: it is no regular file, and recordings are read twice (pictures, "
        "then sound); save it to a file first"
    )


def opened_file(path: Path) -> BufferedReader:
    """Opens a regular file; never waits for the other end of a pipe.

    Raises:
        InputUnreadable: it is missing, or there are no rights.
        UsageRefused: it is a pipe, a device or a socket.
    """
    with reading(path.name):
        if is_pipe_or_device(path):
            raise UsageRefused(not_a_file(path.name))
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise UsageRefused(not_a_file(path.name))
        return os.fdopen(handle, "rb")
