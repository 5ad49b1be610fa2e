"""The colour of a head's hair: what a surrogate's hair is drawn in.

How hair shines and how its colours lie tells heads apart (`scripts/measure_heads.py`); a mean, and
how much single places differ from it, hardly do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.hairline import Hair
from engines.natural_hair import LEAST_PLACES, allowed_by, naturalness
from engines.polar import UP, distances, smooth_around
from engines.reshaping import ABOVE, Rim
from engines.stylegan.drawing import LUMA, rise

__all__ = ["HairColour", "brow_colour", "hair_colour", "tone_beyond", "toned_hair"]

_RATHER: Final = 0.1
"""How much a place between where hair begins and where it ends counts at least."""
_ALIKE: Final = 40.0
_TURNS: Final = 2
"""How far from hair's colour a place counts little for it, grey levels, and how often that is
asked: headphones and caps are taken for hair too."""
_BEHIND: Final = 8
"""How many of a ray's last steps show what is behind a head; where hair goes over into it, its tone
is not looked at."""
_FAINT: Final = 1e-3
_BIN: Final = 16.0
"""Width of the bins in which the most usual brightness is looked for, grey levels."""
_MOST: Final = 0.2
_SHINES: Final = 25.0
_FINER: Final = 3.0
_BRIGHTEST: Final = 1.5
"""How much drawn strands differ at most, as a share of hair's brightness; how much brighter black
hair counts for that, as it shines too; what its own strands add to what rays see, grey levels; and
up to how many deviations strands are brighter than others."""
_MUCH_ALIKE: Final = 80.0
_WIDTH: Final = 0.15
_SPREAD: Final = 2.5
_SOME: Final = 0.5
_AT_ROOTS: Final = 0.5
_LEAST_WAY: Final = 0.02
"""The same for locks of hair; how wide the band of the subject's hair is whose tone drawn hair
takes on, over how many rays it is blurred, how many of a ray's steps must be hair for half of it,
how much of it is there at the hairline, and over what distance at least the rest comes."""

_BROWS: Final = (0.15, 0.75)
_BROW_RAYS: Final = 0.2
_DARKEST: Final = 0.05
_OF_BROWS: Final = 0.3
_LIKE_BROWS: Final = 20.0
_LEAST_FACE: Final = np.float32(0.1)
"""Where brows lie, shares of the way to the outline, on rays that rise so steeply; which share of
the places there are brows; how much hair of their colour differs from place to place,
and as how many places of hair that were seen they count; the least radius of a face."""

Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class HairColour:
    """What colour hair has.

    Attributes:
        mean: float32[3] BGR, 0 to 255.
        deviation: float32[3], how much it differs from place to place.
        seen: how many places tell so.
    """

    mean: Float32
    deviation: Float32
    seen: float = 0.0

    def stacked(self) -> Float32:
        """Both in one array, float32[2, 3]."""
        return np.stack([self.mean, self.deviation])

    def of_strands(self, strands: Float32, bright: Float32) -> Float32:
        """Colours float32[N, 4], BGR and 0, of strands that differ as much as hair does.

        Brightness is spread as a logarithmic normal distribution: dark hair is mostly darker than
        its mean, with a few bright strands.

        Args:
            strands: float32[N], brightness of strands, of deviation 1.
            bright: float32[N], how bright hair is there, about 1.

        >>> hair = HairColour(np.full(3, 50, np.float32), np.full(3, 10, np.float32))
        >>> hair.of_strands(np.float32([0, 1]), np.ones(2, np.float32))[:, 0].round().tolist()
        [49.0, 60.0]
        """
        if not len(strands):
            return np.zeros((0, 4), np.float32)
        shines = self.mean + np.float32(_SHINES)
        differs = np.minimum(self.deviation, np.float32(_MOST) * shines)
        skew = np.float32((differs / (self.mean + np.float32(_FINER))).mean())
        skewed = np.expm1(skew * (np.minimum(strands, np.float32(_BRIGHTEST)) - skew / 2)) / skew
        ways = np.zeros((4, 3), np.float32)
        ways[:3] = np.stack([shines, differs, self.mean - shines], axis=1)
        told = np.stack([bright, skewed], axis=1)[:, None]
        return np.asarray(cv2.transform(told, ways)[:, 0], np.float32)


def hair_colour(
    around: Float32, hair: Hair, seen: NDArray[np.bool_] | None = None
) -> HairColour | None:
    """The colour of what is surely hair; None where there is hardly any.

    What is beside a face does not count: it may be worn long, or be clothes.

    Args:
        around: float32[RAYS, STEPS, 3] BGR, the surroundings as they are seen.
        hair: as it was read of them.
        seen: bool[RAYS, STEPS], places that are seen, not made up; all where None.
    """
    out, ends = distances(), (hair.ends - hair.hidden)[:, None]
    rather = np.float32(_RATHER) * ((out > hair.begins[:, None]) & (out < ends))
    above = rise(UP, *ABOVE)[:, None]
    counts = np.asarray(np.maximum(hair.places, rather) * above, np.float32)
    if seen is not None:
        counts *= seen
    if counts.sum() < LEAST_PLACES:
        return None
    like = counts * _usual(around, counts)
    for _ in range(_TURNS):
        mean = np.einsum("rs,rsc->c", like, around) / like.sum()
        like = counts * (_likeness(around, mean) + np.float32(_FAINT))
    square = np.einsum("rs,rsc->c", like, np.square(around - mean)) / like.sum()
    deviation = np.sqrt(square) + np.float32(_FINER)
    return HairColour(mean.astype(np.float32), deviation.astype(np.float32), float(like.sum()))


def brow_colour(painted: Float32, outline: Float32) -> HairColour:
    """The colour of what is darkest above the middle of a painted face: its brows and lashes.

    Args:
        painted: float32[RAYS, STEPS, 3] BGR, the patch's pixels.
        outline: float32[RAYS], radius of the painted face.
    """
    share = distances() / np.maximum(outline, _LEAST_FACE)[:, None]
    places = painted[(share > _BROWS[0]) & (share < _BROWS[1]) & (UP > _BROW_RAYS)[:, None]]
    luma = places @ LUMA
    darkest = places[luma <= np.quantile(luma, _DARKEST)]
    mean = np.asarray(darkest.mean(axis=0), np.float32)
    deviation = mean * np.float32(_OF_BROWS) + np.float32(_FINER)
    return HairColour(mean, deviation, _LIKE_BROWS)


def tone_beyond(around: Float32, hair: Hair, rim: Rim, colour: HairColour) -> Float32:
    """How the subject's hair that stays beyond drawn hair differs from its mean: float32[RAYS, 3].

    Args:
        around: float32[RAYS, STEPS, 3] BGR, the surroundings as they are seen.
        hair: as it was read.
        rim: up to where all of it is drawn.
        colour: its mean.
    """
    out, first = distances(), rim.whole[:, None]
    last = np.minimum(first + np.float32(_WIDTH), (hair.ends - hair.hidden)[:, None])
    counts = hair.places * ((out > first) & (out < last)) * (1 - _likeness(around, _behind(around)))
    counts *= _likeness(around, colour.mean, _MUCH_ALIKE)
    counts *= naturalness(around, allowed_by(colour.mean))
    differs = np.einsum("rs,rsc->rc", counts, around - colour.mean).astype(np.float32)
    weight = smooth_around(counts.sum(axis=1).astype(np.float32), _SPREAD)
    tone = smooth_around(differs, _SPREAD) / (weight + np.float32(_SOME))[:, None]
    return np.asarray(tone, np.float32)


def toned_hair(tone: Float32, rim: Rim) -> Float32:
    """What is added to the colour of drawn hair: float32[RAYS, STEPS, 3].

    Args:
        tone: float32[RAYS, 3] as from `tone_beyond`.
        rim: where drawn hair begins, and hides all of the subject's.
    """
    width = np.maximum(rim.whole - rim.painted, np.float32(_LEAST_WAY))[:, None]
    way = rise(np.asarray((distances() - rim.painted[:, None]) / width, np.float32), 0.0, 1.0)
    share = np.float32(_AT_ROOTS) + np.float32(1 - _AT_ROOTS) * way
    return np.asarray(tone[:, None] * share[..., None], np.float32)


def _behind(around: Float32) -> Float32:
    """Colours behind the head: float32[RAYS, 1, 3]."""
    return np.asarray(around[:, -_BEHIND:].mean(axis=1, keepdims=True), np.float32)


def _likeness(around: Float32, colour: Float32, alike: float = _ALIKE) -> Float32:
    """1 where places have a colour, less where they differ: float32[RAYS, STEPS]."""
    apart = np.square(around - colour).mean(axis=2) / np.float32(alike * alike)
    return np.asarray(np.exp(-apart), np.float32)


def _usual(around: Float32, counts: Float32) -> Float32:
    """1 where places are about as bright as most of those that count: float32[RAYS, STEPS]."""
    luma = np.clip(around @ LUMA, 0, 255)
    bins = (luma / _BIN).astype(np.int64).ravel()
    found = np.bincount(bins, counts.ravel(), minlength=int(255 // _BIN) + 1)
    most = (np.argmax(np.convolve(found, np.ones(3), "same")) + 0.5) * _BIN
    return np.asarray(np.abs(luma - most) < _ALIKE, np.float32) + np.float32(_FAINT)
