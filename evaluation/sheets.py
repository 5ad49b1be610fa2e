"""Contact sheets of faces: what a person must look at before believing a number.

A sheet of bare faces holds original faces. It is made only when asked for, and belongs to
whoever may see the original clip.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from evaluation.clips import FramePair
from evaluation.exposure import Sighting

__all__ = ["ContactSheet"]

_CELL = 96
_CAPTION = 14


@dataclass(slots=True)
class ContactSheet:
    """Collects pairs of face crops, original left and anonymized right.

    Attributes:
        most: cells kept; further faces are counted, not kept.
        columns: pairs side by side.
    """

    most: int = 120
    columns: int = 6
    _cells: list[NDArray[np.uint8]] = field(default_factory=list)
    _seen: int = 0

    def keep_exposed(self, seen: Sighting, pair: FramePair) -> None:
        """Keeps a sighting that is bare or recognised; to be passed to `measure_exposure`."""
        if seen.is_bare or seen.recognised_by:
            self.add(seen, pair)

    def add(self, seen: Sighting, pair: FramePair) -> None:
        """Keeps one sighting while there is room."""
        self._seen += 1
        if len(self._cells) >= self.most:
            return
        halves = [_thumbnail(image, seen) for image in (pair.original, pair.anonymized)]
        cell = np.full((_CELL + _CAPTION, 2 * _CELL + 6, 3), 255, np.uint8)
        cell[:_CELL, :_CELL], cell[:_CELL, _CELL : 2 * _CELL] = halves
        best = max(seen.cosines.values(), default=0.0)
        text = f"#{seen.frame} {seen.size_px:.0f}px d{seen.change:.0f} c{best:.2f}"
        place = (2, _CELL + _CAPTION - 4)
        cv2.putText(cell, text, place, cv2.FONT_HERSHEY_SIMPLEX, 0.36, (0, 0, 0), 1, cv2.LINE_AA)
        self._cells.append(cell)

    @property
    def seen(self) -> int:
        """Sightings offered, kept or not."""
        return self._seen

    def image(self) -> NDArray[np.uint8]:
        """The sheet, H×W×3 uint8 BGR; one white cell when nothing was kept."""
        blank = np.full((_CELL + _CAPTION, 2 * _CELL + 6, 3), 255, np.uint8)
        cells = self._cells or [blank]
        columns = min(self.columns, len(cells))
        cells = cells + [blank] * (-len(cells) % columns)
        rows = [np.hstack(cells[i : i + columns]) for i in range(0, len(cells), columns)]
        return np.vstack(rows)

    def write(self, path: Path) -> None:
        """Writes the sheet as PNG.

        Raises:
            OSError: the file cannot be written.
        """
        _, encoded = cv2.imencode(".png", self.image())
        path.write_bytes(encoded.tobytes())


def _thumbnail(image: NDArray[np.uint8], seen: Sighting) -> NDArray[np.uint8]:
    """The box with a quarter of margin, scaled to one cell."""
    box = seen.face.box_px
    centre, side = (box[:2] + box[2:]) / 2, float((box[2:] - box[:2]).max()) * 1.25
    scale = _CELL / max(side, 1.0)
    shift = _CELL / 2 - scale * centre
    matrix = np.array([[scale, 0, shift[0]], [0, scale, shift[1]]], np.float64)
    warped = cv2.warpAffine(image, matrix, (_CELL, _CELL), flags=cv2.INTER_LINEAR)
    return np.asarray(warped, np.uint8)
