"""The secret of one resumable output, so that a resumed swap lends the same surrogates.

It lies beside the output, readable by its owner alone, until the output is complete. It
tells which surrogate a place in a cluster gets; it holds nothing about a person.
"""

from __future__ import annotations

import os
from pathlib import Path

from gallery.secrets import KEY_BYTES, fresh_key
from stream.errors import writing
from stream.file_names import name_beside

__all__ = ["forget_key", "resume_key"]


def resume_key(target: Path) -> bytes:
    """The key of an output, made now if this is its first run.

    Raises:
        OutputNotWritable: the folder cannot be written.
    """
    path = _path(target)
    with writing(path.name):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            key = path.read_bytes()
            if len(key) == KEY_BYTES:
                return key
            path.unlink()
            return resume_key(target)
        with os.fdopen(handle, "wb") as file:
            key = fresh_key()
            file.write(key)
        return key


def forget_key(target: Path) -> None:
    """Removes the key of a finished output; idempotent."""
    _path(target).unlink(missing_ok=True)


def _path(target: Path) -> Path:
    return name_beside(target, ".resume-key")
