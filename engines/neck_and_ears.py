"""Neck and ears that are the surrogate's, below and beside every painted face.

Smoothing takes neck and ears away with all else that is narrow: a collar would run up to the chin,
and the head float above it. So both are drawn. Their place follows from the painted outline and
from traits of the surrogate, their colour from its painted cheeks, shade from the distance to
the jaw; the shares below were set beside median pictures of heads. Neck is drawn where the
patch hides the subject's, and gives way below that to what is seen there; an ear where beside the
face there is no hair. Of the subject nothing else has a part in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.painted_head import Surrounded, Trait
from engines.stylegan.drawing import (
    between,
    box_around,
    filled_outline,
    laid_over,
    ramp,
    rise,
)

__all__ = ["cheeks_of", "draw_ears", "draw_neck"]

_CHEEK: Final = (0.45, 0.06)
"""Where cheeks are looked at: beside the outline's middle and below it, shares of half its size."""
_CHEEK_REACH: Final = 0.12
_WIDE: Final = (0.60, 0.90)
"""Half width of the neck over that of the upper face, of the least trait and the greatest."""
_BEHIND: Final = 1.6
"""How far it lies behind a turned face, in half widths per share by which that is turned."""
_FLARE: Final = 0.6
_FLARE_FROM: Final = 1.15
"""It widens from here on, in heights of the outline below its top, with the distance's square."""
_MOST_WIDE: Final = 1.4
"""It is not drawn farther from its middle, in half widths of the face."""
_EDGE: Final = 0.07
_BEGINS: Final = (0.6, 0.75)
"""Where beside the face it begins, in the same heights."""
_ENDS: Final = 0.12
"""Beyond the patch, over what distance it ends, a share of the patch's side."""
_SHADE: Final = (0.48, 0.78)
_LIGHT: Final = 0.90
_SHADE_FROM: Final = 0.02
_SHADE_TO: Final = 0.17
"""Brightness over that of the cheeks next to the jaw, of the least trait and the greatest, and away
from it, and the distances, shares of the patch's side, between which it changes."""
_ROUND: Final = 0.12
"""How much darker its sides are."""
_EAR_AT: Final = (1.04, 1.15)
_EAR_WIDE: Final = (0.11, 0.20)
"""Place and half width of an ear of a face that looks ahead, in half widths of the face, and how
much more of both there is per share by which the face is turned away from it."""
_EAR_HIDDEN: Final = 0.85
"""Nearer to the middle an ear is behind the face."""
_EAR_MIDDLE: Final = 0.47
_EAR_TALL: Final = (0.145, 0.18)
_EAR_LEANING: Final = 0.15
_LOBE: Final = 0.2
_EAR_EDGE: Final = (0.85, 1.15)
"""Height of its middle and half its own, in heights of the outline; by how much its top lies
farther out, and how much narrower the lobe is, in half widths; how soft its edge is."""
_EAR_LIGHT: Final = 0.88
_HOLLOW: Final = 0.3
_EAR_HUE: Final = np.array([0.94, 0.96, 1.03], np.float32)
"""Brightness over the cheek's, how much darker its hollow is, and its hue, BGR."""
_TEMPLE: Final = (0.34, 0.60)
"""Between these heights the side of the head reaches from the face to the ear."""
_TEMPLE_SOFT: Final = 0.015
_TEMPLE_LIGHT: Final = (0.84, 0.63)
_TEMPLE_FAR: Final = 0.25
"""Brightness over the cheek's beside the face and at the distance that follows, a share of the
patch's side."""
_HAIR: Final = (0.3, 0.6)
"""Share of hair where an ear would be from which on it begins to be under it, and is."""

Float32 = NDArray[np.float32]


def cheeks_of(pixels: Float32, outline: Float32) -> Float32:
    """Mean colours of the painted cheeks, left and right in the picture: float32[2, 3] BGR.

    Args:
        pixels: float32[S, S, 3] BGR of a patch.
        outline: float32[M, 2] of its face, shares of the side.
    """
    low, high = outline.min(axis=0), outline.max(axis=0)
    middle, half = (low + high) / 2, (high - low) / 2
    found = []
    for way in (-1, 1):
        cheek = middle + half * np.array([way * _CHEEK[0], _CHEEK[1]])
        ends = np.array([cheek - _CHEEK_REACH * half, cheek + _CHEEK_REACH * half]) * len(pixels)
        (left, top), (right, bottom) = np.clip(ends, 0, len(pixels) - 1).astype(int).tolist()
        found.append(cv2.mean(pixels[top : bottom + 1, left : right + 1])[:3])
    return np.array(found, np.float32)


def draw_neck(
    picture: Float32, locks: Float32, around: Surrounded, cheeks: Float32, traits: Float32
) -> None:
    """Draws a neck.

    Args:
        picture: float32[S, S, 3] BGR, changed in place.
        locks: float32[S, S], how strong strands of hair are, changed in place: a neck has none.
        around: where its head lies.
        cheeks: float32[2, 3], see `cheeks_of`.
        traits: float32[HEAD_TRAITS] of the surrogate, 0 to 1.
    """
    head, side = around.head, len(picture)
    behind = _BEHIND * head.turned
    ends = np.array([[behind - _MOST_WIDE, _BEGINS[0]], [behind + _MOST_WIDE, np.inf]])
    left, top, right, bottom = box_around(head.placed(ends), 0, side)
    if left == right or top == bottom:
        return
    rows, columns = slice(top, bottom), slice(left, right)
    down, x = around.down(rows), around.across(columns)
    wide = between(_WIDE, float(traits[Trait.NECK_WIDE]))
    spread = wide + _FLARE * np.square(np.maximum(down - _FLARE_FROM, 0))
    aside = np.abs(x - np.float32(behind)) / spread
    weight = rise(aside, 1 + _EDGE, 1 - _EDGE) * rise(down, *_BEGINS)
    weight *= rise(around.away[rows, columns], _ENDS * around.unit, 0)
    lights = between(_SHADE, float(traits[Trait.NECK_BRIGHTNESS])), _LIGHT
    shade = _shaded(around.beyond(rows, columns), lights, _SHADE_FROM, _SHADE_TO)
    shade *= 1 - _ROUND * np.square(np.minimum(aside, 1))
    tone = cheeks[0] + (cheeks[1] - cheeks[0]) * np.clip((1 + x) / 2, 0, 1)[..., None]
    view = picture[rows, columns]
    view[:] = laid_over(view, shade[..., None] * tone, weight)
    locks[rows, columns] *= 1 - weight


def draw_ears(
    picture: Float32, around: Surrounded, cheeks: Float32, traits: Float32, hair: Float32
) -> None:
    """Draws the ears that are seen, and of a turned head the side between ear and face.

    Args:
        picture: float32[S, S, 3] BGR, changed in place.
        around: where its head lies.
        cheeks: float32[2, 3], see `cheeks_of`.
        traits: float32[HEAD_TRAITS] of the surrogate, 0 to 1.
        hair: float32[S, S], 1 where the picture shows the head's hair.
    """
    for way, cheek in zip((-1, 1), cheeks, strict=True):
        turned = way * around.head.turned
        at, wide = _EAR_AT[0] + _EAR_AT[1] * turned, _EAR_WIDE[0] + _EAR_WIDE[1] * max(turned, 0)
        if at > _EAR_HIDDEN:
            tall = between(_EAR_TALL, float(traits[Trait.EARS_TALL]))
            _draw_ear(picture, around, cheek, hair, _Ear(way, at, wide, tall))


@dataclass(frozen=True, slots=True)
class _Ear:
    """An ear: the side it is on, -1 or 1, its place and half its width and height, see above."""

    way: int
    at: float
    wide: float
    tall: float


def _draw_ear(
    picture: Float32, around: Surrounded, cheek: Float32, hair: Float32, ear: _Ear
) -> None:
    temple, box = _temple_and_box(around, ear)
    left, top, right, bottom = box_around(box, 2, len(picture))
    if right - left < 2 or bottom - top < 2:
        return
    rows, columns = slice(top, bottom), slice(left, right)
    far, hollow = _ear_distances(around, rows, columns, ear)
    inside = rise(far, _EAR_EDGE[1], _EAR_EDGE[0])
    under_hair = float((hair[rows, columns] * inside).sum() / max(float(inside.sum()), 1.0))
    presence = np.float32(1 - ramp(under_hair, *_HAIR))
    if presence <= 0:
        return
    hull = cv2.convexHull(np.concatenate([around.corners, temple]))[:, 0] - np.array([left, top])
    hard = filled_outline(np.asarray(hull, np.float32), inside.shape)
    skull = np.asarray(cv2.GaussianBlur(hard, (0, 0), _TEMPLE_SOFT * around.unit), np.float32)
    skull *= rise(around.down(rows), _BEGINS[1], _BEGINS[0])
    aside = _shaded(around.beyond(rows, columns), _TEMPLE_LIGHT, 0, _TEMPLE_FAR)
    view = picture[rows, columns]
    view[:] = laid_over(view, aside[..., None] * cheek, skull * (presence / 255))
    light = _EAR_LIGHT - np.float32(_HOLLOW) * np.exp(-np.square(2 * hollow))
    view[:] = laid_over(view, light[..., None] * (cheek * _EAR_HUE), inside * presence)


def _temple_and_box(around: Surrounded, ear: _Ear) -> tuple[Float32, Float32]:
    """Where the side of the head meets an ear, and corners of what both fill: (2, 2) px each."""
    at = ear.way * ear.at
    outer = at + ear.way * 1.5 * ear.wide
    temple = np.array([[at, share] for share in _TEMPLE])
    box = np.array([[0, _EAR_MIDDLE - 1.3 * ear.tall], [outer, 1.0]])
    return around.head.placed(temple), around.head.placed(box)


def _ear_distances(
    around: Surrounded, rows: slice, columns: slice, ear: _Ear
) -> tuple[Float32, Float32]:
    """Distance from an ear's middle and from its hollow's, 1 at its edge; float32[H, W] each."""
    down = (around.down(rows) - _EAR_MIDDLE) / np.float32(ear.tall)
    out = (ear.way * around.across(columns) - np.float32(ear.at)) / np.float32(ear.wide)
    out = out / (1 - _LOBE * np.clip(down, -1, 1)) + _EAR_LEANING * down
    return np.hypot(out, down), np.hypot(out + np.float32(0.15), np.float32(1.1) * down)


def _shaded(beyond: Float32, lights: tuple[float, float], start: float, end: float) -> Float32:
    """Brightness at distances from the face, between that at a start and that at an end."""
    return np.asarray(lights[0] + (lights[1] - lights[0]) * rise(beyond, start, end), np.float32)
