"""Where what is around a painted face is taken from, and where hair is drawn instead.

Beyond the roots that are left out a head stays where it is. From there inwards to the surrogate's
hairline hair is drawn (`engines.hair_strands`), which gives way to the subject's own farther out.
Where a hairline stays the subject's, what is beside the face is stretched instead: ears and necks
shall not be seen twice. All sources are pixels of the composite beyond the patch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.polar import distances, smooth_around
from engines.reshaping import Rim
from engines.stylegan.drawing import rise

__all__ = ["Sources", "sources_of"]

_LAID: Final = (0.0, 0.25)
"""How much a hairline is the surrogate's where all that is seen is stretched, and where hair is
drawn."""
_SURELY: Final = (0.005, 0.02)
"""How wide hair must surely be on a ray for any to be drawn there, and for it to be wholly."""
_BLENDED: Final = (0.03, 0.16)
_OF_HAIR: Final = 0.8
"""Over what distance drawn hair gives way to the subject's own, at least and at most, and what
share of that is there."""

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

    `Sources.distance` is `rim.outline` where hair shall end, and a place's own from the ray's end
    on. Between these two it is a monotone cubic (Fritsch and Carlson 1980).
    """
    out = distances()
    share = rise(rim.altered, *_LAID) * rise(rim.surely - rim.source, *_SURELY)
    share = np.minimum(smooth_around(np.asarray(share, np.float32), 1.0), 1)
    stretched = _stretched(rim, out)
    moved = stretched + (_straight(rim, out) - stretched) * share[:, None]
    seen = np.maximum(moved, rim.source[:, None])
    distance = np.asarray(np.where(out < rim.end[:, None], seen, out), np.float32)
    width = np.clip(np.float32(_OF_HAIR) * (rim.surely - rim.source), *_BLENDED)
    gives_way = (moved - rim.source[:, None]) / width[:, None]
    drawn = share[:, None] * (1 - rise(gives_way.astype(np.float32), 0.0, 1.0))
    return Sources(distance, np.asarray(drawn, np.float32))


def _stretched(rim: Rim, out: Float32) -> Float32:
    """Sources that grow along a ray: all that is seen from `rim.source` on is drawn in."""
    painted, source, outline, drawn, end = _columns(rim)
    near, far = (outline - source) / (drawn - painted), (end - outline) / (end - drawn)
    middle = 2 * near * far / (near + far)
    first, last = (np.clip(1.5 * one - 0.5 * middle, 0, 3 * one) for one in (near, far))
    hair = _cubic(out, (painted, drawn), (source, outline), (first, middle))
    behind = _cubic(out, (drawn, end), (outline, end), (middle, last))
    inside = np.maximum(source + (out - painted) * first, np.float32(0.01))
    return np.asarray(np.where(out < drawn, np.where(out < painted, inside, hair), behind))


def _straight(rim: Rim, out: Float32) -> Float32:
    """Sources that go on inwards from hair's end, strand by strand as large as they were seen."""
    _, _, outline, drawn, end = _columns(rim)
    far = (end - outline) / (end - drawn)
    near, last = np.minimum(1, 3 * far), np.clip(1.5 * far - 0.5, 0, 3 * far)
    slopes = (near.astype(np.float32), last.astype(np.float32))
    behind = _cubic(out, (drawn, end), (outline, end), slopes)
    return np.asarray(np.where(out < drawn, outline - (drawn - out), behind), np.float32)


def _columns(rim: Rim) -> tuple[Float32, ...]:
    """Where the painted face ends, sources begin, hair ends, is to end, and rays do: [RAYS, 1]."""
    radii = (rim.painted, rim.source, rim.outline, rim.drawn, rim.end)
    return tuple(one[:, None] for one in radii)


def _cubic(
    at: Float32,
    ends: tuple[Float32, Float32],
    values: tuple[Float32, Float32],
    slopes: tuple[Float32, Float32],
) -> Float32:
    """A cubic between two places with given values and slopes there (Hermite)."""
    width = ends[1] - ends[0]
    way = np.clip((at - ends[0]) / width, 0, 1)
    back = 1 - way
    start = back * back * ((1 + 2 * way) * values[0] + way * width * slopes[0])
    finish = way * way * ((1 + 2 * back) * values[1] - back * width * slopes[1])
    return np.asarray(start + finish, np.float32)
