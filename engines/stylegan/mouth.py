"""The inside of painted mouths: teeth, tongue and the dark between them.

A texture is a mean of many mouths, most of them shut, so an open one shows lips stretched over the
gap, and a shut one what is left of teeth as a pale, ragged line. What is between the inner lips,
which are control points, is drawn instead, as geometry alone tells it: lips drawn wider than the
surrogate's own bare the upper teeth, a mouth that only opens shows less of their height, and
behind lips that hold off the light they are about as bright as skin. Nothing else of the subject
has a part in it. Everybody has the same teeth; drawn so, 0.04 % more
pairs of surrogates pass for one person (`training.measure`).
"""

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.stylegan.drawing import between, box_around, filled_outline, ramp, warmed
from engines.stylegan.topology import (
    EYE_LEFT_SLICE,
    EYE_RIGHT_SLICE,
    LIPS_INNER_SLICE,
    NOSE_BRIDGE_SLICE,
)

__all__ = ["draw_mouth", "mouth_width"]

_UPPER: Final = (0, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10)
_LOWER: Final = tuple(range(11))
"""Points of the inner lips from the picture's left corner to the right one."""
_LEFT, _RIGHT, _UPPER_MIDDLE, _LOWER_MIDDLE = 0, 10, 15, 5
_SHUT, _OPEN = 0.045, 0.09
"""Gap of the lips, as a share of the mouth's width: nothing of the inside up to the first."""
_EDGE_ON, _IN_VIEW = 0.35, 0.6
"""Width that is seen, as a share of the true one: nothing is drawn up to the first."""
_EARNEST, _SMILE = 0.85, 1.07
"""Width, as a share of the width in the surrogate's mean expression: teeth show least up to the
first, most from the second."""
_TEETH_SHOW: Final = (0.8, 0.95)
_TEETH_TALL: Final = (0.08, 0.24)
"""Of the mouth's width: how far the upper teeth reach below the lip."""
_TONGUE_TALL: Final = 0.13
_TONGUE_FROM, _TONGUE_TO = 0.2, 0.34
"""Gap, as a share of the width, from which the tongue is to be seen, and where it is in full."""
_TOOTH_TURN: Final = 0.3
"""Width of a tooth, as an angle of the dental arch, radians."""
_LINES: Final = 0.22
"""How much darker it is between two teeth."""
_ROUNDED: Final = 0.2
"""How much shorter they are there, a share of their height."""
_DARK: Final = np.array([0.16, 0.17, 0.32], np.float32)
_TONGUE: Final = np.array([0.42, 0.38, 0.68], np.float32)
_SEAM: Final = np.array([0.42, 0.42, 0.50], np.float32)
_CORNER: Final = np.array([0.50, 0.50, 0.62], np.float32)
_CHEEK: Final = np.array([0.30, 0.29, 0.52], np.float32)
"""Colours, BGR, as a share of the skin's."""
_WHITENESS: Final = (0.85, 1.1)
_PARTED: Final = (0.06, 0.24)
_SHADED: Final = (0.45, 1.0)
"""Gaps, as shares of the width, between which lips that do not smile let light on the teeth behind
them, and how bright these are in their shade and in the open, a share of that."""
_WHITEST: Final = 236.0
"""How bright teeth are, a share of the skin's brightness, in a mouth that only opens and in a
smile, as in footage of people who speak and who laugh; and how bright at most."""
_WARMTH: Final = 0.5
"""How much of the skin's hue the teeth have."""
_SEAM_SHARE: Final = 0.75
_CORNER_REACH: Final = 0.12
"""Of the mouth's width: how far about its corners a texture's dark spots are lifted. Lips that are
drawn wide draw them out to lines."""
_SOFT_PX: Final = 1.1
_INSIDE_SOFT_PX: Final = 0.7
_MARGIN_PX: Final = 4.0
_LEAST_PX: Final = 4.0
_FAINT: Final = 1e-6

Float32 = npt.NDArray[np.float32]


def mouth_width(points: Float32) -> Float32:
    """Width of mouths as a share of the distance of the eyes' outer corners, float32[N].

    Args:
        points: float32[N, >= MESH_POINTS, 3], in any unit.
    """
    lips = points[:, LIPS_INNER_SLICE]
    across = np.linalg.norm(lips[:, _RIGHT] - lips[:, _LEFT], axis=1)
    apart = points[:, EYE_LEFT_SLICE.start] - points[:, EYE_RIGHT_SLICE.start]
    return np.asarray(across / (np.linalg.norm(apart, axis=1) + _FAINT), np.float32)


def draw_mouth(pixels: Float32, points: Float32, stretch: float) -> None:
    """Draw what is between the lips of a painted face, in place.

    Args:
        pixels: float32[S, S, 3] BGR, 0 to 255.
        points: float32[POINTS, 3] of the painted face, crop units.
        stretch: its `mouth_width` as a share of the surrogate's own.
    """
    mouth = _mouth_in(pixels, points, ramp(stretch, _EARNEST, _SMILE))
    if mouth is None:
        return
    _lift_corners(mouth)
    if mouth.openness < 1:
        _draw_seam(mouth)
    if mouth.openness > 0:
        _draw_inside(mouth)


@dataclass(frozen=True, slots=True)
class _Mouth:
    """The mouth of a painted face.

    Attributes:
        view: float32[H, W, 3], the part of the picture around it.
        lips: float32[20, 2], the inner lips in pixels of the view.
        depth: float32[H, W], pixels below the upper lip.
        gap: float32[H, W], pixels from the upper lip to the lower one.
        side: float32[H, W], -1 at the left corner, 0 below the upper lip's middle, 1 at the right.
        width: of the mouth, pixels.
        openness: how much of the inside is to be seen, in [0, 1].
        lit: how much light falls on the teeth, in [0, 1].
        presence: how much of the drawing is to be seen, in (0, 1].
        smile: how wide the lips are drawn, in [0, 1].
        skin: float32[3] BGR of the nose.
    """

    view: Float32
    lips: Float32
    depth: Float32
    gap: Float32
    side: Float32
    width: float
    openness: float
    lit: float
    presence: float
    smile: float
    skin: Float32


def _mouth_in(pixels: Float32, points: Float32, smile: float) -> _Mouth | None:
    size = pixels.shape[0]
    inner = points[LIPS_INNER_SLICE] * np.float32(size) - np.float32(0.5)
    across = inner[_RIGHT] - inner[_LEFT]
    width = float(np.linalg.norm(across)) + _FAINT
    seen = float(np.linalg.norm(across[:2]))
    presence = ramp(seen / width, _EDGE_ON, _IN_VIEW)
    margin = max(_MARGIN_PX, 2 * _CORNER_REACH * width)
    left, top, right, bottom = box_around(inner[:, :2], margin, size)
    if presence <= 0 or min(seen, right - left, bottom - top) < _LEAST_PX:
        return None
    corner, along = inner[_LEFT, :2], across[:2] / np.float32(seen)
    turned = (inner[:, :2] - corner) @ np.array([along, [-along[1], along[0]]], np.float32).T
    x, y = np.meshgrid(
        np.arange(left, right, dtype=np.float32) - corner[0],
        np.arange(top, bottom, dtype=np.float32) - corner[1],
    )
    way, height = x * along[0] + y * along[1], y * along[0] - x * along[1]
    upper, lower = (_height_at(way, turned[lip,]) for lip in (_UPPER, _LOWER))
    middle = float(turned[_UPPER_MIDDLE, 0])
    halves = np.where(way < middle, max(middle, 1.0), max(seen - middle, 1.0)).astype(np.float32)
    opened = float(np.linalg.norm((inner[_UPPER_MIDDLE] - inner[_LOWER_MIDDLE])[:2]))
    return _Mouth(
        view=pixels[top:bottom, left:right],
        lips=inner[:, :2] - np.array([left, top], np.float32),
        depth=height - upper,
        gap=lower - upper,
        side=np.clip((way - np.float32(middle)) / halves, -1, 1),
        width=width,
        openness=ramp(opened / width, _SHUT, _OPEN),
        lit=max(smile, ramp(opened / width, *_PARTED)),
        presence=presence,
        smile=smile,
        skin=_skin(pixels, points[NOSE_BRIDGE_SLICE, :2]),
    )


def _draw_seam(mouth: _Mouth) -> None:
    """Darken the line where shut lips meet; what is darker stays."""
    reach = np.maximum(mouth.gap / 2, np.float32(0.014 * mouth.width)) + np.float32(0.5)
    share = np.exp(-np.square((mouth.depth - mouth.gap / 2) / reach))
    share *= np.clip((1 - np.abs(mouth.side)) * 5, 0, 1)
    share *= np.float32((1 - mouth.openness) * mouth.presence * _SEAM_SHARE)
    view = mouth.view
    view += (np.minimum(view, mouth.skin * _SEAM) - view) * share[..., None]


def _lift_corners(mouth: _Mouth) -> None:
    """Bring what is darker than the folds about the mouth's corners up to them."""
    height, width = mouth.depth.shape
    y, x = np.mgrid[:height, :width].astype(np.float32)
    reach = np.float32(_CORNER_REACH * mouth.width)
    share = np.zeros((height, width), np.float32)
    for corner in mouth.lips[[_LEFT, _RIGHT]]:
        away = np.square((x - corner[0]) / reach) + np.square((y - corner[1]) / reach)
        share = np.maximum(share, np.exp(-np.square(away)))
    view = mouth.view
    lifted = np.maximum(view, mouth.skin * _CORNER)
    view += (lifted - view) * (share * np.float32(mouth.presence))[..., None]


def _draw_inside(mouth: _Mouth) -> None:
    inside = _cavity(mouth)
    inside += (_teeth(mouth) - inside) * _teeth_share(mouth)[..., None]
    inside = np.asarray(cv2.GaussianBlur(inside, (0, 0), _INSIDE_SOFT_PX), np.float32)
    share = cv2.GaussianBlur(filled_outline(mouth.lips, inside.shape[:2]), (0, 0), _SOFT_PX)
    view = mouth.view
    view += (inside - view) * (share * np.float32(mouth.openness * mouth.presence / 255))[..., None]


def _cavity(mouth: _Mouth) -> Float32:
    """The dark, the cheeks beside it, and the tongue on the lower lip, float32[H, W, 3]."""
    hue = warmed(mouth.skin, 0.7)
    tall = np.float32(_TONGUE_TALL * mouth.width) * (1 - np.square(mouth.side))
    raised = (mouth.depth - mouth.gap + tall) / np.float32(0.05 * mouth.width)
    opened = (mouth.gap / np.float32(mouth.width) - _TONGUE_FROM) / (_TONGUE_TO - _TONGUE_FROM)
    share = np.clip(raised, 0, 1) * np.clip(opened, 0, 1)
    beside = np.clip((np.abs(mouth.side) - 0.5) / 0.4, 0, 1)[..., None]
    dark = _DARK + beside * (_CHEEK - _DARK)
    return np.asarray(hue * (dark + share[..., None] * (_TONGUE - dark)), np.float32)


def _teeth(mouth: _Mouth) -> Float32:
    """The upper teeth, in shade below the lip and towards the corners, float32[H, W, 3]."""
    light = float(mouth.skin.mean()) + 1
    whiteness = between(_WHITENESS, mouth.smile) * (180 / light) ** 0.25
    whiteness *= between(_SHADED, mouth.lit)
    white = warmed(mouth.skin, _WARMTH) * np.float32(whiteness)
    lines = np.clip(1 - 2.4 * _beside_gaps(mouth.side), 0, 1) ** 1.5
    below_lip = np.clip(mouth.depth / np.float32(max(0.09 * mouth.width, 1.0)), 0, 1)
    shade = (1 - _LINES * lines) * (0.6 + 0.4 * _arch(mouth.side)) * (0.6 + 0.4 * below_lip)
    return np.asarray(np.minimum(white * shade[..., None], _WHITEST), np.float32)


def _teeth_share(mouth: _Mouth) -> Float32:
    """Where the teeth are, float32[H, W]: from the upper lip to their edge, short of the lower."""
    tall = between(_TEETH_TALL, mouth.smile) * mouth.width
    edge = np.float32(tall) * np.sqrt(1 - 0.75 * np.square(mouth.side))
    edge *= 1 - _ROUNDED * np.square(np.clip(1 - 1.3 * _beside_gaps(mouth.side), 0, 1))
    above_edge = (edge - mouth.depth) / np.float32(max(0.035 * mouth.width, 1.2)) + 0.5
    above_lip = (mouth.gap - mouth.depth) / np.float32(max(0.03 * mouth.width, 1.0))
    share = np.clip(above_edge, 0, 1) * np.clip(above_lip, 0, 1) * np.sqrt(_arch(mouth.side))
    return np.asarray(share * between(_TEETH_SHOW, mouth.smile), np.float32)


def _beside_gaps(side: Float32) -> Float32:
    """How far from the gap between two teeth a place is: float32[H, W], 0 there to 1 between."""
    turn = np.arcsin(0.98 * side) * np.float32(np.pi / _TOOTH_TURN)
    return np.asarray(np.abs(np.sin(turn)), np.float32)


def _arch(side: Float32) -> Float32:
    """How near the front of the dental arch is, in [0, 1]: 0 in the mouth's corners."""
    return np.asarray(np.clip((0.93 - np.abs(side)) / 0.5, 0, 1), np.float32)


def _height_at(way: Float32, lip: Float32) -> Float32:
    """Height of a lip float32[M, 2], from corner to corner, at places along the mouth."""
    steps = np.maximum.accumulate(lip[:, 0])
    return np.interp(way.ravel(), steps, lip[:, 1]).reshape(way.shape).astype(np.float32)


def _skin(pixels: Float32, places: Float32) -> Float32:
    """Mean colour at places float32[M, 2] in crop units."""
    size = pixels.shape[0]
    x, y = np.clip(np.floor(places * size), 0, size - 1).astype(np.intp).T
    return np.asarray(pixels[y, x].mean(axis=0), np.float32)
