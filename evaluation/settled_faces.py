"""Faces that detectors do not agree on, and that a person who looked at them took for faces."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engines.types import Box

__all__ = ["SettledFace", "boxes_at", "read_settled_faces"]


@dataclass(frozen=True, slots=True)
class SettledFace:
    """One face over time.

    Attributes:
        clip: name of the file.
        frames: numbers of some of its frames, ascending; it is there from the first to the last.
        boxes: where it is in these, x0 y0 x1 y1 px each.
    """

    clip: str
    frames: tuple[int, ...]
    boxes: tuple[tuple[int, int, int, int], ...]


def read_settled_faces(path: Path) -> list[SettledFace]:
    """The faces of a TOML file; none without it.

    Raises:
        ValueError: a face has not as many boxes as frames.
    """
    values = tomllib.loads(path.read_text("utf-8")) if path.exists() else {}
    return [_settled(**one) for one in values.get("face", [])]


def boxes_at(faces: Sequence[SettledFace], clip: str, frame: int) -> list[Box]:
    """Where the faces of a clip are in one of its frames, between those that are known too.

    >>> face = SettledFace("a.mp4", (0, 10), ((0, 0, 8, 8), (20, 0, 28, 8)))
    >>> [box.tolist() for box in boxes_at([face], "a.mp4", 5)], boxes_at([face], "a.mp4", 11)
    ([[10.0, 0.0, 18.0, 8.0]], [])
    """
    return [
        np.array(
            [np.interp(frame, face.frames, side) for side in zip(*face.boxes, strict=True)],
            np.float32,
        )
        for face in faces
        if face.clip == clip and face.frames[0] <= frame <= face.frames[-1]
    ]


def _settled(clip: str, frames: Sequence[int], boxes: Sequence[Sequence[int]]) -> SettledFace:
    if len(frames) != len(boxes) or list(frames) != sorted(frames):
        raise ValueError(f"settled face of {clip} from frame {frames[:1]}: one box for each frame")
    return SettledFace(clip, tuple(frames), tuple((b[0], b[1], b[2], b[3]) for b in boxes))
