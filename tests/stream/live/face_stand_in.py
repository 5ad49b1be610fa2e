"""A camera picture with one bright "face", an anonymizer that knows where it is, and a check."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from engines.blending.compositor import Composite, compose
from engines.types import Face, Frame, Track, TrackState

BRIGHT = 235
GREY = 90


def write_base(path: Path, height: int, width: int) -> Path:
    """One I420 picture with a bright block in its middle, as the camera's content."""
    luma = np.full((height, width), GREY, np.uint8)
    luma[_rows(height), _columns(width)] = BRIGHT
    chroma = np.full(height * width // 2, 128, np.uint8)
    path.write_bytes(luma.tobytes() + chroma.tobytes())
    return path


def shows_the_face(composite: Composite) -> bool:
    """Whether any pixel of the bright block shines through."""
    picture = composite.picture
    block = picture.planes[0][_rows(picture.height), _columns(picture.width)]
    return bool((block > BRIGHT - 25).any())


def _rows(height: int) -> slice:
    return slice(height // 2 - height // 8, height // 2 + height // 8)


def _columns(width: int) -> slice:
    return slice(width // 2 - width // 8, width // 2 + width // 8)


class CoversTheFace:
    """Covers the bright block after a look-ahead; may be told to fail or hang."""

    def __init__(
        self,
        lookahead: int = 3,
        *,
        fail_every: int = 0,
        hang: threading.Event | None = None,
    ) -> None:
        self._lookahead = lookahead
        self._fail_every = fail_every
        self._hang = hang
        self._waiting: deque[Frame] = deque()

    def push(self, frame: Frame) -> Sequence[Composite]:
        self._waiting.append(frame)
        if self._fail_every and frame.index % self._fail_every == self._fail_every - 1:
            raise RuntimeError("planted fault")
        if self._hang is not None and frame.index == 10:
            self._hang.wait(60.0)
        if len(self._waiting) <= self._lookahead:
            return ()
        return (_covered(self._waiting.popleft()),)

    def flush(self) -> Sequence[Composite]:
        done = [_covered(frame) for frame in self._waiting]
        self._waiting.clear()
        return done

    def close(self) -> None:
        self._waiting.clear()


def _covered(frame: Frame) -> Composite:
    height, width = frame.picture.height, frame.picture.width
    rows, columns = _rows(height), _columns(width)
    box = np.array([columns.start, rows.start, columns.stop, rows.stop], np.float32)
    middle = np.tile(np.array([[width / 2, height / 2]], np.float32), (5, 1))
    track = Track(1, Face(box, middle, 0.9), TrackState.DETECTED, frame.index)
    return compose(frame, (track,), {})
