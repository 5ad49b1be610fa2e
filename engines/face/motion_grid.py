"""A grid of points over a crop, carried through frames, to sample another crop where they lie.

Motion is asked for at few points and filled in between them: a face's pixels move together.
"""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.face.alignment import Similarity, inverse_of, moved

__all__ = ["GRID", "grid_in_frame", "sampling_map"]

GRID: Final = 48
"""Points of a crop, each way."""

Float32 = NDArray[np.float32]


def grid_in_frame(crop_from_frame: Similarity, size: int) -> Float32:
    """Where the middles of a crop's GRID x GRID cells lie in the frame.

    Args:
        crop_from_frame: map of the crop.
        size: its side, px.

    Returns:
        float32[GRID * GRID, 2] px, row by row.
    """
    steps = (np.arange(GRID, dtype=np.float32) + np.float32(0.5)) * np.float32(size / GRID)
    x, y = np.meshgrid(steps, steps)
    return moved(inverse_of(crop_from_frame), np.stack([x, y], -1).reshape(-1, 2))


def sampling_map(
    crop_from_frame: Similarity, points: Float32, size: int
) -> tuple[Float32, Float32]:
    """For every pixel of the grid's crop, where in another crop it is found.

    Args:
        crop_from_frame: map of the other crop, in whose frame the points lie.
        points: float32[GRID * GRID, 2] px of that frame: a grid that was carried there.
        size: side of the grid's crop, px.

    Returns:
        x and y, float32[size, size] each, as `cv2.remap` takes them: it counts from a pixel's
        centre, a map from its corner.
    """
    place = moved(crop_from_frame, points).reshape(GRID, GRID, 2) - np.float32(0.5)
    # Parted while they are few: to part what is enlarged takes several times as long.
    x, y = [cv2.resize(one, (size, size)) for one in cv2.split(place)]
    return np.asarray(x, np.float32), np.asarray(y, np.float32)
