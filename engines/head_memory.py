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
    """Running means of where hair ends and what colour it has; one for each track."""

    def __init__(self) -> None:
        self._hair: Float32 | None = None
        self._colour: Float32 | None = None

    def hair(self, width: Float32) -> Float32:
        """How wide hair is beyond the patch, float32[RAYS], as of all frames so far.

        >>> memory = HeadMemory()
        >>> [round(float(memory.hair(np.float32([one]))[0]), 2) for one in (1, 1, 2)]
        [1.0, 1.0, 1.12]
        """
        self._hair = _followed(self._hair, width)
        return self._hair

    def colour(self, mean: Float32) -> Float32:
        """The hair's mean colour, float32[3] BGR, as of all frames so far."""
        self._colour = _followed(self._colour, mean)
        return self._colour


def _followed(known: Float32 | None, found: Float32) -> Float32:
    if known is None or not np.isfinite(known).all():
        return found
    return np.asarray(known + np.float32(_NEW) * (found - known), np.float32)
