"""Attributes of people, for what a set of faces is used for: given by a table, or read off."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from engines.backends.backend import Backend
from engines.errors import EngineError
from engines.stylegan.attributes import AttributeModel, load_attributes
from engines.stylegan.pack import bundled_pack, read_pack
from evaluation.errors import LabelsUnreadable
from evaluation.faces import Faces, crop_window

__all__ = ["Attribute", "Labeller", "PackLabeller", "TableLabeller", "labeller_at_hand"]
__all__ += ["labeller_from_table"]

UNKNOWN: Final = -1
_BATCH: Final = 16
_MOST_VALUES: Final = 12


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute of some faces.

    Attributes:
        name: such as `gender`.
        names: words of its values.
        values: (N,) int64 place in `names`; −1 where it is not known.
    """

    name: str
    names: tuple[str, ...]
    values: NDArray[np.int64]


class Labeller(Protocol):
    """Says what is known of faces."""

    @property
    def source(self) -> str:
        """Where the labels come from, in words for the report."""

    def label(self, faces: Faces) -> list[Attribute]:
        """Attributes of original faces, always the same ones in the same order."""


@dataclass(frozen=True, slots=True)
class TableLabeller:
    """Labels that the user gives by person.

    Attributes:
        source: in words.
        names: words of the values by attribute.
        values: attribute → number of the person → place in `names`.
    """

    source: str
    names: Mapping[str, tuple[str, ...]]
    values: Mapping[str, Mapping[int, int]]

    def label(self, faces: Faces) -> list[Attribute]:
        """Looks every person up."""
        return [
            Attribute(name, words, np.array([known.get(int(p), UNKNOWN) for p in faces.persons]))
            for (name, words), known in zip(self.names.items(), self.values.values(), strict=True)
        ]


@dataclass(frozen=True, slots=True)
class PackLabeller:
    """Labels as the bundled pack reads them off latents; unsure ones stay unknown."""

    encode: EncodesCrops
    model: AttributeModel
    source: str = "read off the originals by the bundled attribute model"
    _known: dict[bytes, list[dict[str, str]]] = field(default_factory=dict)

    def label(self, faces: Faces) -> list[Attribute]:
        """Encodes the crops and asks the model."""
        crops = faces.images[:, *crop_window()]
        bins: list[dict[str, str]] = []
        for start in range(0, len(crops), _BATCH):
            bins += self.model.bins(self.encode.encode(crops[start : start + _BATCH]))
        return [
            Attribute(
                name,
                words,
                np.array([words.index(own[name]) if name in own else UNKNOWN for own in bins]),
            )
            for name, words in self.model.values.items()
        ]


class EncodesCrops(Protocol):
    """Takes (N, S, S, 3) uint8 BGR kveil crops to (N, L, 512) float32 latents."""

    def encode(self, crops: NDArray[np.uint8], /) -> NDArray[np.float32]:
        """Latents of crops."""


def labeller_at_hand(backend: Backend) -> Labeller | None:
    """The bundled attribute model; None where the pack has none."""
    from evaluation.methods.generated import surrogates_from_pack

    try:
        model = load_attributes(read_pack(bundled_pack()).path("attributes.npz"))
        return PackLabeller(surrogates_from_pack(backend).encoder, model)
    except EngineError:
        return None


def labeller_from_table(path: Path, people: Sequence[str]) -> TableLabeller:
    """Reads a CSV: a column `person` with the folders' names, and one column per attribute.

    Args:
        path: the CSV; an empty field is an unknown value.
        people: names in the order in which they are numbered.

    Raises:
        LabelsUnreadable: it cannot be read, has no such column, or names nobody here.
    """
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as fault:
        message = f"{path}: not a readable CSV ({fault}); give one with a column `person`"
        raise LabelsUnreadable(message) from fault
    columns = [name for name in (rows[0] if rows else {}) if name not in ("person", "file")]
    if not rows or "person" not in rows[0] or not columns:
        message = f"{path.name}: a column `person` and one column per attribute are needed"
        raise LabelsUnreadable(message)
    number = {name: place for place, name in enumerate(people)}
    known = [row for row in rows if row["person"] in number]
    if not known:
        message = f"{path.name}: names none of the people here; `person` is the folder's name"
        raise LabelsUnreadable(message)
    names, values = {}, {}
    for column in columns:
        words = tuple(sorted({row[column] for row in known if row[column]}))
        if not 2 <= len(words) <= _MOST_VALUES:
            message = f"{path.name}: column {column} needs 2 to {_MOST_VALUES} different values"
            raise LabelsUnreadable(message)
        names[column] = words
        values[column] = {
            number[row["person"]]: words.index(row[column]) for row in known if row[column]
        }
    return TableLabeller(f"given by {path.name}", names, values)
