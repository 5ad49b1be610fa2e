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
from evaluation.finders import finder_fingerprint

__all__ = ["CachedFinder"]

Row = tuple[list[float], list[list[float]], float]


@dataclass(slots=True)
class CachedFinder:
    """A finder that looks at each picture once; pictures are told apart by shape and SHA-1.

    What another detector, or the same one with another network, found is not taken over.

    Attributes:
        finder: looks at what the file does not know.
        path: the file, JSON; read at the start, written by `save`.
    """

    finder: FaceFinder
    path: Path
    _rows: dict[str, list[Row]] = field(init=False)

    def __post_init__(self) -> None:
        kept = json.loads(self.path.read_text("utf-8")) if self.path.exists() else {}
        is_own = kept.get("finder") == finder_fingerprint(self.finder)
        self._rows = kept["found"] if is_own else {}

    @property
    def name(self) -> str:
        """Shown in the report."""
        return self.finder.name

    def find(self, image: NDArray[np.uint8]) -> Sequence[Face]:
        """Faces of an H×W×3 uint8 BGR image, in its pixels."""
        key = _key(image)
        if key not in self._rows:
            self._rows[key] = [_row_from_face(face) for face in self.finder.find(image)]
        return [_face_from_row(row) for row in self._rows[key]]

    def save(self) -> None:
        """Writes the file, whole or not at all.

        Raises:
            OSError: it cannot be written.
        """
        partial = self.path.with_suffix(".partial")
        kept = {"finder": finder_fingerprint(self.finder), "found": self._rows}
        partial.write_text(json.dumps(kept))
        partial.replace(self.path)


def _key(image: NDArray[np.uint8]) -> str:
    """The same bytes in another shape are another picture."""
    digest = hashlib.sha1(repr(image.shape).encode(), usedforsecurity=False)
    digest.update(np.ascontiguousarray(image).data)
    return digest.hexdigest()


def _row_from_face(face: Face) -> Row:
    return face.box_px.tolist(), face.landmarks_px.tolist(), float(face.score)


def _face_from_row(row: Row) -> Face:
    box, landmarks, score = row
    return Face(np.array(box, np.float32), np.array(landmarks, np.float32), score)
