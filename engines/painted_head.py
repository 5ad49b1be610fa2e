"""Where a painted head lies in a crop around it, and by what it is told from other heads."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.strands import grid

__all__ = ["HEAD_TRAITS", "MIDDLING", "Head", "Surrounded", "Trait", "head_of"]

_EYES: Final = 0.38
"""Height of the eyes under the outline's top, a share of its height."""
_MOST_TURNED: Final = 0.5

Float32 = NDArray[np.float32]


class Trait(IntEnum):
    """What a surrogate gives a head beside its face, each a number from 0 to 1."""

    HAIR_BRIGHTNESS = 0
    HAIR_LOW = 1
    """How low hair comes down on the forehead."""
    HAIR_WIDE = 2
    """How far it stands off, and comes down, beside the face."""
    HAIR_LEANING = 3
    """To which side it falls."""
    NECK_WIDE = 4
    NECK_BRIGHTNESS = 5
    """How much light there is under the jaw."""
    EARS_TALL = 6


HEAD_TRAITS: Final = len(Trait)
MIDDLING: Final = np.full(HEAD_TRAITS, 0.5, np.float32)
"""Traits of nobody in particular."""


@dataclass(frozen=True, slots=True)
class Head:
    """Where a painted face is, px of an upright crop around it.

    Attributes:
        top: of its outline.
        height: of its outline.
        eyes: row of the eyes.
        middle: column of the upper face's middle.
        half: half width of the upper face.
        turned: by which share of the half width that middle is beside the eyes', ±0.5 at most;
            0 for a face that looks ahead.
    """

    top: float
    height: float
    eyes: float
    middle: float
    half: float
    turned: float

    def placed(self, shares: NDArray[np.floating]) -> Float32:
        """Where points lie that are given in half widths and heights: float32[M, 2] px.

        Args:
            shares: (M, 2), half widths right of the upper face's middle, heights below the top.
        """
        place = np.array([self.middle, self.top]) + shares * np.array([self.half, self.height])
        return np.asarray(place, np.float32)


def head_of(corners: Float32, side: int) -> Head:
    """The head behind a painted outline.

    Args:
        corners: float32[M, 2] outline, of the face at rest where that is known, px of an upright
            crop with the eyes' middle in its own.
        side: of that crop, px.

    >>> head_of(np.float32([[40, 30], [88, 30], [88, 70], [64, 100], [40, 70]]), 128)
    Head(top=30.0, height=70.0, eyes=56.6, middle=64.0, half=24.0, turned=0.0)
    """
    top, height = float(corners[:, 1].min()), max(float(np.ptp(corners[:, 1])), 1.0)
    upper = corners[corners[:, 1] <= top + 0.6 * height, 0]
    half = max(float(np.ptp(upper)) / 2, 1.0)
    middle = float(upper.min()) + half
    turned = float(np.clip((middle - side / 2) / half, -_MOST_TURNED, _MOST_TURNED))
    return Head(top, height, top + _EYES * height, middle, half, turned)


@dataclass(frozen=True, slots=True)
class Surrounded:
    """A painted head and what lies around it in a crop of S×S pixels.

    Attributes:
        head: where it is.
        corners: float32[M, 2], outline of the painted face, px of the crop.
        depth: float32[S, S], px inside that outline, negative outside.
        away: float32[S, S], px beyond the patch; 0 under it.
        unit: side of the patch, px of the crop.
    """

    head: Head
    corners: Float32
    depth: Float32
    away: Float32
    unit: float

    def across(self, columns: slice) -> Float32:
        """Half widths right of the face's middle: float32[1, W]."""
        own = grid(len(self.depth))[1][:1, columns] + np.float32(0.5)
        return np.asarray((own - self.head.middle) / self.head.half, np.float32)

    def down(self, rows: slice) -> Float32:
        """Heights of the outline below its top: float32[H, 1]."""
        own = grid(len(self.depth))[0][rows, :1] + np.float32(0.5)
        return np.asarray((own - self.head.top) / self.head.height, np.float32)

    def beyond(self, rows: slice, columns: slice) -> Float32:
        """How far outside the outline, shares of the patch's side: float32[H, W]."""
        return np.asarray(np.maximum(-self.depth[rows, columns] / self.unit, 0), np.float32)
