"""Gives hair one colour of its own: broad light and shade go, strands stay.

How hair shines and how its colours lie tells heads apart, next to the hairline above all
(`scripts/measure_heads.py`). So what is surely hair is brought to the mean colour of all of it, as
coarsely as rays see it; what is finer, the strands, is left. What was taken for hair among it, a
patch of skin or a finger, gets its colour too. Hair of small faces, which shows no strands, stays
as it is.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.polar import distances
from engines.reshaping import Rim
from engines.stylegan.drawing import rise

__all__ = ["evened"]

_LEAST: Final = 20.0
"""Places that must be hair for it to have a colour."""
_UNDER: Final = 0.03
_BEHIND: Final = 0.05
_ENDS: Final = 0.1
"""How far hair reaches under the forehead and beyond its end; how softly this ends with rays."""
_SHOWS_STRANDS: Final = (80.0, 130.0)
"""Sides of a patch, px of the frame, from which on hair is made even, in part and wholly: without
strands it looks like plastic."""

Float32 = NDArray[np.float32]


def evened(drawn: Float32, surely: Float32, rim: Rim, side_px: float) -> Float32:
    """What must be added to surroundings: float32[RAYS, STEPS, 3].

    Args:
        drawn: float32[RAYS, STEPS, 3] BGR, the surroundings as they were drawn in.
        surely: float32[RAYS, STEPS], how surely each place of them is hair, 0 to 1.
        rim: where hair begins and ends; nothing is added where it stays the subject's.
        side_px: the patch's side, px of the frame.
    """
    out, painted = distances(), rim.painted[:, None]
    surely = surely * rim.altered[:, None]
    is_seen = (out > painted) & (out < rim.drawn[:, None] + np.float32(_BEHIND))
    counts = surely * is_seen
    total = counts.sum()
    if total < _LEAST:
        return np.zeros_like(drawn)
    mean = np.einsum("rs,rsc->c", counts, drawn) / total
    weight = surely * (out > painted - np.float32(_UNDER))
    weight *= rise(rim.end[:, None] - out, 0.0, _ENDS)
    weight *= rise(np.full(1, side_px, np.float32), *_SHOWS_STRANDS)
    return np.asarray((mean - drawn) * weight[..., None], np.float32)
