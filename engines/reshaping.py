"""Where a painted face ends and its surroundings begin: what gives a head another hairline.

Where hair begins is what tells people apart, while ears, jaw and neck hardly do
(`scripts/measure_heads.py`). So the forehead is the surrogate's up to a hairline of its own: what
was seen between the patch and the subject's hair, and the hair next to it, is left out, and the
surrogate's hair is drawn there, see `engines.hair_sources`. Farther out wide hair stays the
subject's own; where it is thin, drawn hair stands out somewhat farther. Beside a face and behind a
head nothing moves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.hairline import OUTLINE, Hair
from engines.head_traits import Trait, centred
from engines.polar import (
    DOWN,
    RAYS,
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
from engines.seam import skin_likeness
from engines.stylegan.drawing import between, rise

__all__ = [
    "ABOVE",
    "Rim",
    "filled_radii",
    "rim_of",
    "tapered",
]

_ENDS: Final = (1.1, 0.85, 0.72)
"""Where rays end above, beside and below the middle."""
_LEAST_WAY: Final = 0.25
_LEAST_HAIR: Final = 0.03
_CLEAR: Final = 0.15
"""How far beyond the patch, and beyond hair, a ray ends at least, and the least width of hair."""
_FULLER: Final = 0.08
_INSIDE_PATCH: Final = 0.035
"""How much farther than a surrogate's own outline its face reaches at most, to fill what it hides,
and how far from the end of the patch it ends: no ear and no hair need be drawn in over cheeks."""
_LEANER: Final = 0.8
_JAW: Final = (0.0, 0.35)
"""By what share less a jaw fills, and how steeply rays fall on which it is: in part, and wholly."""
_INSIDE_FACE: Final = 0.03
_RUNS_ON: Final = (0.1, 0.5)
"""How like it must be to what lies so far inside the outline: the likenesses at which it ends, and
goes on."""
_AT_EYES: Final = (0.30, 0.45)
_TAPER: Final = (np.array([0.5, 0.7, 0.85], np.float32), np.array([1, 0.93, 0.85], np.float32))
"""How steeply rays rise that end beside the eyes, and how wide a forehead is on steeper ones, as a
share of the width there."""
ABOVE: Final = (0.25, 0.65)
"""How steeply rays rise from which on hairlines are the surrogate's, in part and wholly."""
_SOME_HAIR: Final = (0.02, 0.06)
"""Widths of hair between which a head is no longer bald: who has no hair keeps his head."""
_AS_WIDE: Final = (0.8, 0.97)
"""How wide a side of the face is, beside the other one, for its hairline to lie high."""
_HAIRLINE: Final = (0.06, -0.05)
"""How far beyond the painted face hair begins above it, of the highest hairline and the lowest."""
_FEW_LOW: Final = 2.0
"""A power of the trait, 0 high and 1 low: larger makes more of them high. High ones hide more."""
_ARCH: Final = (0.2, 0.95)
"""How steeply rays rise from which on a hairline leaves the face, and from which on it is there."""
_SQUARE: Final = 0.04
_PARTING: Final = 0.03
_CORNERS: Final = 0.03
_WAVES: Final = 0.01
_RAGGED: Final = 0.005
"""How much farther out hair begins at most beside the forehead, to one side, at the corners of a
high hairline, and here and there."""
_TOP: Final = 0.97
"""How steeply rays rise that end at the top of a hairline."""
_CORNER_AT: Final = 0.8
_CORNER_WIDTH: Final = 0.12
"""How steeply rays rise at these corners, and how much that differs over them."""
_LEAST_SHARE: Final = 0.4
"""Share of the hair that is seen that a high hairline leaves."""
_GROWN: Final = (0.0, 0.25)
_SURE: Final = (0.005, 0.02)
"""How much a hairline must be the surrogate's, and how wide hair must surely be on a ray, for any
to be drawn there, and for it to be wholly."""
_FULL: Final = (0.0, 0.03)
_ENDS_OVER: Final = 0.03
"""How far hair that is drawn reaches beyond the subject's, at least and at most, before it ends,
and over what distance it does: outlines of heads tell people apart."""
_ON_TOP: Final = (0.4, 0.85)
_BESIDE: Final = 0.4
"""How steeply rays rise over which it comes to be as full as that; and over what share of the
distance it ends on others: beside a face, hair lies close."""
_CLOSE: Final = 0.03
_ENDS_CLOSE: Final = 0.03
"""How far beyond a face hair lies of which nothing is seen beside the patch, and over what distance
it ends: the patch may reach far beyond a head that is turned."""
_AROUND: Final = 0.06
"""How far beyond such hair a ray ends."""
_NEAR: Final = 0.10
_INTO: Final = 0.10
_NARROWER: Final = 0.4
"""How far from the hairline drawn hair hides all of the subject's, where that is wide, over what
distance it goes over into it, and what share of both is left beside the face."""
_ROOM: Final = (-0.02, 0.04)
"""Widths of the subject's hair beyond that between which it comes to stay."""

_STEP: Final = np.float32(REACH / STEPS)

Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Rim:
    """Where a painted face ends and its surroundings begin, float32[RAYS] each.

    Attributes:
        face: radius of the painted face, the surrogate's own and what fills the patch around it.
        painted: radius up to which face and forehead reach; surroundings begin there. Less than
            `face` under a fringe.
        source: radius from which surroundings are taken.
        outline: radius at which hair is seen to end.
        whole: radius up to which hair that is drawn hides all of the subject's.
        crown: radius at which it ends.
        end: radius from which on they stay as they are.
        altered: how much of the hairline is the surrogate's, 0 to 1.
        grown: how much of the surrogate's hair is drawn, 0 to 1.
        stays: how much of what is beyond `source` stays where it is, 0 to 1; the rest is drawn in.
    """

    face: Float32
    painted: Float32
    source: Float32
    outline: Float32
    whole: Float32
    crown: Float32
    end: Float32
    altered: Float32
    grown: Float32
    stays: Float32


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
    most = np.float32(_FULLER) * (1 - np.float32(_LEANER) * rise(DOWN, *_JAW))
    room = np.clip(hidden - np.float32(_INSIDE_PATCH) - outline, 0, most)
    fuller = np.minimum(width, room)
    return np.asarray(outline + smooth_around(fuller.astype(np.float32), 2.0), np.float32)


def tapered(face: Float32) -> Float32:
    """A face whose forehead is no wider than it is at the eyes, and narrower farther up.

    Landmarks at the temples of turned heads lie too far out; beyond the head, the forehead bulged.

    Args:
        face: float32[RAYS], radius of the painted face.

    Returns:
        float32[RAYS], no more anywhere.
    """
    shares = np.interp(UP, *_TAPER).astype(np.float32)
    result = face.copy()
    for side, width in _at_eyes(face):
        above = (side > 0) & (_AT_EYES[1] <= UP)
        widest = width * shares[above] / np.maximum(side[above], np.float32(1e-3))
        result[above] = np.minimum(face[above], widest)
    return np.minimum(smooth_around(result, 1.0), face)


def _at_eyes(radii: Float32) -> Iterator[tuple[Float32, Float32]]:
    """Both sides: how far rays point there, float32[RAYS], and how wide a face is at its eyes."""
    for side in (wave(1), -wave(1)):
        beside = (side > 0) & (_AT_EYES[0] < UP) & (_AT_EYES[1] > UP)
        yield side, (radii[beside] * side[beside]).mean()


def rim_of(face: Float32, hidden: Float32, hair: Hair | None, traits: Float32 | None) -> Rim:
    """What is painted, what is left out and where rays end.

    Args:
        face: float32[RAYS], radius of the painted face.
        hidden: float32[RAYS], radius of the patch.
        hair: of the subject; None as without traits.
        traits: float32[HEAD_TRAITS] of the surrogate; None leaves out nothing but the patch.
    """
    face = smooth_around(face, 1.0)
    patch = np.maximum(smooth_around(hidden, 1.2), face)
    least_end = np.maximum(ellipse(*_ENDS), patch + np.float32(_LEAST_WAY))
    if hair is None or traits is None:
        outline = np.maximum(OUTLINE, patch + np.float32(_LEAST_HAIR))
        end = np.maximum(least_end, outline + np.float32(_CLEAR))
        nothing = np.zeros_like(face)
        return Rim(face, face, patch, outline, outline, outline, end, nothing, nothing, nothing)
    begins, ends = smooth_around(hair.begins, 1.5), smooth_around(hair.ends, 2.0)
    altered = rise(np.maximum(ends - begins, 0), *_SOME_HAIR) * rise(UP, *ABOVE)
    altered = smooth_around(np.asarray(altered, np.float32), 2.0)
    source = patch + altered * (np.maximum(begins, patch) - patch)
    outline = np.maximum(ends, source + np.float32(_LEAST_HAIR))
    highest = outline - np.float32(_LEAST_SHARE) * (outline - source)
    painted = face + altered * (np.minimum(_hairline(face, traits), highest) - face)
    painted = smooth_around(np.asarray(painted, np.float32), 1.5)
    grown = _grown(hair, altered, source, outline)
    whole, crown = _drawn(painted, source, outline, altered, float(traits[Trait.FULL]))
    unseen = _unseen(hair)
    close = face + np.float32(_CLOSE)
    whole += unseen * (np.minimum(whole, close) - whole)
    crown += unseen * (np.minimum(crown, close + np.float32(_ENDS_CLOSE)) - crown)
    stays = grown * (1 - unseen)
    free = np.maximum(least_end, outline + np.float32(_CLEAR))
    end = free + stays * (np.maximum(crown, outline) + np.float32(_AROUND) - free)
    parts = (face, painted, source, outline, whole, crown, end, altered, grown, stays)
    return Rim(*(one.astype(np.float32) for one in parts))


def _drawn(
    painted: Float32, source: Float32, outline: Float32, altered: Float32, full: float
) -> tuple[Float32, Float32]:
    """Up to where drawn hair hides all of the subject's, and where it ends: float32[RAYS] each.

    Wide hair stays the subject's farther out; where there is too little of it for both, drawn hair
    reaches somewhat beyond.

    Args:
        painted: where it begins.
        source: where the subject's does.
        outline: where that ends.
        altered: how much of the hairline is the surrogate's, 0 to 1.
        full: how far its hair stands out, 0 to 1.
    """
    above = rise(UP, *_ON_TOP)
    whole = source + altered * (outline - source)
    whole += np.float32(between(_FULL, full)) * altered * above
    crown = whole + np.float32(_ENDS_OVER) * (_BESIDE + (1 - _BESIDE) * above)
    share = _NARROWER + (1 - _NARROWER) * above
    near = np.maximum(source, painted) + np.float32(_NEAR) * share
    into = near + np.float32(_INTO) * share
    stays = smooth_around(rise(np.asarray(outline - into, np.float32), *_ROOM), 2.0)
    whole += stays * (np.minimum(whole, near) - whole)
    crown += stays * (np.minimum(crown, into) - crown)
    return np.asarray(whole, np.float32), np.asarray(crown, np.float32)


def _unseen(hair: Hair) -> Float32:
    """How much of the hair on each ray lies under the patch, 0 to 1: float32[RAYS]."""
    width = np.maximum(hair.ends - hair.begins, _STEP / 4)
    share = np.clip(hair.hidden / width, 0, 1).astype(np.float32)
    return np.asarray(smooth_around(share, 1.0) * (1 - rise(UP, *_ON_TOP)), np.float32)


def _grown(hair: Hair, altered: Float32, source: Float32, outline: Float32) -> Float32:
    """How much of a surrogate's hair is drawn, 0 to 1, as there surely is some: float32[RAYS].

    On a head that has hair, hair is believed also where single places are in doubt.
    """
    out = distances()
    is_between = (out > source[:, None]) & (out < outline[:, None])
    width = np.asarray((hair.places * is_between).sum(axis=1) * _STEP, np.float32)
    sure = np.maximum(smooth_around(width, 2.0), smooth_around(hair.hidden, 2.0))
    sure = np.maximum(sure, width[ABOVE[1] < UP].mean())
    sure = np.clip(sure, 0, outline - source)
    grown = rise(altered, *_GROWN) * rise(sure, *_SURE)
    return np.minimum(smooth_around(np.asarray(grown, np.float32), 1.0), 1)


def _hairline(face: Float32, traits: Float32) -> Float32:
    """Where a surrogate's hair begins above its face, float32[RAYS]; follows how that is turned."""
    own = centred(traits)
    low = float(traits[Trait.HAIR_LOW]) ** _FEW_LOW
    corners = np.exp(-0.5 * np.square((UP - _CORNER_AT) / _CORNER_WIDTH))
    away = between(_HAIRLINE, low) + _SQUARE * own[Trait.SQUARE] * SIDE
    arch = _rounded(np.asarray(face + away * rise(UP, *_ARCH), np.float32))
    away = _CORNERS * (1 - low) * traits[Trait.RECEDING] * corners
    away = away + _PARTING * own[Trait.LEANING] * wave(1) + _WAVES * own[Trait.UNEVEN] * wave(5)
    away = away + _RAGGED * (wave(11, 9 * own[Trait.SQUARE]) + wave(17, 9 * own[Trait.LEANING]))
    away = arch - face + away * rise(UP, *_ARCH)
    # Behind the far side of a turned head is no room for a forehead.
    away = np.minimum(away, away * rise(face / _mirrored(face), *_AS_WIDE))
    return np.asarray(face + away, np.float32)


def _rounded(hairline: Float32) -> Float32:
    """A hairline that comes down to the temples as an ellipse does, float32[RAYS]."""
    top = hairline[UP > _TOP].mean()
    result = hairline.copy()
    for side, width in _at_eyes(hairline):
        above = (side > 0) & (_AT_EYES[0] < UP)
        round_ = 1 / np.hypot(side[above] / width, UP[above] / top)
        result[above] = np.minimum(hairline[above], round_)
    return np.minimum(smooth_around(result, 1.0), hairline)


def _mirrored(radii: Float32) -> Float32:
    """Radii float32[RAYS] with left and right exchanged.

    >>> _mirrored(wave(1)).round(3).tolist() == (-wave(1)).round(3).tolist()
    True
    """
    return radii[(RAYS // 2 - np.arange(RAYS)) % RAYS]
