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
from engines.grid_window import (
    as_pixels,
    looked_up,
    moved_pixels,
    moves_of,
    places_of,
    spread,
    window_of,
)
from engines.hair_sources import Sources, laid_again
from engines.hair_tone import HairColour
from engines.patches import Placed
from engines.pictures import Picture
from engines.polar import CELL, GRID, UP, distances, grid_from_rays
from engines.stylegan.drawing import laid_over, rise
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
_NEAR_RIM: Final = 0.11
"""Distance from the rim at which strands reach no farther."""
_ABOVE: Final = (0.3, 0.7)
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
        hair: float32[GRID, GRID, 4], how far beyond its roots hair is seen, the period in which it
            is laid, and over how much it is blended, see `engines.hair_sources.Sources`; and 0.
        ray: float32[GRID, GRID, 4], where hair that is laid begins, right of and below the middle,
            and its ray's direction.
        seam: float32[GRID, GRID, 4], what is added to colours, BGR, and what is above the face.
        forehead: float32[GRID, GRID, 4], how much farther right and below a place on the forehead
            is taken from, 1 on the forehead that is drawn up to the hair; and what share of its
            brightness it keeps.
        tone: float32[GRID, GRID, 4], what is added to its colours, BGR, and 0.
        colour: of the hair that is laid; None for none.
    """

    around: Float32
    hair: Float32
    ray: Float32
    seam: Float32
    forehead: Float32
    tone: Float32
    colour: HairColour | None

    def followed_by(self, later: Fields, share: float) -> Fields:
        """Between these and later ones, by a share of the way; hair has the later one's colour."""

        def mixed(one: Float32, other: Float32) -> Float32:
            return np.asarray(cv2.addWeighted(one, 1 - share, other, share, 0), np.float32)

        return Fields(
            mixed(self.around, later.around),
            mixed(self.hair, later.hair),
            mixed(self.ray, later.ray),
            mixed(self.seam, later.seam),
            mixed(self.forehead, later.forehead),
            mixed(self.tone, later.tone),
            later.colour,
        )


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
        (forehead[..., 0], nothing, forehead[..., 1], 1 - forehead[..., 2]),
        (*np.moveaxis(tone, 2, 0), nothing),
    )
    around, hair, ray, seam, forehead, tone = (
        grid_from_rays(np.stack(one, axis=2)) for one in planes
    )
    return Fields(moves_of(around), hair, ray, seam, moves_of(forehead), tone, colour)


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
    window = (width, height)
    around = as_pixels(fields.around, local)
    if free is not None:
        around[..., 3] *= free
    moves = spread(around, local, window)
    # Four channels are worked on in less time than three; the fourth becomes the weight.
    seen = picture.region_bgr(top, left, height, width)
    frame = np.asarray(cv2.cvtColor(seen, cv2.COLOR_BGR2BGRA), np.uint8)
    pixels = moved_pixels(frame, moves)
    if fields.colour is not None:
        _lay_hair(frame, pixels, moves, fields, fields.colour, local)
    seam = spread(fields.seam, local, window)
    pixels += seam
    beyond, above = (np.ascontiguousarray(one) for one in (moves[..., 2], seam[..., 3]))
    upper = _rows_with(above)
    side_px = float(CELL) / scale_of(local)
    beyond[upper] += _strands(pixels[upper], beyond[upper], above[upper], side_px)
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
        frame: uint8[H, W, 4] of the window, BGR and 255.
        pixels: float32[H, W, 4] of the layer, BGR and anything.
        moves: float32[H, W, 4]; how far beyond the rim a place is, and its weight, come last.
        fields: what happens where.
        colour: what is no hair among it is brought to that.
        grid_from_window: the grid's map.
    """
    where = fields.hair
    beyond = fields.around[..., 2]
    around = (where[..., 0] < where[..., 2] + _NEAR_CELL) & (beyond > _REACH - _NEAR_CELL)
    top, left, height, width = window_of(around, grid_from_window, frame.shape[:2])
    local, part = shifted(grid_from_window, left, top), (width, height)
    hair, ray = spread(where, local, part), spread(fields.ray, local, part)
    layer = moves[top : top + height, left : left + width]
    is_near = (hair[..., 0] < hair[..., 2]) & (layer[..., 2] > _REACH) & (layer[..., 3] > _FAINT)
    # Hair is laid on few of a window's pixels: only these are worked on, as one list.
    near = np.flatnonzero(is_near)
    if not len(near):
        return
    laid = laid_again(*hair.reshape(-1, 4).take(near, axis=0).T[:3])
    ray = ray.reshape(-1, 4).take(near, axis=0)
    begins, along = places_of(ray[:, :2], ray[:, 2:], grid_from_window)

    def taken(some: NDArray[np.intp], way: Float32, aside: Float32) -> Float32:
        right, below = along.take(some, axis=1)
        way, aside = way.take(some), aside.take(some)
        places = begins.take(some, axis=1)
        places[0] += way * right - aside * below
        places[1] += way * below + aside * right
        return colour.bounded(looked_up(frame, *places))

    rows, columns = np.divmod(near, width)
    flat = (rows + top) * pixels.shape[1] + columns + left
    every, is_laid = pixels.reshape(-1, 4), np.flatnonzero(laid.is_laid)
    seen, is_blended = every.take(flat, axis=0), np.flatnonzero(laid.share > _FAINT)
    seen[is_laid] = taken(is_laid, laid.first, laid.first_aside)
    other, share = taken(is_blended, laid.second, laid.second_aside), laid.share.take(is_blended)
    own = seen.take(is_blended, axis=0)
    seen[is_blended] = own + share[:, None] * (other - own)
    every[flat] = seen


def _rows_with(weight: Float32) -> slice:
    """The rows of float32[H, W] from the first to the last with any weight, one at least."""
    rows = np.flatnonzero(weight.max(axis=1) > _FAINT)
    return slice(int(rows[0]), int(rows[-1]) + 1) if len(rows) else slice(0, 1)


def _strands(pixels: Float32, beyond: Float32, above: Float32, side_px: float) -> Float32:
    """How much farther hair reaches over the painted forehead: float32[H, W].

    Args:
        pixels: float32[H, W, 4], BGR and anything.
        beyond: float32[H, W], distance from the rim.
        above: float32[H, W], 1 above the face.
        side_px: the patch's side, px of the frame.
    """
    luma = np.asarray(cv2.cvtColor(pixels, cv2.COLOR_BGRA2GRAY), np.float32)
    beside = cv2.GaussianBlur(luma, (0, 0), max(_STRAND_WIDTH * side_px, 0.8))
    darker = np.clip((beside - luma) / np.float32(_STRAND_LEVELS), -1, 1)
    near = np.maximum(1 - np.square(beyond / np.float32(_NEAR_RIM)), 0)
    near *= near
    near *= near
    near *= above
    return np.asarray(np.float32(_STRANDS) * darker * near, np.float32)


@lru_cache(maxsize=1)
def _above() -> Float32:
    """1 above a face, falling to 0 beside it: float32[RAYS, STEPS], shared."""
    return np.repeat(rise(UP, *_ABOVE)[:, None], distances().shape[1], axis=1)


def _beside(others: Sequence[Box], place: Similarity) -> Float32 | None:
    """0 in other faces' boxes, rising to 1 beside them: float32[GRID, GRID]; None without any."""
    if not others:
        return None
    free = 1 - within_boxes(others, place, GRID).astype(np.float32)
    return np.asarray(np.minimum(free, cv2.GaussianBlur(free, (0, 0), _APART)), np.float32)
