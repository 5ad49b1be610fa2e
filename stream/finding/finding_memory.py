"""What the detector said, kept with a resumable output so that no frame is searched twice.

A resumed run decodes and tracks from the start, which is cheap and needs no saved state;
only the detections, the costly part, are recalled. So its result is that of one run.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from engines.types import Face
from stream.media.writing.segment_files import JsonValue

__all__ = ["FindingMemory", "faces_from_json", "json_from_faces"]


class FindingMemory(Protocol):
    """Keeps values by frame; `stream.media.writing.segments.SegmentSink` does."""

    def record(self, index: int, value: JsonValue) -> None:
        """Keeps a value for a frame."""

    def recalled(self, index: int) -> JsonValue:
        """What an earlier run kept; None where nothing is safe on the disk."""


def json_from_faces(faces: tuple[Face, ...] | None) -> JsonValue:
    """Boxes, landmarks and scores as exact numbers; `skipped` where nothing was searched.

    >>> json_from_faces(None)
    'skipped'
    """
    if faces is None:
        return "skipped"
    return [
        [float(face.score), *(float(v) for v in face.box_px), *map(float, face.landmarks_px.flat)]
        for face in faces
    ]


def faces_from_json(value: JsonValue) -> tuple[Face, ...] | None:
    """The faces that `json_from_faces` wrote, equal to the last bit.

    Raises:
        ValueError: the value is of another kind.

    >>> face = Face(np.ones(4, np.float32), np.full((5, 2), 0.1, np.float32), 0.7)
    >>> (again,) = faces_from_json(json_from_faces((face,)))
    >>> again.score, bool((again.landmarks_px == face.landmarks_px).all())
    (0.7, True)
    """
    if value == "skipped":
        return None
    if not isinstance(value, list):
        message = "kept detections are damaged; remove the .resume folder and run again"
        raise ValueError(message)
    return tuple(_face(row) for row in value)


def _face(row: JsonValue) -> Face:
    numbers = np.asarray(row, np.float64)
    if numbers.shape != (15,):
        message = "kept detections are damaged; remove the .resume folder and run again"
        raise ValueError(message)
    box = numbers[1:5].astype(np.float32)
    return Face(box, numbers[5:].reshape(5, 2).astype(np.float32), float(numbers[0]))
