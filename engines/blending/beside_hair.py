"""Hair that hangs over the sides of a face goes on over the painted one.

What must be hidden of a face ends in straight lines from its brows to its cheekbones. Where long
hair or headphones reach in over these, painted skin would lie over them with a corner. What is
around a face and goes on within it there, and is no skin, is drawn over a narrow strip of the
painted one: its colour alone, as a blur has it, so that nothing of the face that is hidden comes
through.
"""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.blending.occlusion import along_edges
from engines.blending.patches import Patch, identity_mask_of
from engines.face.crop_regions import disc
from engines.pictures import BgrImage
from engines.stylegan.drawing import brightness, laid_over, rise, spread_near

__all__ = ["with_hair_over"]

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


def with_hair_over(patch: Patch, head: BgrImage, bare: Float32) -> Float32:
    """The patch's pixels with the hair that hangs over its sides, float32[S, S, 3].

    Args:
        patch: in the tone of its head, at any size.
        head: uint8[S, S, 3] what its crop shows of the picture.
        bare: float32[s, s] of the same crop, how surely places are skin, without spots.
    """
    side, size = len(bare), patch.alpha.shape[0]
    must = identity_mask_of(patch, side)
    no_skin = np.asarray(1 - bare, np.float32)
    strip = _strip(must, no_skin)
    if float(strip.max(initial=0)) < _SURELY[0]:
        return patch.pixels
    small = cv2.resize(head, (side, side), interpolation=cv2.INTER_AREA).astype(np.float32)
    colour = spread_near(np.asarray(small, np.float32), no_skin, _COLOUR * side)
    sharp = min(size, _SHARP)
    marks = cv2.resize(strip, (sharp, sharp), interpolation=cv2.INTER_LINEAR)
    over = along_edges(np.asarray(marks, np.float32), brightness(head), _REACH * sharp)
    wide = cv2.resize(colour, (size, size), interpolation=cv2.INTER_LINEAR)
    return laid_over(patch.pixels, np.asarray(wide, np.float32), rise(over, *_SHARPLY))


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
