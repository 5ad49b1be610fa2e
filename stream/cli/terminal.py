"""What is printed: to a terminal that may be closed, a pipe that may break, a disk that is full.

What is said on stderr is a courtesy: where nobody can take it, the work goes on. What is
printed on stdout was asked for: where it cannot be written, the command fails.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import TYPE_CHECKING, Final

from stream.errors import OutputNotWritable
from stream.file_names import shown

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = ["prepare_standard_streams", "say"]

_STDIN: Final = 0
_STDOUT: Final = 1
_STDERR: Final = 2


class _Stdout(io.FileIO):
    """Standard output whose faults are told as such, whatever was printing."""

    def write(self, data: ReadableBuffer, /) -> int:
        """Writes what the system takes.

        Raises:
            OutputNotWritable: it takes nothing, such as a full disk.
            BrokenPipeError: whoever read it has gone.
        """
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            reason = (error.strerror or "it failed").lower()
            if error.errno == errno.ENOSPC:
                reason = "the disk is full; free some space and run again"
            raise OutputNotWritable(f"cannot write to stdout: {reason}") from error


class _Stderr(io.FileIO):
    """Standard error that takes everything; what nobody can take is lost."""

    def write(self, data: ReadableBuffer, /) -> int:
        """Writes what the system takes; never fails."""
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


def prepare_standard_streams() -> None:
    """Makes stdout and stderr behave as this module says, also where they are closed.

    A closed descriptor is given the null device: else the next file that is opened takes its
    number, and the messages of libraries end in that file.
    """
    for number in (_STDIN, _STDOUT, _STDERR):
        _fill(number)
    sys.stdout = _text_on(_Stdout(_STDOUT, "w", closefd=False))
    sys.stderr = _text_on(_Stderr(_STDERR, "w", closefd=False))


def say(line: str) -> None:
    """One line on stderr; names in it cannot steer the terminal."""
    sys.stderr.write(shown(line) + "\n")
    sys.stderr.flush()


def _fill(number: int) -> None:
    try:
        os.fstat(number)
    except OSError:
        opened = os.open(os.devnull, os.O_RDWR)
        if opened != number:
            os.dup2(opened, number)
            os.close(opened)


def _text_on(raw: io.FileIO) -> io.TextIOWrapper:
    """Text that is written line by line; names that are no Unicode are written escaped."""
    buffered = io.BufferedWriter(raw)
    return io.TextIOWrapper(
        buffered, encoding="utf-8", errors="backslashreplace", line_buffering=True
    )
