"""Everything that can go wrong between a file, a camera or a socket and the pipeline.

KveilError                    any failure that kveil reports in one line
└── StreamError               a source, a sink or a hand-off between threads failed
    ├── UsageRefused          the request cannot be meant so (input = output)        (exit 2)
    ├── InputUnreadable       missing, empty, damaged beyond use, no video in it     (exit 3)
    ├── OutputNotWritable     no such folder, disk full, encoder refused             (exit 4)
    │   └── OutputExists      a file has that name and `overwrite` was not asked for (exit 4)
    ├── PrivacyRefused        `strict` was asked for and a promise was not kept      (exit 6)
    ├── Defect                kveil itself is at fault                               (exit 1)
    └── MailboxClosed         nothing more will be handed over: the sender is done
        └── MailboxCancelled  the hand-off was broken off; what was in it is gone

Foreign exceptions (PyAV, Pillow, the operating system) are mapped by `reading` and
`writing` alone.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from engines.errors import KveilError

__all__ = [
    "DEBUG",
    "Defect",
    "InputUnreadable",
    "MailboxCancelled",
    "MailboxClosed",
    "OutputExists",
    "OutputNotWritable",
    "PrivacyRefused",
    "StreamError",
    "UsageRefused",
    "reading",
    "writing",
]


DEBUG: Final = "KVEIL_DEBUG"
"""Variable under which what nobody foresaw ends with its traceback."""


class StreamError(KveilError):
    """A source, a sink or a hand-off between threads failed."""


class UsageRefused(StreamError):
    """The request cannot be meant so, such as an output that is its own input."""

    exit_code = 2


class InputUnreadable(StreamError):
    """The input is missing, empty, damaged beyond use, or holds no video."""

    exit_code = 3


class OutputNotWritable(StreamError):
    """The output cannot be written: folder, rights, space, or the encoder refused."""

    exit_code = 4


class OutputExists(OutputNotWritable):
    """A file has the output's name and overwriting was not asked for."""


class PrivacyRefused(StreamError):
    """`strict` was asked for, and a privacy promise could not be kept."""

    exit_code = 6


class Defect(StreamError):
    """What nobody foresaw: kveil itself is at fault."""

    exit_code = 1


class MailboxClosed(StreamError):
    """The sender closed the mailbox and everything in it was received."""


class MailboxCancelled(MailboxClosed):
    """One end broke the hand-off; a sink that meets this aborts instead of finishing."""


_ADVICE = {
    errno.ENOENT: "no such file; check the path",
    errno.EACCES: "permission denied; check the rights on the file and its folder",
    errno.EPERM: "permission denied; check the rights on the file and its folder",
    errno.ENOTDIR: "a file stands where its folder should be; choose another place",
    errno.EEXIST: "a file stands where its folder should be; choose another place",
    errno.EISDIR: "it is a folder; name a file",
    errno.ENOSPC: "the disk is full; free some space and run again",
    errno.EDQUOT: "the disk quota is used up; free some space and run again",
    errno.EROFS: "the disk is read-only; choose another place",
    errno.EFBIG: "the file would be larger than this disk or user may hold",
    errno.EMFILE: "too many files are open; close some or raise the limit (ulimit -n)",
    errno.ENAMETOOLONG: "the name is longer than this disk takes; choose a shorter one",
    errno.EINVAL: "this disk does not take such a name or file; choose another",
    errno.ELOOP: "its links lead in a circle; name the file itself",
    errno.EIO: "the disk or network share failed; check it and run again",
    errno.ESTALE: "the network share was lost; mount it again",
    errno.ETIMEDOUT: "the network share does not answer; check it and run again",
    errno.EHOSTDOWN: "the network share does not answer; check it and run again",
    errno.ENOTCONN: "the network share is not connected; mount it again",
    errno.EBUSY: "another program holds it; close that and run again",
    errno.ETXTBSY: "another program runs it; close that and run again",
    errno.ENOTSUP: "this disk cannot hold such a file; choose another place",
    errno.ENOLCK: "this disk has no locks; choose another place",
    errno.ENXIO: "it is a device or pipe that nobody serves; name a file",
    errno.ENODEV: "it is no file; name a file",
    errno.ENOMEM: "not enough memory for a picture of this size",
}


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turns whatever PyAV, Pillow or the system raises into `InputUnreadable`.

    Args:
        name: what is being read, for the message; a file's name, never a URL with a password.

    >>> with reading("clip.mp4"):
    ...     raise FileNotFoundError(2, "No such file or directory")
    Traceback (most recent call last):
    ...
    stream.errors.InputUnreadable: cannot read clip.mp4: no such file; check the path

    Raises:
        InputUnreadable: in place of any foreign exception.
    """
    try:
        yield
    except KveilError:
        raise
    except _foreign() as error:
        advice = (
            "it is damaged, or of a kind that is not read" if _is_damage(error) else _advice(error)
        )
        message = f"cannot read {name}: {advice}"
        raise InputUnreadable(message) from error


@contextmanager
def writing(name: str) -> Iterator[None]:
    """Turns whatever PyAV, Pillow or the system raises into `OutputNotWritable`.

    Args:
        name: what is being written, for the message.

    >>> with writing("out.mp4"):
    ...     raise OSError(28, "No space left on device")
    Traceback (most recent call last):
    ...
    stream.errors.OutputNotWritable: cannot write out.mp4: the disk is full; free some space and \
run again

    Raises:
        OutputNotWritable: in place of any foreign exception.
    """
    try:
        yield
    except KveilError:
        raise
    except _foreign() as error:
        message = f"cannot write {name}: {_advice(error)}"
        raise OutputNotWritable(message) from error


def _foreign() -> tuple[type[Exception], ...]:
    import av

    return (av.FFmpegError, OSError, ValueError, EOFError, MemoryError, SyntaxError)


def _is_damage(error: Exception) -> bool:
    """Whether a decoder or demuxer could make nothing of a file; its own words name paths."""
    import av
    from PIL import UnidentifiedImageError

    return isinstance(error, av.InvalidDataError | av.error.EOFError | UnidentifiedImageError)


def _advice(error: Exception) -> str:
    import av

    code = error.errno if isinstance(error, OSError) else None
    if code in _ADVICE:
        return _ADVICE[code]
    if isinstance(error, MemoryError):
        return _ADVICE[errno.ENOMEM]
    # The libraries' own texts name paths.
    text = (error.strerror if isinstance(error, OSError | av.FFmpegError) else None) or str(error)
    return " ".join(text.split()) or type(error).__name__
