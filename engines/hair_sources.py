"""Where what is around a painted face is taken from, and where hair is drawn instead.

From the surrogate's hairline into the subject's hair, or beyond it where that is thin, hair is
drawn (`engines.hair_strands`); what is behind the head stays where it is. Where a hairline stays
the subject's, what is beside the face is stretched instead: ears and necks shall not be seen twice.
All sources are pixels of the composite beyond the patch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.polar import distances
from engines.reshaping import Rim
from engines.stylegan.drawing import rise

__all__ = ["Sources", "sources_of"]

_LEAST: Final = np.float32(1e-3)
"""Over what distance hair ends at least, where none is drawn too."""

Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Sources:
    """Where places are taken from: float32[RAYS, STEPS] each.

    Attributes:
        distance: from the middle of the patch where what is there is seen, shares of its side.
        drawn: how much of it is drawn hair instead, 0 to 1.
    """

    distance: Float32
    drawn: Float32


def sources_of(rim: Rim) -> Sources:
    """Where everything around a painted face is taken from.

    Where hair is drawn over hair, a place stays where it is. Elsewhere `Sources.distance` is
    `rim.source` at the painted face's rim and a place's own from the ray's end on: between these
    two it is a monotone cubic (Fritsch and Carlson 1980).
    """
    out = distances()
    stretched = _stretched(rim, out)
    seen = np.maximum(stretched + (out - stretched) * rim.stays[:, None], rim.source[:, None])
    distance = np.asarray(np.where(out < rim.end[:, None], seen, out), np.float32)
    ends = (out - rim.whole[:, None]) / np.maximum(rim.crown - rim.whole, _LEAST)[:, None]
    drawn = rim.grown[:, None] * (1 - rise(ends.astype(np.float32), 0.0, 1.0))
    return Sources(distance, np.asarray(drawn, np.float32))


def _stretched(rim: Rim, out: Float32) -> Float32:
    """Sources that grow along a ray: all that is seen from `rim.source` on is drawn in."""
    painted, source, end = (one[:, None] for one in (rim.painted, rim.source, rim.end))
    width = end - painted
    slope = (end - source) / width
    first, last = np.clip(1.5 * slope - 0.5, 0, 3 * slope), np.minimum(1, 3 * slope)
    way = np.clip((out - painted) / width, 0, 1)
    back = 1 - way
    start = back * back * ((1 + 2 * way) * source + way * width * first)
    finish = way * way * ((1 + 2 * back) * end - back * width * last)
    return np.asarray(start + finish, np.float32)
