"""A set of embedded faces to cluster: from an archive, or from a folder of pictures."""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engines.errors import EngineFault
from engines.pictures import BgrImage
from gallery.errors import PeopleFolderRejected
from gallery.pictures import people_in_folder, read_picture
from gallery.quality import Values

__all__ = ["FaceEmbedder", "FaceSet", "PicturePath", "faces_from_archive", "faces_from_pictures"]
__all__ += ["pictures_in_folder", "values_from_csv"]


class FaceEmbedder(Protocol):
    """Tells who is in a picture, as a vector."""

    def embed(self, image_bgr: BgrImage) -> NDArray[np.float32] | None:
        """(D,) float32 of the main face of an H×W×3 uint8 BGR image; None without a face."""


@dataclass(frozen=True, slots=True)
class PicturePath:
    """One picture of one person."""

    path: Path
    person: str


@dataclass(frozen=True, slots=True)
class FaceSet:
    """Faces that can be clustered.

    Attributes:
        embeddings: (n, D) float32.
        persons: (n,) intp, whose picture each row is.
        attributes: per attribute, (n,) values.
        skipped: pictures left out: unreadable, or without a face.
    """

    embeddings: NDArray[np.float32]
    persons: NDArray[np.intp]
    attributes: Mapping[str, Values] = field(default_factory=dict)
    skipped: int = 0

    @property
    def n_people(self) -> int:
        """Distinct people."""
        return len(np.unique(self.persons))

    def first_people(self, count: int) -> FaceSet:
        """Only the rows of the `count` people with the lowest numbers.

        >>> FaceSet(np.zeros((3, 2), np.float32), np.array([0, 1, 0])).first_people(1).persons
        array([0, 0])
        """
        return self._chosen(np.flatnonzero(np.isin(self.persons, np.unique(self.persons)[:count])))

    def first_pictures(self) -> FaceSet:
        """Only the first row of each person.

        >>> FaceSet(np.zeros((3, 2), np.float32), np.array([0, 1, 0])).first_pictures().persons
        array([0, 1])
        """
        return self._chosen(np.sort(np.unique(self.persons, return_index=True)[1]))

    def _chosen(self, kept: NDArray[np.intp]) -> FaceSet:
        attributes = {name: values[kept] for name, values in self.attributes.items()}
        return FaceSet(self.embeddings[kept], self.persons[kept], attributes, self.skipped)


def pictures_in_folder(
    folder: Path, *, most_people: int | None = None, one_each: bool = False
) -> list[PicturePath]:
    """Pictures of a folder that holds one folder per person, or one picture per person.

    Args:
        folder: where to look.
        most_people: keep the first so many people by name; None keeps all.
        one_each: keep the first picture of each person.

    Raises:
        PeopleFolderRejected: there is no such folder, or no picture in it.
    """
    found = people_in_folder(folder, is_flat_allowed=True)
    return [
        PicturePath(path, person)
        for person in list(found)[:most_people]
        for path in (found[person][:1] if one_each else found[person])
    ]


def faces_from_pictures(
    pictures: Sequence[PicturePath],
    embedder: FaceEmbedder,
    attributes: Mapping[str, Mapping[str, str]] | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> FaceSet:
    """Embeds pictures one by one; those that cannot be read or hold no face are counted.

    Args:
        pictures: what to embed.
        embedder: detects, aligns and recognises.
        attributes: file name → attribute → value; absent values are empty.
        on_progress: called with pictures done and pictures in all.

    Raises:
        PeopleFolderRejected: not one picture could be used.
    """
    rows: list[NDArray[np.float32]] = []
    used: list[PicturePath] = []
    for done, picture in enumerate(pictures, start=1):
        row = _embedded(picture.path, embedder)
        if row is not None:
            rows.append(row)
            used.append(picture)
        if on_progress is not None:
            on_progress(done, len(pictures))
    if not rows:
        raise PeopleFolderRejected("no picture shows a face that can be embedded; give others")
    numbers = {person: number for number, person in enumerate(sorted({p.person for p in used}))}
    persons = np.array([numbers[picture.person] for picture in used], dtype=np.intp)
    columns = _columns(attributes or {}, [picture.path.name for picture in used])
    return FaceSet(np.stack(rows), persons, columns, len(pictures) - len(used))


def faces_from_archive(path: Path) -> FaceSet:
    """Reads an npz file with `embeddings`, and optionally `persons` and `attribute.<name>`.

    Raises:
        PeopleFolderRejected: it cannot be read, or the arrays do not match.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise PeopleFolderRejected(f"cannot read {path.name}: {error}") from error
    embeddings = arrays.get("embeddings")
    if embeddings is None or embeddings.ndim != 2:
        raise PeopleFolderRejected(f"{path.name} needs an array `embeddings` of shape (n, D)")
    persons = arrays.get("persons", np.arange(len(embeddings)))
    attributes = {
        name.removeprefix("attribute."): values
        for name, values in arrays.items()
        if name.startswith("attribute.")
    }
    if any(column.shape != (len(embeddings),) for column in (persons, *attributes.values())):
        raise PeopleFolderRejected(f"{path.name}: persons and attributes need one value per row")
    return FaceSet(embeddings.astype(np.float32), persons.astype(np.intp), attributes)


def values_from_csv(path: Path) -> dict[str, dict[str, str]]:
    """File name → attribute → value, from a CSV whose first column is `file` or `name`.

    Raises:
        PeopleFolderRejected: unreadable, or without such a column.
    """
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise PeopleFolderRejected(f"cannot read {path.name}: {error}") from error
    key = next((name for name in ("file", "name") if rows and name in rows[0]), None)
    if key is None:
        raise PeopleFolderRejected(f"{path.name} needs a column `file` with the pictures' names")
    return {
        Path(row[key]).name: {name: value or "" for name, value in row.items() if name != key}
        for row in rows
    }


def _embedded(path: Path, embedder: FaceEmbedder) -> NDArray[np.float32] | None:
    try:
        return embedder.embed(read_picture(path))
    except (EngineFault, PeopleFolderRejected):
        return None


def _columns(
    attributes: Mapping[str, Mapping[str, str]], files: Sequence[str]
) -> dict[str, Values]:
    names = sorted({name for values in attributes.values() for name in values})
    return {
        name: np.array([attributes.get(file, {}).get(name, "") for file in files], dtype=np.str_)
        for name in names
    }
