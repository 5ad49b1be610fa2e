"""Draws what is around a painted face: the frame's own pixels, and a surrogate's hair.

What happens where is told coarsely, over rays; see `engines.surroundings`, which works it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.alignment import Similarity, scale_of, shifted
from engines.crop_regions import within_boxes
from engines.ears import draw_ears
from engines.grid_window import (
    as_pixels,
    moved_pixels,
    moves_of,
    spread,
    window_of,
)
from engines.hair_strands import worn_strands
from engines.hair_tone import HairColour
from engines.patches import Placed
from engines.pictures import Picture
from engines.polar import CELL, GRID, grid_from_rays
from engines.stylegan.drawing import laid_over, rise
from engines.types import Box

__all__ = ["Fields", "crispness", "fields_from_rays", "head_layer", "narrowed"]

_FEATHER: Final = (-0.035, 0.004)
"""Distances beyond the rim between which surroundings begin."""
_CRISPEST: Final = 4.0
_LEAST_PX: Final = 3.0
"""How much more suddenly they begin at most, and over how many pixels at least, more where the
picture is blurred: narrower rims would tremble."""
_SOFTER: Final = 0.5
_EARLIER: Final = 0.005
_TIPS: Final = 0.004
_ROOTS: Final = 0.06
"""How much more softly drawn hair begins, as a share, how much farther beyond the rim, how much one
strand does before another, and up to what distance that tells."""
_ENDS: Final = 0.5
"""How much more or less of one strand than of another is seen where hair ends."""
_REACH: Final = (_FEATHER[0] - 3 * _TIPS) / _SOFTER
_NEAR_CELL: Final = 0.03
"""From which distance beyond the rim on surroundings show at all, and somewhat more than a cell."""
_FAINT: Final = 0.004
_APART: Final = 2.0
"""Deviation of the blur of other faces' boxes, cells of the grid."""


Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Fields:
    """What happens around a face, over the grid.

    Attributes:
        around: float32[GRID, GRID, 4], how much farther right and below a place is taken from,
            distance from the painted face's rim, negative inside; and 1, falling to 0 where rays
            end.
        hair: float32[GRID, GRID, 4], where on the sheet of strands hair is drawn, across and along
            them, how bright it is, and what share of it is seen; see `engines.hair_strands`.
        seam: float32[GRID, GRID, 4], what is added to colours, drawn hair's too, BGR, and 0.
        forehead: float32[GRID, GRID, 4], how much farther right and below a place on the forehead
            is taken from, 1 on the forehead that is drawn up to the hair; and what share of its
            brightness it keeps.
        tone: float32[GRID, GRID, 4], what is added to its colours, BGR, and 0.
        ears: float32[2, 6], where ears are drawn, see `engines.ears`.
        colour: of the hair that is drawn; None for none.
        cropped: how short its strands are, 0 to 1.
        middle: where on their sheet the top of the head lies, see `engines.hair_strands`.
    """

    around: Float32
    hair: Float32
    seam: Float32
    forehead: Float32
    tone: Float32
    ears: Float32
    colour: HairColour | None
    cropped: float
    middle: float

    def followed_by(self, later: Fields, share: float) -> Fields:
        """Between these and later ones, by a share of the way; hair has the later one's colour."""

        def mixed(one: Float32, other: Float32) -> Float32:
            return np.asarray(cv2.addWeighted(one, 1 - share, other, share, 0), np.float32)

        return Fields(
            mixed(self.around, later.around),
            mixed(self.hair, later.hair),
            mixed(self.seam, later.seam),
            mixed(self.forehead, later.forehead),
            mixed(self.tone, later.tone),
            mixed(self.ears, later.ears),
            later.colour,
            later.cropped,
            later.middle,
        )


def crispness(side_px: float, softness_px: float) -> float:
    """How much more suddenly surroundings may begin where a head ends, 1 and more.

    Args:
        side_px: of the patch, px of the frame.
        softness_px: deviation of the picture's blur, px.

    >>> crispness(60, 0), crispness(2000, 0)
    (1.0, 4.0)
    """
    width = (_FEATHER[1] - _FEATHER[0]) * side_px
    return float(np.clip(width / (_LEAST_PX * (1 + softness_px)), 1.0, _CRISPEST))


def narrowed(beyond: Float32, contour: Float32) -> Float32:
    """Distances beyond a rim, as if it were narrower about its middle: float32[RAYS, STEPS].

    Args:
        beyond: float32[RAYS, STEPS].
        contour: float32[RAYS], how much narrower.
    """
    middle = np.float32(sum(_FEATHER) / 2)
    return np.asarray((beyond - middle) * contour[:, None] + middle, np.float32)


def fields_from_rays(
    outwards: Float32,
    rim: Float32,
    hair: Float32,
    seam: Float32,
    forehead: Float32,
    tone: Float32,
    ears: Float32,
    colour: HairColour | None,
    cropped: float,
    middle: float,
) -> Fields:
    """The fields of what happens over rays.

    Args:
        outwards: float32[RAYS, STEPS], how much farther out places are taken from.
        rim: float32[RAYS, STEPS, 2], distance from the painted face's rim, and where rays end.
        hair: float32[RAYS, STEPS, 4].
        seam: float32[RAYS, STEPS, 3].
        forehead: float32[RAYS, STEPS, 3].
        tone: float32[RAYS, STEPS, 3].
        ears: float32[2, 6].
        colour: of the hair that is drawn; None for none.
        cropped: how short its strands are.
        middle: where on their sheet the top of the head lies.
    """
    nothing = np.zeros_like(outwards)
    # Four channels are looked up in half the time of three.
    planes = (
        (outwards, nothing, rim[..., 0], rim[..., 1]),
        tuple(np.moveaxis(hair, 2, 0)),
        (*np.moveaxis(seam, 2, 0), nothing),
        (forehead[..., 0], nothing, forehead[..., 1], 1 - forehead[..., 2]),
        (*np.moveaxis(tone, 2, 0), nothing),
    )
    around, hair, seam, forehead, tone = (grid_from_rays(np.stack(one, axis=2)) for one in planes)
    forehead = moves_of(forehead)
    return Fields(moves_of(around), hair, seam, forehead, tone, ears, colour, cropped, middle)


def head_layer(
    picture: Picture,
    place: Similarity,
    region: tuple[int, int, int, int],
    fields: Fields,
    others: Sequence[Box],
    softness_px: float = 0.0,
) -> Placed:
    """Draws the surroundings in the frame's own pixels.

    Args:
        picture: the composite.
        place: map from the frame to the grid.
        region: top, left, height and width of the window, px of the frame.
        fields: what happens where.
        others: boxes of other faces.
        softness_px: deviation of the blur that drawn hair must have to look like the picture, px.
    """
    top, left, height, width = region
    local = shifted(place, left, top)
    free = _beside(others, place)
    window = (width, height)
    around = as_pixels(fields.around, local)
    if free is not None:
        around[..., 3] *= free
    moves = spread(around, local, window)
    # Four channels are worked on in less time than three; the fourth becomes the weight.
    seen = picture.region_bgr(top, left, height, width)
    frame = np.asarray(cv2.cvtColor(seen, cv2.COLOR_BGR2BGRA), np.uint8)
    pixels = moved_pixels(frame, moves)
    beyond = np.ascontiguousarray(moves[..., 2])
    _draw_hair(pixels, beyond, fields, local, softness_px)
    pixels += spread(fields.seam, local, window)
    draw_ears(pixels, fields.ears, local, softness_px)
    weight = rise(beyond, *_FEATHER) * moves[..., 3]
    np.clip(pixels, 0, 255, out=pixels)
    if fields.forehead[..., 2].any():
        _lay_forehead(frame, pixels, weight, fields, local, free)
    pixels[..., 3] = weight
    return Placed(top, left, pixels)


def _lay_forehead(
    frame: NDArray[np.uint8],
    pixels: Float32,
    weight: Float32,
    fields: Fields,
    grid_from_window: Similarity,
    free: Float32 | None,
) -> None:
    """Lays the painted forehead, drawn up to the hair, under a layer; changes it and its weight.

    Args:
        frame: uint8[H, W, 4] of the window, BGR and 255.
        pixels: float32[H, W, 4] of the layer, BGR and anything.
        weight: float32[H, W] of it.
        fields: what happens where.
        grid_from_window: the grid's map.
        free: float32[GRID, GRID], 0 in other faces' boxes; None without others.
    """
    where = fields.forehead
    top, left, height, width = window_of(where[..., 2] > _FAINT, grid_from_window, frame.shape[:2])
    local, part = shifted(grid_from_window, left, top), (width, height)
    moved = as_pixels(where, local)
    if free is not None:
        moved[..., 2] *= free
    moves = spread(moved, local, part)
    skin, own = moved_pixels(frame, moves, top, left), moves[..., 2]
    skin += spread(fields.tone, local, part)
    skin *= moves[..., 3:]
    inside = slice(top, top + height), slice(left, left + width)
    hair = weight[inside]
    both = hair + own * (1 - hair)
    share = np.asarray(hair / np.maximum(both, np.float32(_FAINT)), np.float32)
    pixels[inside] = laid_over(skin, pixels[inside], share)
    weight[inside] = both


def _draw_hair(
    pixels: Float32,
    beyond: Float32,
    fields: Fields,
    grid_from_window: Similarity,
    softness_px: float,
) -> None:
    """Draws a surrogate's hair over a layer; changes it, and how far beyond the rim it begins.

    Args:
        pixels: float32[H, W, 4] of the layer, BGR and anything.
        beyond: float32[H, W], distance from the painted face's rim.
        fields: what happens where.
        grid_from_window: the grid's map.
        softness_px: how blurred the picture is, px of the frame.
    """
    where, colour = fields.hair, fields.colour
    seen = (where[..., 3] > _FAINT) & (fields.around[..., 2] > _REACH - _NEAR_CELL)
    if colour is None or not seen.any():
        return
    top, left, height, width = window_of(seen, grid_from_window, beyond.shape)
    inside = (slice(top, top + height), slice(left, left + width))
    hair = spread(where, shifted(grid_from_window, left, top), (width, height))
    # Hair is drawn on few of a window's pixels: only these are worked on, as one list.
    near = np.flatnonzero((hair[..., 3] > _FAINT) & (beyond[inside] > _REACH))
    rows, columns = np.divmod(near, width)
    flat = (rows + top) * beyond.shape[1] + columns + left
    across, along, bright, share = hair.reshape(-1, 4).take(near, axis=0).T
    side_px = float(CELL) / scale_of(grid_from_window) / (1 + softness_px)
    strands, tips = worn_strands(across, along, fields.middle, fields.cropped, side_px)
    share = np.clip(share + np.float32(_ENDS) * tips * share * (1 - share), 0, 1)
    every, rim = pixels.reshape(-1, 4), beyond.reshape(-1)
    every[flat] = _mixed(every.take(flat, axis=0), colour.of_strands(strands, bright), share)
    away = rim.take(flat)
    tips = np.float32(_TIPS) * tips * np.exp(-np.square(along / np.float32(_ROOTS)))
    softer = np.float32(_SOFTER) * away - np.float32(_EARLIER) + tips
    rim[flat] = away + share * (softer - away)


def _mixed(one: Float32, other: Float32, share: Float32) -> Float32:
    """Between two lists of colours float32[N, 4], by shares float32[N] of the way."""
    return np.asarray(one + share[:, None] * (other - one), np.float32)


def _beside(others: Sequence[Box], place: Similarity) -> Float32 | None:
    """0 in other faces' boxes, rising to 1 beside them: float32[GRID, GRID]; None without any."""
    if not others:
        return None
    free = 1 - within_boxes(others, place, GRID).astype(np.float32)
    return np.asarray(np.minimum(free, cv2.GaussianBlur(free, (0, 0), _APART)), np.float32)
