"""By what a surrogate's head is told from other heads, beside its face."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["HEAD_TRAITS", "Trait"]


class Trait(IntEnum):
    """What a surrogate does to the head that wears it, each a number from 0 to 1."""

    HAIR_LOW = 0
    """How low hair comes down on the forehead."""
    RECEDING = 1
    """How far a high hairline recedes at its corners."""
    LEANING = 2
    """To which side hair falls, and on which it begins lower."""
    SQUARE = 3
    """How far beside the forehead hair begins."""
    UNEVEN = 4
    """How the hairline waves."""
    SLEEK = 5
    """How far hair is brushed to the sides."""
    CROPPED = 6
    """How short its strands are."""
    FULL = 7
    """How far it stands out from the head."""


HEAD_TRAITS: Final = len(Trait)


def centred(traits: NDArray[np.float32]) -> NDArray[np.float32]:
    """Traits of [0, 1] in [-1, 1], 0 for middling ones."""
    return np.asarray(traits * 2 - 1, np.float32)
