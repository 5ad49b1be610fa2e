"""Digests of files."""

from __future__ import annotations

import hashlib
from pathlib import Path

from stream.errors import reading
from stream.media.reading.inputs import opened_file

__all__ = ["file_digest"]


def file_digest(path: Path) -> str:
    """SHA-256 of a file's content, hexadecimal; read in pieces.

    Raises:
        InputUnreadable: it cannot be read.
    """
    with reading(path.name), opened_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
