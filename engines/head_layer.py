"""Draws what is around a painted face in the frame's own pixels.

What happens where is told coarsely, over rays; see `engines.surroundings`, which works it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.alignment import Similarity, scale_of, shifted
from engines.crop_regions import within_boxes
from engines.grid_window import as_pixels, looked_up, moved_pixels, shift_of, spread, window_of
from engines.hair_sources import Sources, laid_again
from engines.hair_tone import HairColour
from engines.patches import Placed
from engines.pictures import Picture
from engines.polar import CELL, GRID, UP, distances, grid_from_middle, grid_from_rays
from engines.stylegan.drawing import brightness, laid_over, rise
from engines.types import Box

__all__ = ["Fields", "fields_from_rays", "head_layer"]

_FEATHER: Final = (-0.035, 0.004)
"""Distances beyond the rim between which surroundings begin."""
_STRANDS: Final = 0.008
_REACH: Final = _FEATHER[0] - _STRANDS
_NEAR_CELL: Final = 0.03
"""From which distance beyond the rim on surroundings show at all, and somewhat more than a cell."""
_STRAND_LEVELS: Final = 12.0
_STRAND_WIDTH: Final = 0.02
"""How far strands of hair reach over a forehead, from how much darker they are than what is beside
them, grey levels, and within what deviation that is told."""
_NEAR_RIM: Final = 0.05
_ABOVE: Final = (0.3, 0.7)
_FAINT: Final = 0.004
_APART: Final = 2.0
"""Deviation of the blur of other faces' boxes, cells of the grid."""


Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Fields:
    """What happens around a face, over the grid.

    Attributes:
        moved: float32[GRID, GRID, 2], how much farther out and farther right a place is taken from.
        beyond: float32[GRID, GRID], distance from the painted face's rim, negative inside.
        ends: the same, 1, falling to 0 where rays end.
        hair: float32[GRID, GRID, 4], how far beyond its roots hair is seen, the period in which it
            is laid, and over how much it is blended, see `engines.hair_sources.Sources`; and 0.
        ray: float32[GRID, GRID, 4], where hair that is laid begins, right of and below the middle,
            and its ray's direction.
        seam: float32[GRID, GRID, 4], what is added to colours, BGR, and what is above the face.
        forehead: float32[GRID, GRID, 4], how much farther out a place on the forehead is taken
            from, 1 on the forehead that is drawn up to the hair, how much darker it is; and 0.
        tone: float32[GRID, GRID, 4], what is added to its colours, BGR, and 0.
        colour: of the hair that is laid; None for none.
    """

    moved: Float32
    beyond: Float32
    ends: Float32
    hair: Float32
    ray: Float32
    seam: Float32
    forehead: Float32
    tone: Float32
    colour: HairColour | None


def fields_from_rays(
    sources: Sources,
    right: Float32,
    rim: Float32,
    seam: Float32,
    forehead: Float32,
    tone: Float32,
    colour: HairColour | None,
) -> Fields:
    """The fields of what happens over rays.

    Args:
        sources: where places are taken from.
        right: float32[RAYS, STEPS], how much farther right.
        rim: float32[RAYS, STEPS, 2], distance from the painted face's rim, and where rays end.
        seam: float32[RAYS, STEPS, 3].
        forehead: float32[RAYS, STEPS, 3].
        tone: float32[RAYS, STEPS, 3].
        colour: of the hair that is laid; None for none.
    """
    nothing = np.zeros_like(right)
    outwards = sources.distance - distances()
    # Four channels are looked up in half the time of three.
    planes = (
        (outwards, right, rim[..., 0], rim[..., 1]),
        (sources.beyond, sources.period, sources.blend, nothing),
        (sources.right + right, sources.below, sources.along_right, sources.along_below),
        (*np.moveaxis(seam, 2, 0), _above()),
        (*np.moveaxis(forehead, 2, 0), nothing),
        (*np.moveaxis(tone, 2, 0), nothing),
    )
    around, hair, ray, seam, forehead, tone = (
        grid_from_rays(np.stack(one, axis=2)) for one in planes
    )
    moved_ = np.ascontiguousarray(around[..., :2])
    return Fields(moved_, around[..., 2], around[..., 3], hair, ray, seam, forehead, tone, colour)


def head_layer(
    picture: Picture,
    place: Similarity,
    region: tuple[int, int, int, int],
    fields: Fields,
    others: Sequence[Box],
) -> Placed:
    """Draws the surroundings in the frame's own pixels.

    Args:
        picture: the composite.
        place: map from the frame to the grid.
        region: top, left, height and width of the window, px of the frame.
        fields: what happens where.
        others: boxes of other faces.
    """
    top, left, height, width = region
    local = shifted(place, left, top)
    free = _beside(others, place)
    shift = shift_of(fields.moved[..., 0], fields.moved[..., 1], local)
    window = (width, height)
    moves = spread(np.dstack([shift, fields.beyond, fields.ends * free]), local, window)
    frame = picture.region_bgr(top, left, height, width)
    pixels = moved_pixels(frame, moves)
    if fields.colour is not None:
        _lay_hair(frame, pixels, moves, fields, fields.colour, local)
    seam = spread(fields.seam, local, window)
    pixels += seam[..., :3]
    beyond, above = moves[..., 2], seam[..., 3]
    upper = _rows_with(above)
    side_px = float(CELL) / scale_of(local)
    beyond[upper] += _strands(pixels[upper], beyond[upper], above[upper], side_px)
    weight = rise(beyond, *_FEATHER) * moves[..., 3]
    np.clip(pixels, 0, 255, out=pixels)
    if fields.forehead[..., 1].any():
        _lay_forehead(frame, pixels, weight, fields, local, free)
    layer = cv2.merge([*cv2.split(pixels), weight])
    return Placed(top, left, np.asarray(layer, np.float32))


def _lay_forehead(
    frame: NDArray[np.uint8],
    pixels: Float32,
    weight: Float32,
    fields: Fields,
    grid_from_window: Similarity,
    free: Float32,
) -> None:
    """Lays the painted forehead, drawn up to the hair, under a layer; changes it and its weight.

    Args:
        frame: uint8[H, W, 3] of the window.
        pixels: float32[H, W, 3] of the layer.
        weight: float32[H, W] of it.
        fields: what happens where.
        grid_from_window: the grid's map.
        free: float32[GRID, GRID], 0 in other faces' boxes.
    """
    where = fields.forehead
    top, left, height, width = window_of(where[..., 1] > _FAINT, grid_from_window, frame.shape[:2])
    local, part = shifted(grid_from_window, left, top), (width, height)
    shift = shift_of(where[..., 0], np.zeros_like(free), local)
    moves = spread(np.dstack([shift, where[..., 1] * free, 1 - where[..., 2]]), local, part)
    skin, own = moved_pixels(frame, moves, top, left), moves[..., 2]
    skin += spread(fields.tone, local, part)[..., :3]
    skin *= moves[..., 3:]
    inside = slice(top, top + height), slice(left, left + width)
    hair = weight[inside]
    both = hair + own * (1 - hair)
    share = np.asarray(hair / np.maximum(both, np.float32(_FAINT)), np.float32)
    pixels[inside] = laid_over(skin, pixels[inside], share)
    weight[inside] = both


def _lay_hair(
    frame: NDArray[np.uint8],
    pixels: Float32,
    moves: Float32,
    fields: Fields,
    colour: HairColour,
    grid_from_window: Similarity,
) -> None:
    """Lays hair from its roots inwards, see `engines.hair_sources`; changes pixels.

    Args:
        frame: uint8[H, W, 3] of the window.
        pixels: float32[H, W, 3] of the layer.
        moves: float32[H, W, 4]; how far beyond the rim a place is, and its weight, come last.
        fields: what happens where.
        colour: what is no hair among it is brought to that.
        grid_from_window: the grid's map.
    """
    where, ray, (x, y) = fields.hair, fields.ray, grid_from_middle()
    around = (where[..., 0] < where[..., 2] + _NEAR_CELL) & (fields.beyond > _REACH - _NEAR_CELL)
    top, left, height, width = window_of(around, grid_from_window, frame.shape[:2])
    local, part = shifted(grid_from_window, left, top), (width, height)
    hair = spread(where, local, part)
    layer = moves[top : top + height, left : left + width]
    is_near = (hair[..., 0] < hair[..., 2]) & (layer[..., 2] > _REACH) & (layer[..., 3] > _FAINT)
    begins = as_pixels(ray[..., 0] - x, ray[..., 1] - y, grid_from_window)
    along = as_pixels(ray[..., 2], ray[..., 3], grid_from_window)
    lies = spread(np.dstack([begins, along]), local, part)
    rows, columns = np.nonzero(is_near)
    if not len(rows):
        return
    # Hair is laid on few of a window's pixels: only these are worked on, as one list.
    laid, places = laid_again(*hair[rows, columns, :3].T), lies[rows, columns].T
    rows, columns = rows + top, columns + left
    places[0] += columns
    places[1] += rows

    def taken(some: NDArray[np.bool_], way: Float32, aside: Float32) -> Float32:
        right, below, along_right, along_below = places[:, some]
        right = right + way[some] * along_right - aside[some] * along_below
        below = below + way[some] * along_below + aside[some] * along_right
        return colour.bounded(looked_up(frame, right, below))

    seen, is_blended = pixels[rows, columns], laid.share > _FAINT
    seen[laid.is_laid] = taken(laid.is_laid, laid.first, laid.first_aside)
    other, share = taken(is_blended, laid.second, laid.second_aside), laid.share[is_blended]
    seen[is_blended] += share[:, None] * (other - seen[is_blended])
    pixels[rows, columns] = seen


def _rows_with(weight: Float32) -> slice:
    """The rows of float32[H, W] from the first to the last with any weight, one at least."""
    rows = np.flatnonzero(weight.max(axis=1) > _FAINT)
    return slice(int(rows[0]), int(rows[-1]) + 1) if len(rows) else slice(0, 1)


def _strands(pixels: Float32, beyond: Float32, above: Float32, side_px: float) -> Float32:
    """How much farther hair reaches over the painted forehead: float32[H, W].

    Args:
        pixels: float32[H, W, 3] BGR.
        beyond: float32[H, W], distance from the rim.
        above: float32[H, W], 1 above the face.
        side_px: the patch's side, px of the frame.
    """
    luma = brightness(pixels)
    beside = cv2.GaussianBlur(luma, (0, 0), max(_STRAND_WIDTH * side_px, 0.8))
    darker = np.clip((beside - luma) / np.float32(_STRAND_LEVELS), -1, 1)
    near = cv2.exp(-np.square(beyond / np.float32(_NEAR_RIM)))
    return np.asarray(np.float32(_STRANDS) * darker * near * above, np.float32)


@lru_cache(maxsize=1)
def _above() -> Float32:
    """1 above a face, falling to 0 beside it: float32[RAYS, STEPS], shared."""
    return np.repeat(rise(UP, *_ABOVE)[:, None], distances().shape[1], axis=1)


def _beside(others: Sequence[Box], place: Similarity) -> Float32:
    """0 in other faces' boxes, rising to 1 beside them: float32[GRID, GRID]."""
    free = 1 - within_boxes(others, place, GRID).astype(np.float32)
    return np.minimum(free, cv2.GaussianBlur(free, (0, 0), _APART)) if others else free
