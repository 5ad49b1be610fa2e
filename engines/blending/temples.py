"""Takes off what is left of glasses beside a painted face: their temples.

Glasses are hidden with the face that wears them, but for their temples, which reach from its edge
to the ears. They are thin and level, as hair there is not, and go on within the face. What is
darker or brighter than what lies right above and below it, along such a line, is painted over with
that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.blending.patches import Patch, identity_mask_of
from engines.pictures import BgrImage
from engines.stylegan.drawing import brightness, laid_over, rise

__all__ = ["Temples", "temples_beside", "without_temples"]

_SIDE: Final = 192
"""Side at which temples are looked for, px at most."""
_LEAST_SIDE: Final = 128
"""Side of a patch, px, below which they are too thin to be seen."""
_THICK: Final = 0.045
_LONG: Final = 0.035
"""Height up to which, and length from which something is a temple, shares of the side."""
_HEIGHTS: Final = (0.24, 0.3, 0.44, 0.5)
"""Heights over which temples come to lie and cease to, shares of the side."""
_REACH: Final = (0.12, 0.1)
"""How far temples are followed within the sides of the identity outline and beyond, shares of the
side."""
_FADES: Final = 0.02
_STANDS_OUT: Final = (7.0, 18.0)
"""Grey levels over which something comes to stand out from what is above and below it."""
_CLEARLY: Final = 0.3
_GAP: Final = 0.06
"""Certainty from which a line counts, and the gaps over which it goes on, a share of the side."""

Float32 = NDArray[np.float32]
UInt8 = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Temples:
    """Temples of glasses in a band of a crop.

    Attributes:
        bare: float32[h, s, 3] BGR, the band without them.
        weight: float32[h, s] in [0, 1], how surely they are there.
    """

    bare: Float32
    weight: Float32


def temples_beside(patch: Patch, head: BgrImage) -> Temples | None:
    """The temples that are seen beside a patch; None where there are none.

    Args:
        patch: painted, at any size.
        head: uint8[S, S, 3] what its crop shows of the picture.
    """
    size = patch.alpha.shape[0]
    if size < _LEAST_SIDE:
        return None
    side = min(size, _SIDE)
    must = identity_mask_of(patch, side)[_band(side)].astype(np.uint8)
    low = (side, len(must))
    small = np.asarray(cv2.resize(head[_band(size)], low, interpolation=cv2.INTER_AREA), np.uint8)
    bare, weight = _without_lines(small, _nearby(must))
    weight = weight * _joined(np.asarray(weight > _CLEARLY, np.uint8), must)
    return Temples(bare, weight) if weight.any() else None


def without_temples(patch: Patch, temples: Temples) -> Patch:
    """The patch, and with it painted over what is seen of temples beside it.

    Args:
        patch: painted, at any size.
        temples: beside it, or beside one of the same face a few frames before.
    """
    band = _band(patch.alpha.shape[0])
    pixels, alpha = patch.pixels.copy(), patch.alpha.copy()
    high = alpha[band].shape[::-1]
    fill = np.asarray(cv2.resize(temples.bare, high), np.float32)
    hidden = cv2.resize(temples.weight, high) * (1 - alpha[band])
    alpha[band] += hidden
    share = np.asarray(hidden / np.maximum(alpha[band], np.float32(1e-6)), np.float32)
    pixels[band] = laid_over(pixels[band], fill, share)
    return replace(patch, pixels=pixels, alpha=alpha)


def _band(side: int) -> slice:
    """Rows of a crop in which temples may lie."""
    return slice(round(_HEIGHTS[0] * side), round(_HEIGHTS[-1] * side))


def _without_lines(head: UInt8, where: Float32) -> tuple[Float32, Float32]:
    """A head without level lines, and how surely they are: float32[h, s, 3] and [h, s]."""
    side = head.shape[1]
    upright = np.ones((max(round(_THICK * side), 1), 1), np.uint8)
    closed = np.asarray(cv2.morphologyEx(head, cv2.MORPH_CLOSE, upright), np.uint8)
    opened = np.asarray(cv2.morphologyEx(head, cv2.MORPH_OPEN, upright), np.uint8)
    grey = brightness(head)
    dark = _level(brightness(closed) - grey) * where
    bright = _level(grey - brightness(opened)) * where
    filled = np.where((bright > dark)[..., None], opened, closed).astype(np.float32)
    return np.asarray(cv2.GaussianBlur(filled, (0, 0), 1.0), np.float32), np.maximum(dark, bright)


def _level(stands_out: Float32) -> Float32:
    """How surely what stands out, grey levels float32[h, s], is a level line: float32[h, s]."""
    along = np.ones((1, max(round(_LONG * stands_out.shape[1]), 1)), np.uint8)
    lines = np.asarray(cv2.morphologyEx(stands_out, cv2.MORPH_OPEN, along), np.float32)
    near = cv2.dilate(rise(lines, *_STANDS_OUT), np.ones((3, 3), np.uint8))
    return np.asarray(cv2.GaussianBlur(near, (0, 0), 0.7), np.float32)


def _nearby(must: UInt8) -> Float32:
    """1 where temples may lie at the sides of the identity outline uint8[h, s]: float32[h, s]."""
    columns = np.flatnonzero(must.any(axis=0))
    if not len(columns):
        return np.zeros(must.shape, np.float32)
    height, side = must.shape
    steps, rows = np.arange(side), _HEIGHTS[0] + (np.arange(height) + 0.5) / side
    first, start, end, last = _HEIGHTS
    level = rise(np.asarray(rows, np.float32), first, start)
    level *= rise(np.asarray(rows, np.float32), last, end)
    beyond = np.maximum(columns[0] - steps, steps - columns[-1]) / np.float32(side)
    within, out = _REACH
    beside = rise(np.asarray(beyond, np.float32), -within - _FADES, -within)
    return np.outer(level, beside * rise(np.asarray(beyond, np.float32), out + _FADES, out))


def _joined(marks: UInt8, must: UInt8) -> UInt8:
    """Marks that reach into the identity outline, over gaps, and their rims: uint8[h, s]."""
    bridge = np.ones((5, max(round(_GAP * marks.shape[1]), 5)), np.uint8)
    count, labels = cv2.connectedComponents(cv2.dilate(marks, bridge))
    within = np.bincount(labels[(must & marks) > 0], minlength=count) > 0
    within[0] = False
    return np.asarray(within[labels], np.uint8)
