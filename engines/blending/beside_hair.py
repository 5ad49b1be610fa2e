"""Hair that hangs over the sides of a face goes on over the painted one.

What must be hidden of a face ends in straight lines from its brows to its cheekbones. Where long
hair or headphones reach in over these, painted skin would lie over them with a corner. What is
around a face and goes on within it there, and is no skin, is drawn over a narrow strip of the
painted one: its colour alone, as a blur has it, so that nothing of the face that is hidden comes
through.
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
from engines.stylegan.drawing import brightness, laid_over, rise, spread_near

__all__ = ["Strands", "strands_beside", "with_hair_over"]

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


def strands_beside(must: NDArray[np.bool_], head: Float32, bare: Float32) -> Strands | None:
    """The hair that hangs over the sides of a face; None where none does.

    Args:
        must: bool[s, s], the identity outline.
        head: float32[s, s, 3] of the same crop.
        bare: float32[s, s], how surely its places are skin, without spots.
    """
    no_skin = np.asarray(1 - bare, np.float32)
    strip = _strip(must, no_skin)
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


def _strip(must: NDArray[np.bool_], no_skin: Float32) -> Float32:
    """How surely something lies over the face's sides and right beside them, float32[s, s].

    Args:
        must: bool[s, s], the identity outline.
        no_skin: float32[s, s], how surely the head is no skin.
    """
    side, inner = len(must), must.astype(np.uint8)
    rows = np.flatnonzero(must.any(axis=1))
    if not len(rows):
        return np.zeros_like(no_skin)
    deep = np.asarray(cv2.distanceTransform(inner, cv2.DIST_L2, 3) / side, np.float32)
    near = cv2.dilate(inner, disc(_AROUND * side))
    ring = np.asarray(near - inner, np.float32)
    around = spread_near(no_skin, ring, _AROUND * side)
    steps = np.arange(side, dtype=np.float32)
    high = 1 - rise(steps, *np.quantile(rows, _HEIGHTS).tolist())
    both = rise(no_skin, *_SURELY) * rise(around, *_SURELY)
    return np.asarray(both * near * (1 - rise(deep, *_STRIP)) * high[:, None], np.float32)
