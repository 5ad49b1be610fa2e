"""What was read of a head in the frames before, so that its outline does not tremble."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["HeadMemory"]

_NEW: Final = 0.12
"""Share of the new reading in a frame: larger follows a turning head sooner, and trembles more."""

Float32 = NDArray[np.float32]


class HeadMemory:
    """Running mean of where hair ends; one for each track."""

    def __init__(self) -> None:
        self._hair: Float32 | None = None

    def hair(self, width: Float32) -> Float32:
        """How wide hair is beyond the patch, float32[RAYS], as of all frames so far.

        >>> memory = HeadMemory()
        >>> [round(float(memory.hair(np.float32([one]))[0]), 2) for one in (1, 1, 2)]
        [1.0, 1.0, 1.12]
        """
        known = self._hair
        if known is not None and np.isfinite(known).all():
            width = np.asarray(known + np.float32(_NEW) * (width - known), np.float32)
        self._hair = width
        return width
