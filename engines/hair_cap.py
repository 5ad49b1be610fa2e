"""Hair that is the surrogate's: a cap of it over every painted face.

Where hair ends on a forehead, and how light it is beside the skin, tells recognisers more than all
else around a face. So the hair next to the face is drawn: its place follows from the painted
outline and from a few traits of the surrogate, as do its brightness and its strands, see
`engines.combed_hair`, and of the subject's hair it takes only the hue. Towards its rim the cap
gives way to the smoothed hair, where that is of the same colour; before a wall it ends as a head
does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.combed_hair import combing_of, strands_on
from engines.painted_head import Head, Trait
from engines.strands import grid
from engines.stylegan.drawing import between, laid_over, rise

__all__ = ["LUMA", "HairCap", "alike", "hair_cap", "strand_levels", "surrogate_hair"]

_TOP: Final = (0.34, 0.46)
_BARE_TOP: Final = 0.22
_MOST_TOP: Final = 0.6
"""How far the cap rises above the outline, of the narrowest hair and the widest; how far above a
bare forehead, and how far at most; shares of the outline's height."""
_READ: Final = 0.8
"""Distance from the skull's middle within which the subject's hair is looked at."""
_WIDER: Final = (1.0, 1.45)
"""Half width of the cap over that of the upper face, of the least trait and the greatest."""
_TURNED: Final = (0.6, 0.35)
"""Of a turned head: how far the cap lies behind the face, and how much wider it is; per share of
the half width by which the face's middle is beside the eyes'."""
_RIM: Final = (1.04, 0.92)
"""Distances from the cap's middle, in half axes, between which it begins."""
_EARS: Final = (0.06, 0.5)
"""How far below the eyes it has ended, shares of the outline's height."""
_LOW: Final = (-0.20, 0.06)
_LEANING: Final = (-0.3, 0.3)
_TEMPLES: Final = (0.26, 0.08)
"""Hairline below the outline's top, how steeply it falls to one side in the middle, and how much
lower it is at the temples, of a high hairline and of a fringe; shares of the outline's height."""
_OWN: Final = (0.75, 1.0)
"""Distances between which the head's own hair may run on to it."""
_FADING: Final = (0.9, 1.9)
"""Distances between which the surrogate's brightness gives way to that hair's."""
_BRIGHTNESS: Final = (0.15, 1.05)
"""Brightness of the hair next to a face as a share of the painted skin's."""
_STRENGTH: Final = 0.1
_SHEEN_LEVELS: Final = 25.0
"""Deviation of the strands, a share of the hair's brightness, and what is added to that: black hair
shines as other hair does."""
_SHINE: Final = 1.6
_BROKEN: Final = 0.5
_SHINE_AT: Final = (0.8, 0.1)
_SKULL: Final = (1.2, 0.78)
"""Strength of the band of light around a head, in deviations of the strands, and how much these
break it up; its distance from the eyes and the deviation of that, in half axes of the skull; and
these, half widths of the upper face and heights of its outline."""
_ALIKE: Final = 40.0
"""Difference of colour, grey levels, at which two hairs are no longer the same."""
_SPREAD: Final = 0.03
"""Deviation of the blur of that likeness, a share of the patch's side."""
_FRINGE: Final = ((0.012, 0.010), (0.04, 0.015))
_COMBED: Final = (0.2, 1.0)
"""How uneven a fringe is: deviations of a blur of the strands and of what is left, shares of the
patch's side; and how much of that a high hairline has, and a low one."""
_FAIR: Final = np.array([0.88, 1.08, 0.96], np.float32)
"""Hue of fair hair beside the skin's, BGR."""
_GREY: Final = np.array([1.25, 1.05, 0.84], np.float32)
_COLDER: Final = 1.05
"""Hue of what is grey in the light on that skin, and how much colder hair may be."""
LUMA: Final = np.array([0.114, 0.587, 0.299], np.float32)
_FAINT: Final = 1e-3

Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class HairCap:
    """Hair around the upper half of a painted face.

    Attributes:
        away: float32[S, S], distance from the skull's middle, 1 where hair ends.
        weight: float32[S, S], 1 in the cap, falling to 0 at its rim; the face counts too.
        outer: float32[S, S], 0 beside the face, rising to 1 at the rim.
        fading: float32[S, S], 1 in the cap, falling to 0 far beyond its rim.
        above: bool[S, S], the part of the cap above the face.
        strands: float32[S, S] of mean 0 and deviation 1, and the light on them.
        hairline: float32[S, S], how far below the uneven hairline, px; hair where negative.
    """

    away: Float32
    weight: Float32
    outer: Float32
    fading: Float32
    above: NDArray[np.bool_]
    strands: Float32
    hairline: Float32

    def share_of(self, same: Float32) -> Float32:
        """How much of what shows is the cap: float32[S, S], 1 where nothing else does.

        Args:
            same: float32[S, S], 1 where hair of that head is around, see `alike`.
        """
        return np.asarray(self.weight * (1 - same * self.outer), np.float32)

    def drawn_over(self, smooth: Float32, colour: Float32, same: Float32) -> Float32:
        """The cap over what is around: float32[S, S, 3].

        Args:
            smooth: float32[S, S, 3], 0…255.
            colour: float32[3] of the hair next to the face.
            same: float32[S, S], 1 where `smooth` is hair of that head, see `alike`.
        """
        lock = self.strands * np.float32(strand_levels(colour))
        hair = cv2.merge([lock + level for level in colour])
        return laid_over(smooth, np.asarray(hair, np.float32), self.share_of(same))


def hair_cap(head: Head, traits: Float32, side: int, unit: float, bare_px: float = 0.0) -> HairCap:
    """The cap of a face.

    Args:
        head: where it is, px of an upright crop around it.
        traits: float32[HEAD_TRAITS] of the surrogate, 0…1.
        side: side S of the crop, px.
        unit: side of the patch in that crop, px.
        bare_px: how far skin is seen above that outline, px of the crop.

    >>> from engines.painted_head import head_of
    >>> face = np.float32([[40, 30], [88, 30], [88, 70], [64, 100], [40, 70]])
    >>> cap = hair_cap(head_of(face, 128), np.full(7, 0.5, np.float32), 128, 80)
    >>> float(cap.weight[24, 64]), float(cap.weight[24, 120]), float(cap.weight[90, 64])
    (1.0, 0.0, 0.0)
    """
    wide = float(traits[Trait.HAIR_WIDE])
    rows, columns = (axis + np.float32(0.5) for axis in grid(side))
    reach = head.half * (between(_WIDER, wide) + _TURNED[1] * abs(head.turned))
    across = (columns - head.middle - _TURNED[0] * head.turned * head.half) / reach
    above = max(between(_TOP, wide) * head.height, _BARE_TOP * head.height + bare_px)
    crown = head.eyes - head.top + min(above, _MOST_TOP * head.height)
    up = (rows - head.eyes) / crown
    away, beyond = _skull(across, np.minimum(up, 0)), np.sqrt(across * across + up * up)
    ears = between(_EARS, wide) * head.height
    strands = strands_on(head, combing_of(traits), side)
    return HairCap(
        np.asarray(away, np.float32),
        rise(away, *_RIM) * rise(head.eyes + ears - rows, 0, ears),
        rise(away, *_OWN),
        1 - rise(beyond, *_FADING),
        (np.floor(rows) < head.top) & (away < _READ),
        strands + _shine(head, strands),
        _below_hairline(head, traits, side) + _uneven(strands, traits, unit),
    )


def _skull(across: Float32, up: Float32) -> Float32:
    """Distance from a skull's middle, 1 on it: between an ellipse and a squarer one of order 4."""
    across, up = across * across, up * up
    squarer = np.sqrt(np.sqrt(across * across + up * up))
    return np.asarray((np.sqrt(across + up) + squarer) / 2, np.float32)


def _shine(head: Head, strands: Float32) -> Float32:
    """A band of light around the head, in deviations of the strands: float32 of their shape."""
    rows, columns = (axis + np.float32(0.5) for axis in grid(len(strands)))
    half, height = _SKULL
    across = (columns - head.middle) / np.float32(half * head.half)
    up = (rows - head.eyes) / np.float32(height * head.height)
    away = np.sqrt(across * across + up * up)
    at, width = _SHINE_AT
    band = np.exp(np.square(away - at) * np.float32(-1 / (2 * width * width)))
    band *= rows < head.eyes
    return np.asarray(_SHINE * band * (1 + _BROKEN * strands) - _SHINE / 4, np.float32)


def strand_levels(colour: Float32) -> float:
    """Deviation of the strands of hair of a colour float32[3] BGR, grey levels."""
    return _STRENGTH * (float(colour @ LUMA) + _SHEEN_LEVELS)


def surrogate_hair(colour: Float32, traits: Float32, skin: Float32) -> Float32:
    """The subject's hair colour in the surrogate's brightness; float32[3] BGR.

    Hair is no colder than grey: what is bluer or greener was read off a wall or a cap.
    What dark hair lacks is added in the hue that fair hair has under the light on that skin: a
    multiple of black hair would show whatever hue the shadow had.

    Args:
        colour: float32[3] BGR of the subject's hair, 0…255.
        traits: float32[HEAD_TRAITS] of the surrogate, 0…1.
        skin: float32[3] BGR, mean of the painted face.

    >>> white, middle = np.float32([200, 200, 200]), np.full(7, 0.5, np.float32)
    >>> [round(float(value)) for value in surrogate_hair(white, middle, np.float32([80, 95, 118]))]
    [60, 60, 60]
    """
    luma, skin_luma = (max(float(one @ LUMA), 1.0) for one in (colour, skin))
    own = between(_BRIGHTNESS, float(traits[Trait.HAIR_BRIGHTNESS]))
    colour = _no_colder_than_grey(colour, skin)
    if luma >= own * skin_luma:
        return np.asarray(colour * np.float32(own * skin_luma / luma), np.float32)
    fair = skin * _FAIR
    lacking = (own * skin_luma - luma) / max(float(fair @ LUMA), 1.0)
    return np.asarray(colour + np.float32(lacking) * fair, np.float32)


def _no_colder_than_grey(colour: Float32, skin: Float32) -> Float32:
    """A colour float32[3] BGR with no more blue and green, and no less red, than grey has."""
    luma, grey = max(float(colour @ LUMA), 1.0), skin * _GREY
    blue, green, red = grey * np.float32(luma / max(float(grey @ LUMA), 1.0))
    ends = (min(colour[0], blue * _COLDER), min(colour[1], green * _COLDER))
    warm = np.array([*ends, max(colour[2], red / _COLDER)], np.float32)
    return np.asarray(warm * np.float32(luma / max(float(warm @ LUMA), 1.0)), np.float32)


def in_haze(traits: Float32, share: float) -> Float32:
    """Traits of hair where of all contrast a share is left: dark hair is less dark there.

    Hair brighter than the skin is less bright.

    Args:
        traits: float32[HEAD_TRAITS] of the surrogate, 0…1.
        share: of its contrast that the face keeps, at most 1.

    >>> [round(float(one), 2) for one in in_haze(np.float32([0, 1, 1, 1, 1, 1, 1]), 0.5)]
    [0.28, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    own = between(_BRIGHTNESS, float(traits[Trait.HAIR_BRIGHTNESS]))
    # Half as strongly: where the face is soft but the picture is not, hair must not turn grey.
    shown = 1 - (1 - own) * float(np.sqrt(share))
    least, most = _BRIGHTNESS
    result = traits.copy()
    result[Trait.HAIR_BRIGHTNESS] = np.clip((shown - least) / (most - least), 0, 1)
    return result


def alike(smooth: Float32, colour: Float32, unit: float) -> Float32:
    """Where a smoothed picture has the colour of the hair: float32[S, S], 1 there.

    Args:
        smooth: float32[S, S, 3].
        colour: float32[3].
        unit: side of the patch, px.
    """
    apart = farthest(smooth, colour) / np.float32(_ALIKE)
    same = np.exp(-apart * apart)
    return np.asarray(cv2.GaussianBlur(same, (0, 0), _SPREAD * unit), np.float32)


def farthest(picture: Float32, colour: Float32) -> Float32:
    """Largest difference over the channels of a picture float32[H, W, 3]; float32[H, W]."""
    blue, green, red = cv2.split(np.abs(picture - colour))
    return np.asarray(cv2.max(cv2.max(blue, green), red), np.float32)


def _below_hairline(head: Head, traits: Float32, side: int) -> Float32:
    """How far below an even hairline: float32[side, side], px."""
    rows, columns = grid(side)
    beside = (columns + np.float32(0.5) - head.middle) / head.half
    square = beside * beside
    low, temples = (between(ends, float(traits[Trait.HAIR_LOW])) for ends in (_LOW, _TEMPLES))
    line = (
        low
        + between(_LEANING, float(traits[Trait.HAIR_LEANING])) * beside * np.maximum(1 - square, 0)
        + temples * square
    )
    return np.asarray(rows + np.float32(0.5) - head.top - head.height * line, np.float32)


def _uneven(strands: Float32, traits: Float32, unit: float) -> Float32:
    """What strands do to a hairline: float32[S, S], px."""
    ragged = between(_COMBED, float(traits[Trait.HAIR_LOW])) * unit
    parts = [
        (amount * ragged) * _unit_blur(strands, deviation * unit) for deviation, amount in _FRINGE
    ]
    return np.asarray(sum(parts), np.float32)


def _unit_blur(values: Float32, deviation_px: float) -> Float32:
    soft = cv2.GaussianBlur(values, (0, 0), deviation_px)
    return np.asarray(soft / np.float32(max(float(soft.std()), _FAINT)), np.float32)
