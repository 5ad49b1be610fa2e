"""A folder of face pictures: who is on which, and the pixels."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Final

import cv2
import numpy as np

from engines.pictures import BgrImage
from gallery.errors import PeopleFolderRejected

__all__ = ["people_in_folder", "read_picture"]

_SUFFIXES: Final = frozenset({".jpg", ".jpeg", ".png", ".webp", ".bmp", ".pgm", ".tif", ".tiff"})


def people_in_folder(
    folder: Path, identities: Path | None = None, *, is_flat_allowed: bool = False
) -> dict[str, list[Path]]:
    """Pictures of each person: one folder per person, or a CSV with `file` and `person`.

    Args:
        folder: where the pictures are.
        identities: CSV whose `file` is relative to `folder`.
        is_flat_allowed: pictures that lie in the folder itself show a person each, where
            there are no folders of people.

    Returns:
        Sorted pictures by sorted name of the person.

    Raises:
        PeopleFolderRejected: there are none, or the CSV lacks a column.
    """
    if not folder.is_dir():
        raise PeopleFolderRejected(f"there is no folder {folder}; give one with face pictures")
    if identities is not None:
        found = _people_in_table(folder, identities)
    else:
        found = {}
        for path in _pictures(folder, "*/*"):
            found.setdefault(path.parent.name, []).append(path)
    if not found and is_flat_allowed:
        found = {path.stem: [path] for path in _pictures(folder, "*")}
    if not found:
        raise PeopleFolderRejected(
            f"{folder}: no pictures; give a folder that holds one folder per person"
        )
    return {person: sorted(paths) for person, paths in sorted(found.items())}


def read_picture(path: Path) -> BgrImage:
    """A picture as H×W×3 uint8 BGR, upright.

    Raises:
        PeopleFolderRejected: it is no picture.
    """
    try:
        decoded = cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_COLOR)
    except (OSError, cv2.error) as fault:
        raise PeopleFolderRejected(f"{path.name}: {fault}") from fault
    if decoded is None:
        raise PeopleFolderRejected(f"{path.name}: not a picture; remove it or convert it")
    return np.asarray(decoded, np.uint8)


def _people_in_table(folder: Path, table: Path) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    if not table.is_file():
        raise PeopleFolderRejected(f"{table.name}: no such table; check the path")
    with table.open(newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file)
        if not {"file", "person"} <= set(rows.fieldnames or ()):
            raise PeopleFolderRejected(f"{table.name}: columns `file` and `person` are needed")
        for row in rows:
            found.setdefault(row["person"], []).append(folder / row["file"])
    return found


def _pictures(folder: Path, pattern: str) -> list[Path]:
    return sorted(path for path in folder.glob(pattern) if path.suffix.lower() in _SUFFIXES)
