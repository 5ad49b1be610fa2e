"""Unpacks some of a data archive, by Pythons that know no filters of archives, too."""

from __future__ import annotations

import tarfile
from collections.abc import Iterable
from pathlib import Path

__all__ = ["unpack"]


def unpack(archive: tarfile.TarFile, members: Iterable[tarfile.TarInfo], target: Path) -> None:
    """Writes files of an archive below a folder."""
    for member in members:
        content = archive.extractfile(member)
        assert content is not None
        path = target / member.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.read())
