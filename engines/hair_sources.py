"""Where hair around a painted face is taken from: beyond the subject's hairline, laid on inwards.

Beyond the roots that are left out a head stays where it is. From there inwards to the surrogate's
hairline hair is laid, taken from the rays on which there is most of it, moved and turned but not
mirrored along its strands: these keep their size and direction. Where it does not suffice it is
laid once more, and stretched by a bounded factor where that does not either. Each time it is
blended into what lies farther out. Where a hairline stays the subject's, what is beside the face is
stretched instead: ears and necks shall not be seen twice. All sources are pixels of the composite
beyond the patch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.polar import RAYS, TURNS, distances, smooth_around
from engines.reshaping import Rim
from engines.stylegan.drawing import rise

__all__ = ["Laid", "Sources", "laid_again", "sources_of"]

_LAID: Final = (0.0, 0.25)
"""How much a hairline is the surrogate's where all that is seen is stretched, and where hair is
laid."""
_SURELY: Final = (0.01, 0.05)
"""How wide hair must surely be on a ray for any to be laid there, and for it to be wholly."""
_THIN: Final = 0.4
_THIN_MOST: Final = 0.08
"""Share of hair's width, and most of it, that is never laid: what is behind it shows through where
it ends."""
_KEPT: Final = 0.05
"""How far inwards what is seen goes on at most before hair is laid, where hardly any is."""
_UNDER: Final = 0.06
"""How far hair goes on inside the hairline, where it is blended into the forehead."""
_BLENDED: Final = 0.45
"""Over what share of itself hair that is laid again is blended into what lies farther out."""
_THICK: Final = 0.6
"""How much of the thickest hair there must be on a ray for hair to be taken from it."""
_WIDTHS: Final = (0.35, 1.5)
"""How far from the middle of thick hair that is, radians, at least and at most."""
_TIMES: Final = 2.0
_LARGER: Final = 2.5
"""How often hair is laid before it is stretched, and by what factor it is at most."""
_ASIDE: Final = np.array([0.0, 0.06, -0.05, 0.02, -0.03], np.float32)
"""How far aside hair is taken from each time it is laid: in rows it would look like a basket."""
_LEAST_PERIOD: Final = 0.02
_LEAST_BLEND: Final = 0.004

Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Sources:
    """Where places are taken from, shares of the patch's side: float32[RAYS, STEPS] each.

    Attributes:
        distance: from the middle of the patch where what is there is seen.
        beyond: how far that is beyond the roots of hair; where it is negative, hair is laid.
        right: where on its ray the hair that is laid begins, right of the middle.
        below: the same below it.
        along_right: that ray's direction, of length 1.
        along_below: the same.
        period: how much hair is laid each time, positive.
        blend: over what distance it is blended into what lies farther out, positive and less.
    """

    distance: Float32
    beyond: Float32
    right: Float32
    below: Float32
    along_right: Float32
    along_below: Float32
    period: Float32
    blend: Float32


@dataclass(frozen=True, slots=True)
class Laid:
    """Two places on a ray of hair that one is blended from: arrays of one shape.

    Attributes:
        is_laid: whether the first is seen; elsewhere what is there is.
        first: how far beyond the hair's beginning the first lies.
        first_aside: how far beside that ray.
        second: the same of the second.
        second_aside: the same.
        share: of the second, 0 to 1.
    """

    is_laid: NDArray[np.bool_]
    first: Float32
    first_aside: Float32
    second: Float32
    second_aside: Float32
    share: Float32


def sources_of(rim: Rim) -> Sources:
    """Where everything around a painted face is taken from.

    `Sources.distance` is `rim.outline` where hair shall end, and a place's own from the ray's end
    on. Between these two it is a monotone cubic (Fritsch and Carlson 1980).
    """
    out = distances()
    share = rise(rim.altered, *_LAID) * rise(rim.surely - rim.source, *_SURELY)
    share = smooth_around(np.asarray(share, np.float32), 1.0)
    stretched = _stretched(rim, out)
    moved = stretched + (_straight(rim, out) - stretched) * share[:, None]
    kept = np.float32(_KEPT) * (1 - share[:, None])
    beyond = np.asarray(moved - rim.source[:, None] + kept, np.float32)
    inside = np.maximum(rim.painted[:, None] - out, 0)
    seen = np.maximum(moved, rim.source[:, None] - 3 * inside)
    distance = np.asarray(np.where(out < rim.end[:, None], seen, out), np.float32)
    turns = _turns(rim, share)
    begins, thick = (
        np.interp(turns, TURNS, one, period=2 * np.pi).astype(np.float32)
        for one in (rim.source, _thick(rim))
    )
    period, larger = _period(rim, share, thick)
    along = np.stack([np.cos(turns), np.sin(turns), begins * np.cos(turns), begins * np.sin(turns)])
    # No hair is blended in beyond where it is seen to end.
    blend = np.minimum(np.float32(_BLENDED) * period, rim.surely - rim.source)
    blend = np.maximum(blend, np.float32(_LEAST_BLEND))
    fields = (one.astype(np.float32)[:, None] for one in (*along[2:], *along[:2], period, blend))
    return Sources(
        distance,
        np.where(beyond < 0, beyond / larger[:, None], beyond).astype(np.float32),
        *(np.broadcast_to(one, distance.shape) for one in fields),
    )


def laid_again(beyond: Float32, period: Float32, blend: Float32) -> Laid:
    """Where hair that is laid is taken from.

    Args:
        beyond: as of `Sources`, any shape.
        period: the same.
        blend: the same.

    >>> each = np.full(4, 0.2, np.float32)
    >>> laid = laid_again(np.float32([-0.3, -0.1, 0.1, 0.5]), each, each / 2)
    >>> [round(float(one), 3) for one in laid.first]
    [0.1, 0.1, 0.1, 0.5]
    >>> float(laid.share[-1])
    0.0
    """
    is_laid = np.asarray(beyond < 0, np.bool_)
    first = np.asarray(np.where(is_laid, np.mod(beyond, period), beyond), np.float32)
    share = 1 - rise(np.asarray(first / blend, np.float32), 0.0, 1.0)
    times = np.where(is_laid, -np.floor(beyond / period), 0).astype(np.int64)
    own, next_ = (_ASIDE[one % len(_ASIDE)] for one in (times, times + 1))
    return Laid(is_laid, first, own, first + period, next_, share)


def _thick(rim: Rim) -> Float32:
    """How much hair there is that may be laid elsewhere: float32[RAYS]."""
    width = rim.outline - rim.source
    opaque = width - np.minimum(np.float32(_THIN) * width, np.float32(_THIN_MOST))
    return np.asarray(np.minimum(opaque, rim.surely - rim.source), np.float32)


def _turns(rim: Rim, share: Float32) -> Float32:
    """Directions of the rays that hair is taken from, radians: float32[RAYS].

    A ray's own near the middle of thick hair, and folded back to it farther away.
    """
    thick = smooth_around(_thick(rim) * share, 2.0)
    thick = np.maximum(thick, 0) + np.float32(1e-6)
    weight = thick * thick
    middle = np.arctan2((weight * np.sin(TURNS)).sum(), (weight * np.cos(TURNS)).sum())
    width = np.clip((thick > _THICK * thick.max()).sum() * np.pi / RAYS, *_WIDTHS)
    away = np.mod(TURNS - middle + np.pi, 2 * np.pi) - np.pi
    way = np.mod(away + width, 4 * width)
    folded = np.minimum(way, 4 * width - way) - width
    return np.asarray(TURNS + (folded - away) * share, np.float32)


def _period(rim: Rim, share: Float32, thick: Float32) -> tuple[Float32, Float32]:
    """How much hair is laid each time, and how much larger than it was seen, float32[RAYS] each.

    Args:
        rim: where hair begins and ends.
        share: of rays on which hair is laid, 0 to 1.
        thick: float32[RAYS], how much hair there surely is to be taken.
    """
    wanted = rim.source - rim.outline + rim.drawn - rim.painted + np.float32(_UNDER)
    wanted = np.maximum(smooth_around(wanted.astype(np.float32) * share, 1.5), 0)
    surely = np.maximum(smooth_around(thick, 1.5) / np.float32(1 + _BLENDED), _LEAST_PERIOD)
    larger = np.clip(wanted / (np.float32(_TIMES) * surely), 1, np.float32(_LARGER))
    period = np.maximum(np.minimum(wanted / larger, surely), np.float32(_LEAST_PERIOD))
    return np.asarray(period, np.float32), np.asarray(larger, np.float32)


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
