"""The dark of a beard below a painted chin, drawn up over its jaw.

The beard of a subject is hidden with the face that wears it, but for what lies below the jaw. A
shaved chin that ends there looks like a mask. What beside a jaw is no skin, and goes on within the
face, is a beard, or shade; collars and rooms end at a chin. One tone is told, which changes slowly
from frame to frame: see `engines.blending.harmony.Retouch`. Where upper lip and chin of the head
are dark as well, it is a beard for sure, and one of its colour is drawn over the surrogate's: the
outline and the hairs are everybody's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.blending.head_skin import skin_of
from engines.blending.patches import Patch, identity_mask_of
from engines.face.alignment import EYES
from engines.face.crop_regions import disc
from engines.pictures import BgrImage
from engines.stylegan.drawing import LUMA, filled_outline, ramp, rise, spread_near
from engines.stylegan.topology import (
    EYE_LEFT_SLICE,
    EYE_RIGHT_SLICE,
    LIPS_OUTER_SLICE,
    NOSE_BASE_SLICE,
    OVAL_SLICE,
)

__all__ = [
    "BelowJaw",
    "beard_hair",
    "beard_places",
    "bearded_and_bare",
    "below_jaw",
    "eyes_of",
    "hair_shown",
    "square_around",
    "with_beard",
]

_SIDE: Final = 64
"""Side at which it is looked at and drawn, px; it is smooth."""
_RING: Final = 2
"""Width of what is looked at beside a jaw, px of that."""
_LOW: Final = (0.66, 0.86)
"""Shares of a face's height between which jaws begin."""
_WITHIN: Final = 0.03
"""How far within a face what goes on there is looked at, a share of the side."""
_GOES_ON: Final = (20.0, 80.0)
"""Grey levels by which it may differ there."""
_BEARDED: Final = (0.15, 0.5)
"""Shares of a jaw along which that is found of which nothing, and of which all counts."""
_DARKER: Final = 50.0
_HUE: Final = 20.0
"""Grey levels by which a jaw may darken, and change in hue."""
_REACH: Final = 0.065
_SURELY: Final = 0.25
"""Deviation of the blur by which that is spread, a share of the side, and the weight from which all
of it counts."""
_LEAST_LEVEL: Final = 30.0
_LEAST_GAIN: Final = 0.25
"""Grey level below which no place of a painted face counts, and the least it is multiplied by."""
_FAINT: Final = 1.0
"""Grey levels that are not drawn."""

_LIP_DARK: Final = (0.44, 0.56)
_CHIN_DARK: Final = (0.06, 0.2)
"""How much darker than cheeks, as logarithms, upper lips and chins are of which none, and of which
all of a beard counts. Shade of a jaw darkens no upper lip."""
_TONE: Final = (8.0, 25.0)
"""Grey levels by which what lies below a jaw is darker, likewise."""
_CHEEKS_UP: Final = 0.2
"""How far above the nose's base cheeks are looked at, and beards begin beside them, distances of
the eyes."""
_BOX: Final = 0.09
"""Half the side of what is looked at of each, distances of the eyes."""
_HAIRS_SIDE: Final = 384
"""Side of the sheet of hairs, px: a hair is a pixel wide where a face fills it."""
_EYES_APART: Final = float(EYES[1, 0] - EYES[0, 0])
_HAIR: Final = (0.65, 3.0)
"""Deviations of the blurs across and along hairs, px of the sheet."""
_HAIRY: Final = 0.22
"""How much a beard's hairs stand out from it, a share of how dark it is."""
_SPARSE: Final = 0.6
"""How much fewer there are along its edges."""
_NO_HAIR: Final = np.zeros(3, np.float32)
_FAINT_HAIR: Final = 0.03
"""Share by which skin is to be darker for hair to be drawn."""
_CHEEK_LINE: Final = 0.06
"""How far below the corners of the mouth a beard's upper edge turns, and how far from lips it
begins, distances of the eyes."""
_EDGE: Final = 0.1
"""Softness of its edges, the same."""

Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class BelowJaw:
    """What is dark on a head below a jaw.

    Attributes:
        dark: float32[s, s], how surely places are a beard's.
        colour: BGR float32[3], what they show in the mean.
        share: how much it counts, in [0, 1].
    """

    dark: Float32
    colour: Float32
    share: float

    def darker_than(self, pixels: Float32) -> Float32:
        """How much darker it is than a painted jaw above it, BGR float32[3] grey levels.

        Args:
            pixels: float32[S, S, 3] BGR of the same crop, in the tone of its head.
        """
        small = self.dark.shape
        painted = np.asarray(cv2.resize(pixels, small, interpolation=cv2.INTER_AREA), np.float32)
        usual = (painted * self.dark[..., None]).sum(axis=(0, 1)) / self.dark.sum()
        left = self.colour - usual
        grey = left @ LUMA
        tone = np.clip(grey, -_DARKER, 0) + np.clip(left - grey, -_HUE, _HUE)
        return np.asarray(tone * self.share, np.float32)


def below_jaw(patch: Patch, head: BgrImage, inside: NDArray[np.bool_]) -> BelowJaw | None:
    """Looks for a beard that goes on below a jaw; None without.

    Args:
        patch: over the face; its pixels do not count.
        head: uint8[S, S, 3] what its crop shows of the picture.
        inside: bool[S, S], what of the crop lies in the picture.
    """
    small = (_SIDE, _SIDE)
    original, seen, alpha = (
        np.asarray(cv2.resize(one, small, interpolation=cv2.INTER_AREA), np.float32)
        for one in (head.astype(np.float32), inside.astype(np.float32), patch.alpha)
    )
    must = identity_mask_of(patch, _SIDE).astype(np.float32)
    jaw = _beside_jaw(must) * seen
    within = spread_near(original, must, _WITHIN * _SIDE)
    apart = np.asarray(np.abs(original - within).max(axis=2), np.float32)
    dark = np.asarray(jaw * (1 - skin_of(original, alpha, must)) * (1 - rise(apart, *_GOES_ON)))
    share = float(dark.sum() / max(float(jaw.sum()), 1.0))
    if share <= _BEARDED[0]:
        return None
    colour = (original * dark[..., None]).sum(axis=(0, 1)) / dark.sum()
    return BelowJaw(dark, np.asarray(colour, np.float32), ramp(share, *_BEARDED))


def hair_shown(head: BgrImage, points: Float32) -> Float32:
    """How much darker lip and chin are than cheeks, BGR float32[3], shares of them.

    0 where both are not surely darker; never above.

    Args:
        head: uint8[S, S, 3] what the crop shows.
        points: float32[POINTS, 2] of its face, shares of the side.
    """
    _, apart = eyes_of(points)
    lip, low, *cheeks = (_colour(head, place, _BOX * apart) for place in bearded_and_bare(points))
    cheek = max(cheeks, key=lambda one: float(one @ LUMA))
    dark_lip, dark_low = (float(np.log((cheek @ LUMA) / (one @ LUMA))) for one in (lip, low))
    sure = ramp(dark_lip, *_LIP_DARK) * ramp(dark_low, *_CHIN_DARK)
    hair = min(lip, low, key=lambda one: float(one @ LUMA))
    # Half of a face in a lamp's shade is dark without a beard.
    return np.asarray(sure * np.minimum(hair / np.mean(cheeks, axis=0) - 1, 0), np.float32)


def beard_hair(shown: Float32, tone: Float32) -> Float32:
    """How much darker the beard of a head is than its cheeks, BGR float32[3], shares of them.

    0 where it is not surely a beard; never above.

    Args:
        shown: of `hair_shown`.
        tone: of `BelowJaw.darker_than`.
    """
    return np.asarray(ramp(float(-tone @ LUMA), *_TONE) * shown, np.float32)


def with_beard(patch: Patch, tone: Float32, hair: Float32 = _NO_HAIR) -> Patch:
    """The patch with that tone BGR float32[3] along its jaw, fading upwards.

    Args:
        patch: in the tone of its head.
        tone: of `BelowJaw.darker_than`.
        hair: of `beard_hair`, a beard that is drawn; none by default.
    """
    if float(np.abs(tone).max()) < _FAINT:
        return patch
    must = identity_mask_of(patch, _SIDE).astype(np.float32)
    near = cv2.GaussianBlur(_beside_jaw(must), (0, 0), _REACH * _SIDE)
    near = near / np.maximum(near, np.float32(_SURELY))
    painted = np.asarray(cv2.resize(patch.pixels, (_SIDE, _SIDE), interpolation=cv2.INTER_AREA))
    gain = 1 + near[..., None] * tone / np.maximum(painted, np.float32(_LEAST_LEVEL))
    size = patch.alpha.shape[::-1]
    wide = cv2.resize(np.maximum(gain, np.float32(_LEAST_GAIN)).astype(np.float32), size)
    if patch.points is not None and float(-hair @ LUMA) > _FAINT_HAIR:
        wide = np.minimum(wide, _grown(patch.points[1], size[0], hair))
    return replace(patch, pixels=np.asarray(patch.pixels * wide, np.float32))


def _grown(points: Float32, size: int, hair: Float32) -> Float32:
    """By what a face is multiplied for a beard: float32[S, S, 3].

    Args:
        points: float32[POINTS, 2], shares of the side.
        size: S, px.
        hair: float32[3] of `beard_hair`.
    """
    place, hairs = beard_places(points, size), _hairs_on(points, size)
    # At its edges a beard has fewer hairs, and not fainter ones.
    place += np.float32(_SPARSE) * place * (1 - place) * hairs
    dense = np.clip(place, 0, 1) * (1 + np.float32(_HAIRY) * hairs)
    drawn = cv2.merge([dense * np.float32(one) for one in hair.tolist()])
    return np.asarray(np.clip(1 + drawn, _LEAST_GAIN, 1), np.float32)


def beard_places(points: Float32, size: int) -> Float32:
    """Jaw, chin and upper lip but for the lips: float32[S, S] in [0, 1]."""
    _, apart = eyes_of(points)
    side = min(size, _SIDE)
    lips, nose, oval = (points[part] for part in (LIPS_OUTER_SLICE, NOSE_BASE_SLICE, OVAL_SLICE))
    low = oval[oval[:, 1] > nose[:, 1].mean() - _CHEEKS_UP * apart]
    low = low[np.argsort(low[:, 0])]
    left, right = lips[lips[:, 0].argmin()], lips[lips[:, 0].argmax()]
    out = np.array([_CHEEK_LINE, 0.0], np.float32) * np.float32(apart)
    down = out[::-1]
    wings = nose[nose[:, 0].argmin()], nose[nose[:, 0].argmax()]
    inner = [right + 2 * out + down, right + out - down, wings[1] + down]
    inner += [wings[0] + down, left - out - down, left - 2 * out + down]
    around = np.concatenate([low, np.stack(inner)]) * side
    grown = filled_outline(np.asarray(around, np.float32), (side, side))
    bare = filled_outline(np.asarray(lips * side, np.float32), (side, side))
    soft = max(_EDGE * apart * side, 0.7)
    place = cv2.GaussianBlur(grown, (0, 0), soft) / np.float32(255)
    place *= 1 - cv2.GaussianBlur(bare, (0, 0), soft / 2) / np.float32(255)
    return np.asarray(cv2.resize(place, (size, size), interpolation=cv2.INTER_LINEAR), np.float32)


def _hairs_on(points: Float32, size: int) -> Float32:
    """Hairs that move with a face, float32[S, S] of mean 0 and deviation 1."""
    eyes, apart = eyes_of(points)
    x, y = (eyes[1] - eyes[0]) * size / (_EYES_APART * _HAIRS_SIDE)
    turn = np.array([[x, -y], [y, x]])
    middle = eyes.mean(axis=0) * size - turn @ np.array([_HAIRS_SIDE / 2, 0.0])
    place = np.concatenate([turn, middle[:, None]], axis=1)
    way, rim = cv2.INTER_LINEAR, cv2.BORDER_REFLECT_101
    # Small faces show no hairs: sampled, they would glitter.
    strength = np.float32(min(1.0, apart * size / (_EYES_APART * _HAIRS_SIDE)))
    laid = cv2.warpAffine(_hairs(), place, (size, size), flags=way, borderMode=rim)
    return np.asarray(laid * strength, np.float32)


@cache
def _hairs() -> Float32:
    """A sheet of hairs that grow down from its upper middle, the eyes'; not to be changed."""
    turns = 4 * _HAIRS_SIDE
    noise = np.random.default_rng(1848).standard_normal((turns, _HAIRS_SIDE)).astype(np.float32)
    across, along = _HAIR
    combed = cv2.GaussianBlur(noise, (0, 0), along, sigmaY=across * turns / (2 * _HAIRS_SIDE))
    side, middle = (_HAIRS_SIDE, _HAIRS_SIDE), (_HAIRS_SIDE / 2, 0.0)
    flags = cv2.INTER_LINEAR | cv2.WARP_FILL_OUTLIERS | cv2.WARP_INVERSE_MAP
    sheet = cv2.warpPolar(combed, side, middle, 1.2 * _HAIRS_SIDE, flags)
    return np.asarray((sheet - sheet.mean()) / sheet.std(), np.float32)


def eyes_of(points: Float32) -> tuple[Float32, float]:
    """The middles of both eyes, float32[2, 2], and how far they are apart."""
    eyes = np.stack([points[EYE_LEFT_SLICE].mean(axis=0), points[EYE_RIGHT_SLICE].mean(axis=0)])
    return eyes, max(float(np.linalg.norm(eyes[1] - eyes[0])), 1e-3)


def bearded_and_bare(points: Float32) -> NDArray[np.float64]:
    """The middles of upper lip, chin and both cheeks of a face: float64[4, 2]."""
    eyes, apart = eyes_of(points)
    lips, nose = points[LIPS_OUTER_SLICE], points[NOSE_BASE_SLICE]
    middle, chin = lips[:, 0].mean(), points[OVAL_SLICE, 1].max()
    above, below = (lips[:, 1].min() + nose[:, 1].max()) / 2, (lips[:, 1].max() + chin) / 2
    high = nose[:, 1].mean() - _CHEEKS_UP * apart
    return np.array([(middle, above), (middle, below), *((x, high) for x in eyes[:, 0])])


def square_around(middle: NDArray[np.floating], half: float, size: int) -> tuple[slice, slice]:
    """Rows and columns of a square about a place, as far as they lie in a picture.

    Args:
        middle: of the square, column and row, shares of the picture's side.
        half: its side, likewise.
        size: side of the picture, px.
    """
    (left, top), (right, bottom) = (
        np.clip(np.rint((middle + step) * size), 0, size).astype(int) for step in (-half, half)
    )
    return slice(top, bottom), slice(left, right)


def _colour(head: BgrImage, middle: NDArray[np.floating], half: float) -> Float32:
    """The usual colour of a square, BGR float32[3] grey levels; dark where it lies outside."""
    part = head[square_around(middle, half, len(head))].reshape(-1, 3)
    usual = np.median(part, axis=0) if len(part) else np.zeros(3)
    return np.asarray(usual + _LEAST_LEVEL / 4, np.float32)


def _beside_jaw(must: Float32) -> Float32:
    """Where a head goes on beside a jaw and a chin: float32[S, S] in [0, 1].

    Args:
        must: float32[S, S], 1 within the identity outline.
    """
    rows = np.flatnonzero(must.max(axis=1) > 0)
    if not len(rows):
        return np.zeros_like(must)
    ring = np.asarray(cv2.dilate(must, disc(_RING)), np.float32) - must
    low = rise(np.arange(len(must), dtype=np.float32), *np.quantile(rows, _LOW))
    return np.asarray(ring * low[:, None], np.float32)
