"""Strands of a surrogate's hair as it is combed: drawn once, and laid on its head in every frame.

Noise is drawn out (line integral convolution, Cabral and Leedom 1993) from the crown, or towards it
where hair is combed back, on a sheet of the head's own units: half widths of the upper face across,
heights of its outline down. The sheet moves with the head as the face does. Sheets of finer strands
lie on the heads that are large enough in a frame to show them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.alignment import Similarity, scale_of, to_integer_centres
from engines.painted_head import Head, Trait
from engines.strands import grid, pulled_noise
from engines.stylegan.drawing import rise

__all__ = ["Combing", "combing_of", "fine_strands_on", "strands_on"]

_HALF_PX: Final = 24
_HEIGHT_PX: Final = 64
"""Pixels of a sheet per half width and per height of a face, of the coarsest."""
_REACH: Final = (2.7, 0.65, 1.45)
"""How far a sheet reaches to both sides, above the outline's top and below it, in those units."""
_FINER: Final = (2, 4)
_FINER_FROM: Final = (1.25, 2.5)
"""How much finer the others are, and from how many pixels of the frame per one of the coarse crop
on they are shown."""
_LONGER: Final = (8,)
"""Further steps along which fine strands are drawn out, px of their sheet."""
_COARSE: Final = 0.7
"""Deviation of the blur, px of the coarsest sheet, whose picture is left out of the finer ones."""
_CROWN: Final = 0.45
_BACK: Final = 1.0
"""Point that strands leave: so far above the outline's top where hair falls on to the forehead, so
far below it where it is combed back from a high hairline; shares of the outline's height."""
_COMBED_BACK: Final = 0.5
"""How low the hair comes down, from 0 to 1, below which it is combed back."""
_PARTING: Final = 2.0
"""How far apart that point is where hair leans most to either side, in half widths of the face."""
_STEEP: Final = 0.3
"""Distance from that point's level, in those heights, nearer than which strands lie no flatter."""
_FALLS: Final = 0.8
_FALLS_FROM: Final = (0.15, 0.6)
"""How much hair beside a face falls instead, and between which heights below its top it begins."""
_BENT: Final = 0.2
_WAVE: Final = 0.05
"""Deviation of the angle, radians, by which strands bend, and of the blur that makes it even, a
share of the sheet."""
_OFFSETS: Final = ((61, 0, 37), (0, 53, 29))
"""Rows and columns by which noise is moved, per unit of each trait of a combing, px."""
_FAINT: Final = 1e-3

Float32 = NDArray[np.float32]


class Combing(NamedTuple):
    """How hair lies: traits of a head, 0 to 1, see `engines.painted_head.Trait`."""

    low: float
    wide: float
    leaning: float


def combing_of(traits: Float32) -> Combing:
    """The combing among traits float32[HEAD_TRAITS]."""
    low, wide, leaning = (
        float(traits[one]) for one in (Trait.HAIR_LOW, Trait.HAIR_WIDE, Trait.HAIR_LEANING)
    )
    return Combing(low, wide, leaning)


def strands_on(head: Head, combing: Combing, side: int) -> Float32:
    """Strands on a head in its coarse crop: float32[side, side] of mean 0 and deviation near 1.

    Args:
        head: px of the crop.
        combing: of its hair.
        side: of the crop, px.
    """
    crop_from_crop = np.eye(2, 3, dtype=np.float32)
    return _laid(_sheet(combing, 1), 1, head, crop_from_crop, (side, side))


def fine_strands_on(
    head: Head, combing: Combing, crop_from_window: Similarity, shape: tuple[int, int]
) -> Float32 | None:
    """What finer strands add to the coarse ones: float32[shape], or None where none would show.

    Args:
        head: px of the coarse crop.
        combing: of its hair.
        crop_from_window: map from a window of the frame to that crop.
        shape: rows and columns of the window.
    """
    pixels = 1 / max(scale_of(crop_from_window), _FAINT)
    finer = [one for one, least in zip(_FINER, _FINER_FROM, strict=True) if pixels >= least]
    if not finer:
        return None
    return _laid(_sheet(combing, finer[-1]), finer[-1], head, crop_from_window, shape)


def _laid(
    sheet: Float32, finer: int, head: Head, crop_from_window: Similarity, shape: tuple[int, int]
) -> Float32:
    """A sheet as it lies in a window: float32[shape]."""
    beside, above, _ = _REACH
    scale = np.array([_HALF_PX / head.half, _HEIGHT_PX / head.height]) * finer
    origin = np.array([head.middle, head.top])
    start = np.array([beside * _HALF_PX, above * _HEIGHT_PX]) * finer
    sheet_from_window = scale[:, None] * np.asarray(crop_from_window, np.float64)
    sheet_from_window[:, 2] += start - scale * origin
    laid = cv2.warpAffine(
        sheet,
        to_integer_centres(sheet_from_window.astype(np.float32)),
        shape[::-1],
        flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP,
        borderMode=cv2.BORDER_REFLECT,
    )
    return np.asarray(laid, np.float32)


@lru_cache(maxsize=32)
def _sheet(combing: Combing, finer: int) -> Float32:
    """Strands on a sheet so many times finer than the coarsest: float32[H, W], shared."""
    beside, above, below = _REACH
    height = round((above + below) * _HEIGHT_PX * finer)
    width = round(2 * beside * _HALF_PX * finer)
    side = max(height, width)
    rows, columns = grid(side)
    angle = _way(
        combing,
        columns / np.float32(_HALF_PX * finer) - np.float32(beside),
        rows / np.float32(_HEIGHT_PX * finer) - np.float32(above),
    )
    own = _own_place(combing)
    angle += _waves(own, side)
    steps = () if finer == 1 else _LONGER
    drawn = pulled_noise(np.cos(angle), np.sin(angle), own, steps)
    if finer > 1:
        drawn = drawn - cv2.GaussianBlur(drawn, (0, 0), _COARSE * finer)
    return np.ascontiguousarray(drawn[:height, :width], np.float32)


def _way(combing: Combing, beside: Float32, below: Float32) -> Float32:
    """The way along which strands lie, radians from the horizontal.

    Args:
        combing: of the hair.
        beside: float32[H, W], half widths right of the face's middle.
        below: float32[H, W], heights below its top.
    """
    is_back = combing.low < _COMBED_BACK
    falls = 1 - _FALLS * rise(below, *_FALLS_FROM)
    across = (beside - np.float32(_PARTING * (combing.leaning - 0.5))) * falls * _HALF_PX
    down = np.hypot(below - (_BACK if is_back else -_CROWN), _STEEP) * _HEIGHT_PX
    return np.asarray(np.arctan2(-down if is_back else down, across), np.float32)


def _own_place(combing: Combing) -> tuple[int, int]:
    """Where in the noise a head's strands begin: row and column."""
    rows, columns = (np.array(_OFFSETS) @ np.array(combing)).astype(int).tolist()
    return rows, columns


def _waves(own: tuple[int, int], side: int) -> Float32:
    """By what angles strands bend away from their way: float32[side, side], radians."""
    coarse = _HEIGHT_PX
    drawn = np.random.default_rng([*own]).standard_normal((coarse, coarse), np.float32)
    soft = cv2.GaussianBlur(drawn, (0, 0), _WAVE * coarse)
    wide = cv2.resize(soft * np.float32(_BENT / soft.std()), (side, side))
    return np.asarray(wide, np.float32)
