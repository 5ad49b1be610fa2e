"""Output under a temporary name beside the final one; the final name appears complete."""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from engines.durable import sync_file, sync_folder
from stream.errors import OutputExists, OutputNotWritable, UsageRefused, writing
from stream.file_names import name_beside
from stream.media.reading.inputs import is_pipe_or_device

__all__ = [
    "PartialFile",
    "checked_output",
    "checked_place",
    "is_same_file",
    "lock",
    "made_folder",
    "partial_name",
    "place_behind_links",
    "refuse_pipe",
]

_BUSY: Final = frozenset({errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES})
"""What `flock` answers where another run holds the lock; all else says that there are no locks."""
_MOST_TRIES: Final = 20
"""Attempts at a new file before it is told that the place keeps none."""


def partial_name(final: Path) -> Path:
    """The name under which `final` is written until it is complete.

    >>> partial_name(Path("a/out.mp4")).name
    'out.mp4.partial'
    """
    return name_beside(final, ".partial")


def place_behind_links(final: Path) -> Path:
    """Where an output really lies: behind a link its target is replaced, never the link.

    Replacing the link alone would leave what it leads to, perhaps a clear original, as it was.

    Raises:
        OutputNotWritable: links lead in a circle.
    """
    if not final.is_symlink():
        return final
    try:
        return final.resolve(strict=False)
    except (OSError, RuntimeError) as error:
        message = f"cannot write {final.name}: its links lead in a circle; name another output"
        raise OutputNotWritable(message) from error


def is_same_file(one: Path, other: Path) -> bool:
    """Whether two names, links among them, are of one file that is there."""
    return one.exists() and other.exists() and one.samefile(other)


def checked_output(final: Path, source: Path, *, overwrite: bool) -> None:
    """Refuses an output that would destroy something or cannot be made.

    Raises:
        UsageRefused: the output is the input, by whatever name.
        OutputExists: it exists and `overwrite` is false.
        OutputNotWritable: it is a folder, or its folder is missing or read-only.
    """
    with writing(final.name):
        if is_same_file(final, source):
            raise UsageRefused(
                f"{final.name} is the input itself; name another output, the input is never changed"
            )
        if final.exists() and not final.is_dir() and not overwrite:
            raise OutputExists(f"{final.name} exists; pass --overwrite or name another output")
        checked_place(final)


def checked_place(final: Path) -> None:
    """Refuses a file's name where no file can be made.

    Raises:
        UsageRefused: it is a pipe, a device or a socket.
        OutputNotWritable: it is a folder, or its folder is missing or read-only.
    """
    refuse_pipe(final)
    final = place_behind_links(final)
    if final.is_dir():
        raise OutputNotWritable(f"cannot write {final.name}: it is a folder; name a file")
    folder = final.absolute().parent
    if not folder.is_dir():
        raise OutputNotWritable(
            f"cannot write {final.name}: its folder does not exist; make it first"
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputNotWritable(
            f"cannot write {final.name}: permission denied; check the rights on its folder"
        )


def refuse_pipe(final: Path) -> None:
    """Refuses a name under which no file can appear.

    Raises:
        UsageRefused: it is a pipe, a device or a socket.
    """
    if final.name == "-" or is_pipe_or_device(final):
        raise UsageRefused(
            f"cannot write {final.name}: outputs are files that appear when they are complete, "
            "never pipes or devices; name a file"
        )


def made_folder(folder: Path) -> None:
    """Makes a folder and those above it, if they are not there.

    Raises:
        OutputNotWritable: it cannot be made.
    """
    with writing(folder.name):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except FileNotFoundError as error:  # of a file system that makes no folders
            message = f"cannot make the folder {folder.name} there; choose another place"
            raise OutputNotWritable(message) from error


def lock(handle: int, name: str) -> None:
    """Keeps other runs away from an open file for as long as the handle is open.

    The handle must be open for writing: network file systems lock no other. Where a file system
    has no locks at all, nothing is locked.

    Raises:
        OutputNotWritable: another run holds it.
    """
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in _BUSY:
            return
        message = f"cannot write {name}: another run is at work on it; wait for it to end"
        raise OutputNotWritable(message) from error


class PartialFile:
    """A file on its way to its final name, which one run at a time writes to.

    Args:
        final: the name it gets when complete.
        source: the input, which it must not be.
        overwrite: replace an existing file of that name.

    Raises:
        StreamError: as `checked_output` says.
    """

    def __init__(self, final: Path, source: Path, *, overwrite: bool) -> None:
        checked_output(final, source, overwrite=overwrite)
        self.final = final
        self._place = place_behind_links(final)
        self.path = partial_name(self._place)
        self._overwrite = overwrite
        with writing(final.name):
            self._lock = _claimed(self.path, final.name)

    def publish(self) -> None:
        """Makes the content durable, then gives it the final name in one step.

        Raises:
            OutputExists: another program made a file of that name meanwhile.
            OutputNotWritable: the disk refused, or another run took the file's place.
        """
        with writing(self.final.name):
            sync_file(self.path)
            if self._place.exists() and not self._overwrite:
                raise OutputExists(f"{self.final.name} appeared meanwhile; name another output")
            if not self._is_ours():
                raise OutputNotWritable(
                    f"cannot write {self.final.name}: another run took its place; run again"
                )
            self.path.replace(self._place)
            self._release()
        with suppress(OSError):  # the file is complete and has its name, whatever the disk says
            sync_folder(self._place.absolute().parent)

    def discard(self) -> None:
        """Removes what was written; idempotent."""
        if self._lock >= 0:
            if self._is_ours():
                self.path.unlink(missing_ok=True)
            self._release()

    def _is_ours(self) -> bool:
        """Whether the file under the temporary name is still the one that was made for it.

        Without locks another run may have taken it for a leftover.
        """
        try:
            return os.path.samestat(os.fstat(self._lock), self.path.lstat())
        except FileNotFoundError:
            return False

    def _release(self) -> None:
        handle, self._lock = self._lock, -1
        os.close(handle)


def _claimed(path: Path, name: str) -> int:
    """Makes a new file that no other run writes to: the handle that holds its lock.

    A leftover of a crash, or a link planted there, is not written through.

    Raises:
        OutputNotWritable: another run is writing it, or no file stays there.
    """
    for _ in range(_MOST_TRIES):
        try:
            handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        except FileExistsError:
            _clear(path, name)
            continue
        if _is_locked_at(path, name, handle):
            return handle
    raise OutputNotWritable(f"cannot write {name}: a new file does not stay in its folder")


def _clear(path: Path, name: str) -> None:
    """Removes what lies at a path, unless another run is writing it."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:  # a link, or a file of somebody else's
        path.unlink(missing_ok=True)
        return
    if _is_locked_at(path, name, handle):
        path.unlink(missing_ok=True)
        os.close(handle)


def _is_locked_at(path: Path, name: str, handle: int) -> bool:
    """Locks an open file; false, and it is closed, if it does not lie at the path any more.

    Raises:
        OutputNotWritable: another run holds it; it is closed.
    """
    is_kept = False
    try:
        lock(handle, name)
        is_kept = os.path.samestat(os.fstat(handle), path.lstat())
    except FileNotFoundError:
        pass
    finally:
        if not is_kept:
            os.close(handle)
    return is_kept
