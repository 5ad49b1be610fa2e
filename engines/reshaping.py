"""Where what is around a painted face comes from: the map that moves a head's outline.

Nothing is taken from under the patch, and little from the band above it where hair begins: that is
what tells people apart, while ears, jaw and neck hardly do (`scripts/measure_heads.py`). What lies
farther out is drawn inwards up to the painted face along rays from its middle, most next to it and
nothing at the end of a ray. Hair is stretched by a bounded factor and sinks by a bounded way; how
far, differs from surrogate to surrogate and from direction to direction: heads become taller, wider
or lean. All sources are pixels of the composite beyond the patch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.head_traits import Trait, centred
from engines.polar import (
    DOWN,
    REACH,
    SIDE,
    STEPS,
    UP,
    along,
    distances,
    ellipse,
    smooth_around,
    wave,
)
from engines.seam import farthest, skin_likeness
from engines.stylegan.drawing import between, rise

__all__ = [
    "Rim",
    "filled_radii",
    "forehead_distances",
    "hair_width",
    "headness",
    "is_forehead",
    "leaning",
    "rim_of",
    "source_distances",
]

_ENDS: Final = (1.1, 0.85, 0.72)
"""Where rays end above, beside and below the middle."""
_LEAST_WAY: Final = 0.25
_LEAST_HAIR: Final = 0.03
"""How far beyond the patch a ray ends at least, and the least width of hair on it."""
_LEFT_OUT: Final = (0.28, 0.05, 0.08)
"""How much beyond the patch is left out above, beside and below it: the hairline is above."""
_MOST_OF_HAIR: Final = (0.95, 0.45)
"""Share of what is left of hair there that is left out at most, above the face and beside it."""
_FULLER: Final = 0.08
_INSIDE_PATCH: Final = 0.035
"""How much farther than a surrogate's own outline its face reaches at most, to fill what it hides,
and how far from the end of the patch it ends: no ear and no hair need be drawn in over cheeks."""
_INSIDE_FACE: Final = 0.03
_RUNS_ON: Final = (0.1, 0.5)
"""How like it must be to what lies so far inside the outline: the likenesses at which it ends, and
goes on."""
_VARIED: Final = 0.08
"""How far the outline of hair moves at most, from surrogate to surrogate."""
_STRETCH: Final = (0.8, 2.5, 3.0)
"""How many times as wide what is left of hair may become: at least, and at most above the face and
beside it. Drawn out farther it looks combed back."""
_BESIDE: Final = (0.95, 0.6)
"""How steeply rays rise that are above a face, and beside it."""
_SINKS: Final = 0.2
"""How much lower what is left of hair may end than it would, rather than less be left out."""
_LOWER: Final = 0.7
"""By which share less it moves below the face: necks are told apart by little."""
_HAIRLINE: Final = (0.02, -0.13)
_TEMPLES: Final = 0.05
_PARTING: Final = 0.04
"""How far beyond the painted face hair begins above it, of the highest hairline and the lowest; how
much more or less so at the temples, and to one side."""
_SHOWN: Final = 0.06
"""Hair that is left above the highest forehead at least."""
_FOREHEAD: Final = 0.10
"""How much of the upper face is drawn up to a high hairline."""
_LEAN: Final = 0.05
_HEAD: Final = (0.90, 0.60, 0.65)
_BEYOND_HEAD: Final = (0.9, 1.2)
"""Where heads with much hair end above, beside and below the middle, and between which shares of
that nothing counts as head any more."""
_NEXT: Final = 0.05
"""How far beyond the patch hair is next to it."""
_TOLD: Final = 10.0
"""Difference of colour, grey levels, at which hair is told from what is behind a head."""
_SPREAD: Final = 3.0
_GAP: Final = 5
"""Rays to both sides across which a gap in hair is closed."""
_FAINT: Final = 1e-3

_STEP: Final = np.float32(REACH / STEPS)

Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Rim:
    """Where a painted face ends and its surroundings begin, float32[RAYS] each.

    Attributes:
        face: radius of the painted face, the surrogate's own and what fills the patch around it.
        painted: radius up to which the face and its forehead reach; surroundings begin there.
        source: radius from which surroundings are taken.
        outline: radius at which hair is seen to end.
        drawn: radius at which it shall end.
        end: radius from which on they stay where they are.
    """

    face: Float32
    painted: Float32
    source: Float32
    outline: Float32
    drawn: Float32
    end: Float32


def headness(around: Float32, hidden: Float32, skin: Float32) -> Float32:
    """How surely places on the rays belong to the head, by their colour: float32[RAYS, STEPS].

    A ray is on the head from the patch on for as long as its colour is rather that of hair or skin
    than that of the ray's end.

    Args:
        around: float32[RAYS, STEPS, 3] BGR.
        hidden: float32[RAYS], where the patch ends.
        skin: float32[3] BGR of the painted face.
    """
    out = distances()
    beyond = out - hidden[:, None]
    behind = smooth_around(around[:, out[0] > max(_ENDS)].mean(axis=1), _SPREAD)[:, None]
    from_wall = farthest(around - behind)
    next_to = (beyond > 0) & (beyond < _NEXT)
    weight = next_to * from_wall * UP[:, None] + np.float32(_FAINT) * next_to
    hair = (around * weight[..., None]).sum(axis=(0, 1)) / weight.sum()
    own = smooth_around((around * next_to[..., None]).sum(axis=1), _SPREAD)
    own /= smooth_around(next_to.sum(axis=1, dtype=np.float32), _SPREAD)[:, None]
    from_head = cv2.min(farthest(around - hair), farthest(around - skin))
    from_head = cv2.min(from_head, farthest(around - own[:, None]))
    wall, mine = (np.square(np.square(one)) for one in (from_wall, from_head))
    told = wall / (wall + mine + np.float32(_TOLD**4))
    told *= 1 - rise(out / ellipse(*_HEAD)[:, None], *_BEYOND_HEAD)
    told[beyond < 0] = 1
    return np.asarray(np.cumprod(told, axis=1), np.float32)


def hair_width(head: Float32, hidden: Float32) -> Float32:
    """How wide what is seen of hair is beyond the patch: float32[RAYS].

    Args:
        head: float32[RAYS, STEPS], see `headness`.
        hidden: float32[RAYS], radius of the patch.
    """
    found = (head * (distances() > hidden[:, None])).sum(axis=1) * _STEP
    # A gleam that looks like the wall ends a ray early: what both neighbours have is hair too.
    return smooth_around(_closed(found, _GAP), 3.0)


def _closed(values: Float32, rays: int) -> Float32:
    """Values of the rays without notches of up to twice so many of them (a closing)."""
    turns = range(-rays, rays + 1)
    widest = np.max([np.roll(values, turn) for turn in turns], axis=0)
    return np.asarray(np.min([np.roll(widest, turn) for turn in turns], axis=0), np.float32)


def filled_radii(outline: Float32, hidden: Float32, painted: Float32) -> Float32:
    """How far a painted face reaches: what runs on beyond its outline fills its patch.

    Args:
        outline: float32[RAYS], radius of the surrogate's own outline.
        hidden: float32[RAYS], radius of the patch.
        painted: float32[RAYS, STEPS, 3] BGR, the patch's pixels.
    """
    out, own = distances(), outline[:, None]
    inside = along(painted, own - np.float32(_INSIDE_FACE))
    # Nothing here jumps by whole steps: a face's rim would tremble.
    beyond = np.clip((out - own) / _STEP + np.float32(0.5), 0, 1)
    runs_on = 1 - beyond * (1 - rise(skin_likeness(painted, inside), *_RUNS_ON))
    width = (np.cumprod(runs_on, axis=1) * beyond).sum(axis=1) * _STEP
    room = np.clip(hidden - np.float32(_INSIDE_PATCH) - outline, 0, np.float32(_FULLER))
    fuller = np.minimum(width, room)
    return np.asarray(outline + smooth_around(fuller.astype(np.float32), 2.0), np.float32)


def rim_of(painted: Float32, hidden: Float32, hair: Float32, traits: Float32 | None) -> Rim:
    """What is painted, what is left out and where rays end.

    Args:
        painted: float32[RAYS], radius of the painted face.
        hidden: float32[RAYS], radius of the patch.
        hair: float32[RAYS], see `hair_width`.
        traits: float32[HEAD_TRAITS] of the surrogate; None leaves out nothing but the patch.
    """
    face = painted = smooth_around(painted, 1.0)
    source = np.maximum(smooth_around(hidden, 1.2), painted)
    end = np.maximum(ellipse(*_ENDS), source + np.float32(_LEAST_WAY))
    outline = np.clip(
        source + hair, source + np.float32(_LEAST_HAIR), end - np.float32(_LEAST_HAIR)
    )
    seen = outline - source
    if traits is not None:
        room = np.maximum(outline - np.float32(_SHOWN) - face, 0)
        painted = np.asarray(face + np.minimum(_hairline(traits), room), np.float32)
    wished = outline + _varied(traits) * (1 - np.float32(_LOWER) * DOWN) - painted
    least, above, beside = _STRETCH
    most = above + (beside - above) * rise(UP, *_BESIDE)
    if traits is not None:
        source = source + _left_out(seen, (wished - np.float32(_SINKS)) / most)
    left = outline - source
    width = smooth_around(np.clip(wished, least * left, most * left), _SPREAD)
    drawn = painted + np.maximum(width, least * left)
    end = np.maximum(end, drawn + np.float32(_LEAST_HAIR))
    return Rim(*(one.astype(np.float32) for one in (face, painted, source, outline, drawn, end)))


def _left_out(hair: Float32, needed: Float32) -> Float32:
    """How much beyond the patch is left out: float32[RAYS].

    Args:
        hair: float32[RAYS], how much is seen of hair.
        needed: float32[RAYS], how much of it must be left to be drawn out.
    """
    above, beside, below = _LEFT_OUT
    wanted = above * UP + beside * SIDE * (1 - DOWN) + below * DOWN
    high, low = _MOST_OF_HAIR
    most = np.minimum(wanted, (low + (high - low) * UP) * hair)
    left_out = smooth_around(np.clip(hair - needed, 0, most), _SPREAD)
    # Blurred, it would be more than there is where hair is narrow beside wide hair.
    return np.asarray(np.minimum(left_out, high * hair), np.float32)


def source_distances(rim: Rim) -> Float32:
    """For every place on the rays the distance it is taken from: float32[RAYS, STEPS].

    It grows along a ray: `rim.source` at the painted face, `rim.outline` where hair shall end, and
    a place's own distance from the ray's end on; between these a monotone cubic (Fritsch and
    Carlson 1980).
    """
    out = distances()
    painted, source, outline, drawn, end = (
        one[:, None] for one in (rim.painted, rim.source, rim.outline, rim.drawn, rim.end)
    )
    near, far = (outline - source) / (drawn - painted), (end - outline) / (end - drawn)
    middle = 2 * near * far / (near + far)
    first, last = (np.clip(1.5 * one - 0.5 * middle, 0, 3 * one) for one in (near, far))
    hair = _cubic(out, (painted, drawn), (source, outline), (first, middle))
    behind = _cubic(out, (drawn, end), (outline, end), (middle, last))
    inside = np.maximum(source + (out - painted) * first, np.float32(0.01))
    moved = np.where(out < drawn, np.where(out < painted, inside, hair), behind)
    return np.asarray(np.where(out < end, moved, out), np.float32)


def forehead_distances(rim: Rim) -> Float32:
    """The same for the forehead: painted skin is drawn up to a high hairline.

    It grows along a ray, from its own distance some way inside the painted face to the face's rim
    where hair begins.
    """
    inner, out = (rim.face - np.float32(_FOREHEAD))[:, None], distances()
    raised = np.maximum(rim.painted - rim.face, 0)[:, None]
    slope = np.float32(_FOREHEAD) / (np.float32(_FOREHEAD) + raised)
    return np.asarray(np.where(out < inner, out, inner + (out - inner) * slope), np.float32)


def is_forehead(rim: Rim) -> Float32:
    """1 where that shows, under the rim of hair too, 0 elsewhere: float32[RAYS, STEPS]."""
    out, raised = distances(), (rim.painted - rim.face)[:, None]
    inside = (out > (rim.face - np.float32(_FOREHEAD))[:, None]) & (
        out < rim.painted[:, None] + 0.05
    )
    return np.asarray(inside * rise(raised, 0.0, 0.01), np.float32)


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


def leaning(rim: Rim, traits: Float32 | None) -> Float32:
    """How far to the right what is above a face is taken from: float32[RAYS, STEPS]."""
    if traits is None:
        return np.zeros((len(UP), distances().shape[1]), np.float32)
    way = np.clip((distances() - rim.painted[:, None]) / (rim.end - rim.painted)[:, None], 0, 1)
    lean = -_LEAN * float(centred(traits)[Trait.LEANING])
    return np.asarray(lean * 4 * way * (1 - way) * (UP * UP)[:, None], np.float32)


def _hairline(traits: Float32) -> Float32:
    """How far beyond the painted face hair begins, below 0 for a fringe: float32[RAYS]."""
    own = centred(traits)
    high = between(_HAIRLINE, float(traits[Trait.HAIR_LOW]))
    beside = _TEMPLES * own[Trait.SQUARE] * SIDE + _PARTING * own[Trait.LEANING] * wave(1)
    return np.asarray(smooth_around((high + beside) * UP * UP, 2.0), np.float32)


def _varied(traits: Float32 | None) -> Float32:
    if traits is None:
        return np.zeros(len(UP), np.float32)
    own = centred(traits)
    parts = (
        own[Trait.TALL] * UP
        + own[Trait.WIDE] * SIDE
        + own[Trait.LEANING] * wave(1) * (0.3 + UP)
        + 0.7 * own[Trait.SQUARE] * wave(2, np.pi / 2)
        + 0.5 * own[Trait.UNEVEN] * wave(3)
    )
    return np.asarray(_VARIED * np.clip(parts, -1, 1), np.float32)
