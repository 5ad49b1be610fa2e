"""Hair that hangs over the sides of a face goes on over the painted one.

What must be hidden of a face ends in straight lines from its brows to its cheekbones. Where long
hair or headphones reach in over these, painted skin would lie over them with a corner. What is
around a face and goes on within it there, and is no skin, is drawn over a narrow strip of the
painted one: its colour alone, as a blur has it, so that nothing of the face that is hidden comes
through. Where a fringe hangs over a part of the forehead it is followed farther down, over the brow
that it hides, and what is above is left as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.blending.occlusion import along_edges
from engines.face.crop_regions import disc
from engines.pictures import BgrImage
from engines.stylegan.drawing import brightness, laid_over, ramp, rise, spread_near

__all__ = ["Strands", "fringe_over", "strands_beside", "with_hair_over"]

_STRIP: Final = (0.02, 0.055)
"""Distances within the identity outline up to which hair lies over the face, and from which it does
not, shares of the side. Larger follows hair farther, and eats brows."""
_AROUND: Final = 0.03
"""Width of what is looked at beyond the outline, a share of the side."""
_SURELY: Final = (0.6, 0.95)
"""Certainties of no skin, within and beyond, between which it comes to lie over the face."""
_HEIGHTS: Final = (0.55, 0.75)
"""Shares of the outline's height between which it ceases: jaws have beards and collars, see
`engines.blending.beards`."""
_FRINGE_FROM: Final = 0.075
"""How far above the identity outline hair is to be seen that hangs over it, a share of the side."""
_FRINGE_DOWN: Final = (0.09, 0.13)
"""Distances below the outline's upper edge between which a fringe ends: that of lids, as brows lie
above. Shares of the side."""
_PARTED: Final = (0.5, 0.65)
"""Shares of a forehead under hair between which it is no fringe, but all of it in the shade."""
_COLOUR: Final = 0.025
"""Deviation of the blur of its colour, a share of the side."""
_SHARP: Final = 160
_REACH: Final = 0.02
"""Side at which its rim is drawn along the edges of the head, px at most, and how far it may move,
a share of the side."""
_SHARPLY: Final = (0.15, 0.95)
"""Shares between which what was drawn along edges counts; it is spread a little beyond them."""

Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Strands:
    """Hair over the sides of a face.

    Attributes:
        marks: float32[s, s] in [0, 1], how surely it is there.
        colour: float32[s, s, 3] BGR, nothing fine of it.
    """

    marks: Float32
    colour: Float32


def fringe_over(must: NDArray[np.bool_], bare: Float32) -> Float32:
    """How surely hair hangs over a part of the forehead, down to the lids: float32[s, s].

    Args:
        must: bool[s, s], the identity outline.
        bare: float32[s, s], how surely places of the head are skin, without spots.

    >>> face, skin = np.zeros((96, 96), bool), np.ones((96, 96), np.float32)
    >>> face[40:80, 20:76] = True
    >>> skin[:44, 20:30] = 0
    >>> hair = fringe_over(face, skin)
    >>> float(hair[43, 25]), float(hair[47, 25]), float(hair[43, 50])
    (1.0, 0.0, 0.0)
    """
    side, under = len(must), must.any(axis=0)
    if not under.any():
        return np.zeros_like(bare)
    down = np.arange(side, dtype=np.float32)[:, None] - must.argmax(axis=0)
    hair = rise(np.asarray(1 - bare, np.float32), *_SURELY)
    above = down < -_FRINGE_FROM * side
    hair[above] = 1
    hanging = np.minimum.accumulate(hair, axis=0) * (under & ~above)
    share = float(hanging[down == 0].sum() / under.sum())
    low = 1 - rise(np.asarray(down / side, np.float32), *_FRINGE_DOWN)
    return np.asarray(hanging * low * (1 - ramp(share, *_PARTED)), np.float32)


def strands_beside(
    must: NDArray[np.bool_], head: Float32, bare: Float32, fringe: Float32
) -> Strands | None:
    """The hair that hangs over a face; None where none does.

    Args:
        must: bool[s, s], the identity outline.
        head: float32[s, s, 3] of the same crop.
        bare: float32[s, s], how surely its places are skin, without spots.
        fringe: float32[s, s] of `fringe_over`.
    """
    no_skin = np.asarray(1 - bare, np.float32)
    inner = must.astype(np.uint8)
    near = np.asarray(cv2.dilate(inner, disc(_AROUND * len(must))), np.uint8)
    strip = np.maximum(_strip(inner, near, no_skin), fringe * near)
    if float(strip.max(initial=0)) < _SURELY[0]:
        return None
    return Strands(strip, spread_near(head, no_skin, _COLOUR * len(bare)))


def with_hair_over(pixels: Float32, head: BgrImage, strands: Strands) -> Float32:
    """Pixels of a patch with the hair that hangs over its sides, float32[S, S, 3].

    Args:
        pixels: float32[S, S, 3], in the tone of the head.
        head: uint8[S, S, 3] what the patch's crop shows of the picture.
        strands: of the same crop.
    """
    size = len(pixels)
    sharp = min(size, _SHARP)
    marks = cv2.resize(strands.marks, (sharp, sharp), interpolation=cv2.INTER_LINEAR)
    over = along_edges(np.asarray(marks, np.float32), brightness(head), _REACH * sharp)
    wide = cv2.resize(strands.colour, (size, size), interpolation=cv2.INTER_LINEAR)
    return laid_over(pixels, np.asarray(wide, np.float32), rise(over, *_SHARPLY))


def _strip(inner: NDArray[np.uint8], near: NDArray[np.uint8], no_skin: Float32) -> Float32:
    """How surely something lies over the face's sides and right beside them, float32[s, s].

    Args:
        inner: uint8[s, s], 1 within the identity outline.
        near: the same, and right beside it.
        no_skin: float32[s, s], how surely the head is no skin.
    """
    side, rows = len(inner), np.flatnonzero(inner.any(axis=1))
    if not len(rows):
        return np.zeros_like(no_skin)
    deep = np.asarray(cv2.distanceTransform(inner, cv2.DIST_L2, 3) / side, np.float32)
    ring = np.asarray(near - inner, np.float32)
    around = spread_near(no_skin, ring, _AROUND * side)
    steps = np.arange(side, dtype=np.float32)
    high = 1 - rise(steps, *np.quantile(rows, _HEIGHTS).tolist())
    both = rise(no_skin, *_SURELY) * rise(around, *_SURELY)
    return np.asarray(both * near * (1 - rise(deep, *_STRIP)) * high[:, None], np.float32)
