"""Pairs of clips, decoded frame by frame, and the check that they match in time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Final

import av
import numpy as np
from numpy.typing import NDArray

from evaluation.errors import ClipsDiffer, FacesUnreadable

__all__ = ["FramePair", "Still", "decoded", "paired"]

_TOLERANCE_S: Final = 0.002
"""Largest difference in time since the first frame; containers with coarse clocks need some."""


@dataclass(frozen=True, slots=True)
class Still:
    """One decoded frame.

    Attributes:
        image: H×W×3 uint8 BGR, upright.
        time_s: presentation time, seconds; None where the container has none.
    """

    image: NDArray[np.uint8]
    time_s: float | None


@dataclass(frozen=True, slots=True)
class FramePair:
    """The same moment before and after.

    Attributes:
        index: number of the frame, from 0.
        original: H×W×3 uint8 BGR.
        anonymized: H×W×3 uint8 BGR, same size.
        time_s: seconds since the first frame of the original; None without timestamps.
    """

    index: int
    original: NDArray[np.uint8]
    anonymized: NDArray[np.uint8]
    time_s: float | None


def decoded(path: Path) -> Iterator[Still]:
    """Decodes the first video stream of a file.

    Raises:
        FacesUnreadable: the file is no clip.
    """
    try:
        with av.open(str(path)) as container:
            if not container.streams.video:
                raise FacesUnreadable(f"{path.name}: it holds no video; give a clip")
            for frame in container.decode(video=0):
                image = np.asarray(frame.to_ndarray(format="bgr24"), np.uint8)
                time = float(frame.time) if frame.pts is not None else None
                yield Still(_upright(image, int(frame.rotation or 0)), time)
    except (OSError, IndexError, av.FFmpegError) as error:
        message = f"{path.name}: cannot be decoded as video ({error}); give a readable clip"
        raise FacesUnreadable(message) from error


def _upright(image: NDArray[np.uint8], rotation_deg: int) -> NDArray[np.uint8]:
    turns = round(rotation_deg / 90) % 4
    return np.ascontiguousarray(np.rot90(image, turns)) if turns else image


def paired(original: Path, anonymized: Path) -> Iterator[FramePair]:
    """Frames of both clips side by side.

    Args:
        original: the clip as recorded.
        anonymized: what kveil or another tool made of it.

    Raises:
        ClipsDiffer: frame counts, sizes or times differ.
        FacesUnreadable: one of them is no clip.
    """
    starts: tuple[float, float] | None = None
    index = -1
    for index, (left, right) in enumerate(zip_longest(decoded(original), decoded(anonymized))):
        if left is None or right is None:
            shorter = original.name if left is None else anonymized.name
            message = f"{shorter} ends at frame {index}: both clips must have the same frames"
            raise ClipsDiffer(message)
        if left.image.shape != right.image.shape:
            message = f"frame {index}: sizes {left.image.shape} and {right.image.shape} differ"
            raise ClipsDiffer(message)
        time = None
        if left.time_s is not None and right.time_s is not None:
            starts = starts or (left.time_s, right.time_s)
            time = left.time_s - starts[0]
            drift = abs(time - (right.time_s - starts[1]))
            if drift > _TOLERANCE_S:
                message = f"frame {index}: times differ by {drift * 1000:.1f} ms"
                raise ClipsDiffer(message)
        yield FramePair(index, left.image, right.image, time)
    if index < 0:
        message = f"{original.name} has no frames: give a readable clip"
        raise FacesUnreadable(message)
