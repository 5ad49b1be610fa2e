"""What a detector found in a clip's frames, kept in a file between runs.

Where the faces of an original are does not depend on how it is anonymized, and looking for
them in tiles is most of the work: a second method, or a second try, starts from the file. It
holds boxes and landmarks, no picture and no embedding.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engines.types import Face
from evaluation.exposure import FaceFinder

__all__ = ["CachedFinder"]

Row = tuple[list[float], list[list[float]], float]


@dataclass(slots=True)
class CachedFinder:
    """A finder that looks at each picture once; pictures are told apart by their SHA-1.

    Attributes:
        finder: looks at what the file does not know.
        path: the file, JSON; read at the start, written by `save`.
    """

    finder: FaceFinder
    path: Path
    _rows: dict[str, list[Row]] = field(init=False)

    def __post_init__(self) -> None:
        self._rows = json.loads(self.path.read_text()) if self.path.exists() else {}

    @property
    def name(self) -> str:
        """Shown in the report."""
        return self.finder.name

    def find(self, image: NDArray[np.uint8]) -> Sequence[Face]:
        """Faces of an H×W×3 uint8 BGR image, in its pixels."""
        key = hashlib.sha1(image.tobytes(), usedforsecurity=False).hexdigest()
        if key not in self._rows:
            self._rows[key] = [_row_from_face(face) for face in self.finder.find(image)]
        return [_face_from_row(row) for row in self._rows[key]]

    def save(self) -> None:
        """Writes the file, whole or not at all.

        Raises:
            OSError: it cannot be written.
        """
        partial = self.path.with_suffix(".partial")
        partial.write_text(json.dumps(self._rows))
        partial.replace(self.path)


def _row_from_face(face: Face) -> Row:
    return face.box_px.tolist(), face.landmarks_px.tolist(), float(face.score)


def _face_from_row(row: Row) -> Face:
    box, landmarks, score = row
    return Face(np.array(box, np.float32), np.array(landmarks, np.float32), score)
