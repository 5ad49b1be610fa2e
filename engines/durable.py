"""Makes files and folders durable on every file system, also on those that cannot promise it."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final

__all__ = ["sync_file", "sync_folder", "sync_handle"]

_CANNOT: Final = frozenset(
    {
        errno.EINVAL,
        errno.ENOSYS,
        errno.ENOTSUP,
        errno.EOPNOTSUPP,
        errno.EBADF,
        errno.EACCES,
        errno.EPERM,
        errno.EISDIR,
    }
)
"""What file systems answer that do not sync such a thing; no data is lost by it."""


def sync_file(path: Path) -> None:
    """Waits until a file's content is on the disk, where the file system can tell.

    The file is opened for writing, since some file systems sync no handle that only reads.

    Raises:
        OSError: the content did not reach the disk: it is full, its quota is used up, it failed.
    """
    _sync(path, os.O_RDWR)


def sync_folder(path: Path) -> None:
    """Waits until a folder's names are on the disk, where the file system can tell.

    Raises:
        OSError: the names did not reach the disk.
    """
    _sync(path, os.O_RDONLY | os.O_DIRECTORY)


def sync_handle(handle: int, *, is_data_only: bool = False) -> None:
    """Waits until an open file's content is on the disk, where the file system can tell.

    Args:
        handle: should be open for writing.
        is_data_only: the file's times may be written later.

    Raises:
        OSError: the content did not reach the disk.
    """
    try:
        (os.fdatasync if is_data_only else os.fsync)(handle)
    except OSError as error:
        if error.errno not in _CANNOT:
            raise


def _sync(path: Path, flags: int) -> None:
    try:
        handle = os.open(path, flags)
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
        return
    try:
        sync_handle(handle)
    finally:
        os.close(handle)
