"""What was read of a head in the frames before, so that its outline does not tremble."""

from __future__ import annotations

from enum import Enum
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["HeadMemory", "Reading"]

_NEW: Final = 0.12
"""Share of the new reading in a frame: larger follows a turning head sooner, and trembles more."""

Float32 = NDArray[np.float32]


class Reading(Enum):
    """What is read of a head, distances over the rays."""

    HAIR = "how wide hair is beyond the patch"
    PATCH = "how far the patch reaches beyond the surrogate's outline"
    FILLED = "how far the painted face does"


class HeadMemory:
    """Running means of what was read of a head; one for each track."""

    def __init__(self) -> None:
        self._means: dict[Reading, Float32] = {}

    def steadied(self, what: Reading, found: Float32) -> Float32:
        """A reading, float32[RAYS], as of all frames so far.

        >>> memory = HeadMemory()
        >>> readings = [memory.steadied(Reading.HAIR, np.float32([one])) for one in (1, 1, 2)]
        >>> [round(float(one[0]), 2) for one in readings]
        [1.0, 1.0, 1.12]
        """
        known = self._means.get(what)
        if known is not None and np.isfinite(known).all():
            found = np.asarray(known + np.float32(_NEW) * (found - known), np.float32)
        self._means[what] = found
        return found
