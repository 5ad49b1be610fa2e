"""Whether a frame between two others shows something that neither of them does.

Someone may pass through a calm scene, look round a corner or turn up for a frame or two between
two key frames that show the same faces. What moves on from one key to the other is no such
thing: between them it is seen where, or near where, one of them shows it.
"""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = ["SKETCH_PX", "passing_change"]

SKETCH_PX: Final = 160
"""Long side of the sketches that are compared."""
_REACH_PX: Final = 2
"""How far what both ends show may move on in between."""
_PART_PX: Final = 5
"""Side of the smallest part that counts: half a face of 40 px in a frame of 640."""


def passing_change(
    between: NDArray[np.float32], before: NDArray[np.float32], after: NDArray[np.float32]
) -> float:
    """How much any part of a frame is lighter or darker than both ends are near there.

    Args:
        between: (h, w) grey 0…255, `SKETCH_PX` on the long side.
        before: the same of an earlier frame.
        after: the same of a later one.

    Returns:
        Grey levels, the mean of the part that differs most; infinite where sizes differ.

    >>> calm = np.full((90, 160), 80, np.float32)
    >>> passing = calm.copy()
    >>> passing[40:50, 60:70] = 140
    >>> passing_change(passing, calm, calm), passing_change(passing, calm, passing)
    (60.0, 0.0)
    """
    if not between.shape == before.shape == after.shape:
        return np.inf
    near = np.ones((2 * _REACH_PX + 1,) * 2, np.uint8)
    lightest = cv2.dilate(np.maximum(before, after), near)
    darkest = cv2.erode(np.minimum(before, after), near)
    beyond = np.maximum(cv2.subtract(between, lightest), cv2.subtract(darkest, between))
    parts = cv2.blur(np.maximum(beyond, 0), (_PART_PX, _PART_PX))
    return float(parts.max())
