"""The inside of painted mouths: what open lips show, and the seam of shut ones.

A texture is a mean of many mouths, most of them shut, so an open one shows lips stretched over the
gap, and a shut one what is left of teeth as a pale, ragged line. What is between the inner lips,
which are control points, is drawn instead: from a few colours, as coarse as one cell a tooth and a
half. Of a subject they are read off the picture, since no landmark tells which teeth a mouth bares
and where its tongue is: they belong to the expression. Where nothing was read, they are those of a
mouth that bares its upper teeth the more, the wider it is drawn. The teeth are everybody's: where
it is bright, it is darker between two of them.
"""

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.stylegan.drawing import LUMA, between, box_around, filled_outline, ramp, rise
from engines.stylegan.topology import (
    EYE_LEFT_SLICE,
    EYE_RIGHT_SLICE,
    LIPS_INNER_SLICE,
    NOSE_BASE_SLICE,
    NOSE_BRIDGE_SLICE,
)

__all__ = [
    "INSIDE",
    "draw_mouth",
    "inside_of_mouth",
    "lips_apart",
    "mouth_width",
    "usual_inside",
]

INSIDE: Final = (6, 9, 3)
"""Cells between the lips, from the upper to the lower one, and across; colours BGR."""
_MIDDLE_CELLS: Final = slice(3, 6)
"""Columns of them in which lips part first."""
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
_TEETH_TALL: Final = (0.08, 0.24)
"""Of the mouth's width: how far the upper teeth reach below the lip."""
_TOOTH_TURN: Final = 0.3
"""Width of a tooth, as an angle of the dental arch, radians."""
_LINES: Final = 0.22
"""How much darker it is between two teeth."""
_WHITE: Final = (0.04, 0.2)
"""How much more of a lamp's blue than of its red teeth reflect, shares of the blue, from which they
are seen, and from which plainly: skin, lips and tongue reflect less."""
_DARK: Final = np.array([0.16, 0.17, 0.32], np.float32)
_TEETH: Final = np.array([1.2, 1.1, 0.98], np.float32)
_TONGUE: Final = np.array([0.42, 0.38, 0.68], np.float32)
_SEAM: Final = np.array([0.42, 0.42, 0.50], np.float32)
_CORNER: Final = np.array([0.50, 0.50, 0.62], np.float32)
"""Colours, BGR, as shares of the skin's."""
_RANGE: Final = (0.04, 1.6)
"""The same, between which what is read lies."""
_WHITEST: Final = 236.0
_SEAM_SHARE: Final = 0.75
_CORNER_REACH: Final = 0.12
"""Of the mouth's width: how far about its corners a texture's dark spots are lifted. Lips that are
drawn wide draw them out to lines."""
_SEAM_WIDE: Final = 0.05
"""Of the mouth's width: how far beside open lips the seam of a texture's shut ones is lifted."""
_TEETH_SEEN: Final = (0.85, 1.0)
_DARK_SEEN: Final = (0.3, 0.12)
"""Brightness between lips, of the skin's, from which teeth begin to count as seen, and a dark
mouth: lips are darker than the one, and their seam is brighter than the other."""
_EDGE: Final = (0.2, 0.8)
"""Of the way from the darkest to the brightest cell about: what is drawn as dark, and as bright."""
_FINER: Final = 4
"""Places in a row and a column of a cell at which a mouth is read."""
_SOFT_PX: Final = 1.1
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


def inside_of_mouth(crop: npt.NDArray[np.uint8], points: Float32) -> Float32:
    """What is between the lips of a subject: colours of `INSIDE` cells, as shares of the skin's.

    Args:
        crop: uint8[S, S, 3] BGR.
        points: float32[>= MESH_POINTS, >= 2], crop units.

    Returns:
        float32[INSIDE]. Of shut lips it is their seam.
    """
    rows, columns, _ = INSIDE
    places = points[:, :2] * np.float32(len(crop)) - np.float32(0.5)
    lips = places[LIPS_INNER_SLICE]
    way = (np.arange(columns * _FINER, dtype=np.float32) + 0.5) / (columns * _FINER) * 10
    upper, lower = (
        np.stack([np.interp(way, np.arange(11), lips[lip, axis]) for axis in (0, 1)])
        for lip in (_UPPER, _LOWER)
    )
    down = ((np.arange(rows * _FINER) + 0.5) / (rows * _FINER))[:, None]
    x, y = (np.asarray(a + (b - a) * down, np.float32) for a, b in zip(upper, lower, strict=True))
    seen = cv2.remap(crop, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    cells = cv2.resize(seen.astype(np.float32), (columns, rows), interpolation=cv2.INTER_AREA)
    share = cells / (_skin(crop, points[:, :2]) + 1)
    return np.asarray(np.clip(share, *_RANGE), np.float32)


def lips_apart(inside: Float32) -> Float32:
    """How surely lips are apart by what is seen between them, float32[N] in [0, 1].

    Landmarks of lips that are a little apart and of shut ones differ by less than those of two
    people's shut ones do; teeth and the dark of a mouth are seen between open ones alone.

    Args:
        inside: float32[N, *INSIDE] of `inside_of_mouth`.

    >>> shut = np.full((1, *INSIDE), 0.6, np.float32)
    >>> teeth = shut.copy()
    >>> teeth[:, 1:3, 3:6] = 1.1
    >>> lips_apart(np.concatenate([shut, teeth])).tolist()
    [0.0, 1.0]
    """
    middle = (inside @ LUMA)[:, :, _MIDDLE_CELLS].reshape(len(inside), -1)
    ends = zip(middle.max(axis=1).tolist(), middle.min(axis=1).tolist(), strict=True)
    found = [max(ramp(bright, *_TEETH_SEEN), ramp(dark, *_DARK_SEEN)) for bright, dark in ends]
    return np.array(found, np.float32)


def usual_inside(points: Float32, stretch: float) -> Float32:
    """What is between lips that nobody has read: upper teeth, tongue and dark, float32[INSIDE].

    Args:
        points: float32[>= MESH_POINTS, 3], in any unit.
        stretch: `mouth_width` as a share of that at rest.
    """
    rows, columns, _ = INSIDE
    lips = points[LIPS_INNER_SLICE]
    gap = _gap(lips) / (float(np.linalg.norm(lips[_RIGHT] - lips[_LEFT])) + _FAINT)
    side = ((np.arange(columns) + 0.5) / columns * 2 - 1)[None, :, None]
    depth = ((np.arange(rows) + 0.5) / rows)[:, None, None] * gap * (1 - 0.8 * side**2)
    tall = between(_TEETH_TALL, ramp(stretch, _EARNEST, _SMILE)) * (1 - 0.8 * side**2)
    teeth = np.clip((tall - depth) / 0.04 + 0.5, 0, 1) * np.clip(4 * (0.95 - np.abs(side)), 0, 1)
    tongue = np.clip((depth - gap + 0.13 * (1 - side**2)) / 0.05, 0, 1) * ramp(gap, 0.2, 0.34)
    inside = _DARK + tongue * (_TONGUE - _DARK)
    return np.asarray(inside + teeth * (_TEETH - inside), np.float32)


def draw_mouth(pixels: Float32, points: Float32, inside: Float32) -> None:
    """Draw what is between the lips of a painted face, in place.

    Args:
        pixels: float32[S, S, 3] BGR, 0 to 255.
        points: float32[POINTS, 3] of the painted face, crop units.
        inside: float32[INSIDE], see `inside_of_mouth`.
    """
    mouth = _mouth_in(pixels, points)
    if mouth is None:
        return
    _lift_corners(mouth)
    if mouth.openness > 0:
        _lift_lips(mouth)
    if mouth.openness < 1:
        _draw_seam(mouth)
    if mouth.openness > 0:
        _draw_inside(mouth, inside)


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
        presence: how much of the drawing is to be seen, in (0, 1].
        skin: float32[3] BGR of the nose.
    """

    view: Float32
    lips: Float32
    depth: Float32
    gap: Float32
    side: Float32
    width: float
    openness: float
    presence: float
    skin: Float32


def _mouth_in(pixels: Float32, points: Float32) -> _Mouth | None:
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
    return _Mouth(
        view=pixels[top:bottom, left:right],
        lips=inner[:, :2] - np.array([left, top], np.float32),
        depth=height - upper,
        gap=lower - upper,
        side=np.clip((way - np.float32(middle)) / halves, -1, 1),
        width=width,
        openness=ramp(_gap(inner) / width, _SHUT, _OPEN),
        presence=presence,
        skin=_skin(pixels, points[:, :2]),
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


def _lift_lips(mouth: _Mouth) -> None:
    """Bring what a texture shows of the seam of its lips up to the lips beside it.

    Open lips would have it along their edges, as dark, ragged spots.
    """
    wide = _SEAM_WIDE * mouth.width
    away = np.maximum(-mouth.depth, mouth.depth - mouth.gap) / np.float32(wide)
    share = np.exp(-np.square(np.square(np.maximum(away, 0)))) * (np.abs(mouth.side) < 1)
    reach = max(1, round(wide))
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * reach + 1, 2 * reach + 1))
    lips = cv2.GaussianBlur(cv2.morphologyEx(mouth.view, cv2.MORPH_CLOSE, kernel), (0, 0), _SOFT_PX)
    view = mouth.view
    lifted = np.maximum(view, lips)
    view += (lifted - view) * (share * np.float32(mouth.openness * mouth.presence))[..., None]


def _draw_inside(mouth: _Mouth, inside: Float32) -> None:
    rows, columns, _ = INSIDE
    across = (mouth.side + 1) * np.float32(columns / 2) - np.float32(0.5)
    down = mouth.depth / np.maximum(mouth.gap, np.float32(0.5)) * np.float32(rows) - 0.5
    shares = _sharpened(inside, across, np.asarray(down, np.float32))
    seen = np.asarray(shares * mouth.skin, np.float32)
    lines = np.clip(1 - 2.4 * _beside_gaps(mouth.side), 0, 1) ** 1.5
    bluer = 1 - shares[..., 2] / shares[..., 0]
    white = np.clip((bluer - _WHITE[0]) / (_WHITE[1] - _WHITE[0]), 0, 1) * shares[..., 0]
    seen *= (1 - np.float32(_LINES) * lines * white)[..., None]
    np.minimum(seen, _WHITEST, out=seen)
    share = cv2.GaussianBlur(filled_outline(mouth.lips, seen.shape[:2]), (0, 0), _SOFT_PX)
    view = mouth.view
    view += (seen - view) * (share * np.float32(mouth.openness * mouth.presence / 255))[..., None]


def _sharpened(inside: Float32, across: Float32, down: Float32) -> Float32:
    """Cells float32[INSIDE] at places float32[H, W] of theirs, with edges narrower than cells.

    Where neighbours differ, values halfway between them are an edge that lies there: the rim of
    teeth before the dark.
    """
    around = np.ones((3, 3), np.uint8)
    low, high, own = (
        cv2.remap(cells, across, down, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        for cells in (cv2.erode(inside, around), cv2.dilate(inside, around), inside)
    )
    reach = np.maximum(high - low, np.float32(_FAINT))
    return np.asarray(low + reach * rise((own - low) / reach, *_EDGE), np.float32)


def _beside_gaps(side: Float32) -> Float32:
    """How far from the gap between two teeth a place is: float32[H, W], 0 there to 1 between."""
    turn = np.arcsin(0.98 * side) * np.float32(np.pi / _TOOTH_TURN)
    return np.asarray(np.abs(np.sin(turn)), np.float32)


def _gap(lips: Float32) -> float:
    """How far inner lips float32[20, >= 2] are apart in their middle."""
    return float(np.linalg.norm((lips[_UPPER_MIDDLE] - lips[_LOWER_MIDDLE])[:2]))


def _height_at(way: Float32, lip: Float32) -> Float32:
    """Height of a lip float32[M, 2], from corner to corner, at places along the mouth."""
    steps = np.maximum.accumulate(lip[:, 0])
    return np.interp(way.ravel(), steps, lip[:, 1]).reshape(way.shape).astype(np.float32)


def _skin(pixels: Float32 | npt.NDArray[np.uint8], points: Float32) -> Float32:
    """Mean colour of a nose, float32[3]; points float32[>= MESH_POINTS, 2] in crop units."""
    size = pixels.shape[0]
    nose = np.concatenate([points[NOSE_BRIDGE_SLICE], points[NOSE_BASE_SLICE]])
    x, y = np.clip(np.floor(nose * size), 0, size - 1).astype(np.intp).T
    return np.asarray(pixels[y, x].mean(axis=0), np.float32)
