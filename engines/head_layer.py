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

from engines.alignment import Similarity, inverse_of, scale_of, shifted, to_integer_centres
from engines.crop_regions import within_boxes
from engines.hair_sources import Sources, laid_again
from engines.hair_tone import HairColour
from engines.patches import Placed
from engines.pictures import Picture
from engines.polar import CELL, GRID, UP, distances, grid_from_middle, grid_from_rays
from engines.stylegan.drawing import brightness, laid_over, rise
from engines.types import Box

__all__ = ["Fields", "head_layer"]

_FEATHER: Final = (-0.035, 0.004)
"""Distances beyond the rim between which surroundings begin."""
_STRANDS: Final = 0.008
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
    """What happens around a face, over rays: float32[RAYS, STEPS] each.

    Attributes:
        sources: where places are taken from.
        right: how much farther right.
        colour: of the hair that is laid; None for none.
        beyond: distance from the painted face's rim, negative inside.
        ends: 1, falling to 0 where rays end.
        seam: float32[RAYS, STEPS, 3], what is added to colours.
        upwards: how much farther out a place on the forehead is taken from.
        forehead: 1 on the forehead that is drawn up to the hair.
        shade: how much darker it is, 0 to 1.
        tone: float32[RAYS, STEPS, 3], what is added to its colours.
    """

    sources: Sources
    right: Float32
    colour: HairColour | None
    beyond: Float32
    ends: Float32
    seam: Float32
    upwards: Float32
    forehead: Float32
    shade: Float32
    tone: Float32


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
    outwards = fields.sources.distance - distances()
    where = grid_from_rays(np.stack([outwards, fields.right, fields.beyond, fields.ends], axis=2))
    local = shifted(place, left, top)
    free = _beside(others, place)
    weight = where[..., 3] * free
    shift = _shift(where[..., 0], where[..., 1], local)
    window = (width, height)
    moves = _spread(np.dstack([shift, where[..., 2], weight]), local, window)
    frame = picture.region_bgr(top, left, height, width)
    pixels = _moved(frame, moves)
    if fields.colour is not None:
        _lay_hair(frame, pixels, moves, fields, fields.colour, local)
    pixels += _spread(grid_from_rays(fields.seam), local, window)
    beyond = moves[..., 2]
    above = _spread(_above(), local, window)
    upper = _rows_with(above)
    side_px = float(CELL) / scale_of(local)
    beyond[upper] += _strands(pixels[upper], beyond[upper], above[upper], side_px)
    weight = rise(beyond, *_FEATHER) * moves[..., 3]
    np.clip(pixels, 0, 255, out=pixels)
    if fields.forehead.any():
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
    where = grid_from_rays(np.stack([fields.upwards, fields.forehead, fields.shade], axis=2))
    shift = _shift(where[..., 0], np.zeros_like(free), grid_from_window)
    window = (frame.shape[1], frame.shape[0])
    lit = np.dstack([shift, where[..., 1] * free, 1 - where[..., 2]])
    moves = _spread(lit, grid_from_window, window)
    rows = _rows_with(moves[..., 2])
    skin, own = _moved(frame, moves[rows], rows.start), moves[rows, :, 2]
    skin += _spread(grid_from_rays(fields.tone), grid_from_window, window)[rows]
    skin *= moves[rows, :, 3:]
    hair = weight[rows]
    both = hair + own * (1 - hair)
    share = np.asarray(hair / np.maximum(both, np.float32(_FAINT)), np.float32)
    pixels[rows] = laid_over(skin, pixels[rows], share)
    weight[rows] = both


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
        moves: float32[H, W, 4], where pixels are taken from, and their weight last.
        fields: what happens where.
        colour: what is no hair among it is brought to that.
        grid_from_window: the grid's map.
    """
    sources, window = fields.sources, (frame.shape[1], frame.shape[0])
    where = grid_from_rays(np.stack([sources.beyond, sources.period, sources.blend], axis=2))
    hair = _spread(where, grid_from_window, window)
    is_near = (hair[..., 0] < hair[..., 1]) & (moves[..., 3] > 0)
    rows = _rows_with(is_near.astype(np.float32))
    told = (sources.right + fields.right, sources.below, sources.along_right, sources.along_below)
    ray, (x, y) = grid_from_rays(np.stack(told, axis=2)), grid_from_middle()
    begins = _as_pixels(ray[..., 0] - x, ray[..., 1] - y, grid_from_window)
    along = _as_pixels(ray[..., 2], ray[..., 3], grid_from_window)
    local = shifted(grid_from_window, 0, rows.start)
    lies = _spread(np.dstack([begins, along]), local, (window[0], rows.stop - rows.start))
    laid = laid_again(hair[rows, :, 0], hair[rows, :, 1], hair[rows, :, 2])
    first, second = (
        colour.bounded(_moved(frame, lies[..., :2] + lies[..., 2:] * way[..., None], rows.start))
        for way in (laid.first, laid.second)
    )
    seen = laid_over(pixels[rows], first, laid.is_laid.astype(np.float32))
    pixels[rows] = laid_over(seen, second, laid.share)


def _moved(frame: NDArray[np.uint8], moves: Float32, top: int = 0) -> Float32:
    """Rows of a window with pixels from elsewhere: float32[h, W, 3].

    Args:
        frame: uint8[H, W, 3] of the window; where it ends it is mirrored.
        moves: float32[h, W, >=2], from how far right and below pixels are taken, px.
        top: the first of these rows.
    """
    columns = np.arange(frame.shape[1], dtype=np.float32)
    own = np.arange(top, top + len(moves), dtype=np.float32)[:, None]
    from_x, from_y = moves[..., 0] + columns, moves[..., 1] + own
    mode = cv2.BORDER_REFLECT_101
    return cv2.remap(frame, from_x, from_y, cv2.INTER_LINEAR, borderMode=mode).astype(np.float32)


def _rows_with(weight: Float32) -> slice:
    """The rows of float32[H, W] from the first to the last with any weight, one at least."""
    rows = np.flatnonzero(weight.max(axis=1) > _FAINT)
    return slice(int(rows[0]), int(rows[-1]) + 1) if len(rows) else slice(0, 1)


def _shift(outwards: Float32, right: Float32, grid_from_frame: Similarity) -> Float32:
    """From how far away every cell is taken, px of the frame: float32[GRID, GRID, 2].

    Args:
        outwards: float32[GRID, GRID], how much farther out, shares of the patch's side.
        right: float32[GRID, GRID], how much farther right.
        grid_from_frame: the grid's map.
    """
    x, y = grid_from_middle()
    share = np.asarray(outwards / np.maximum(np.hypot(x, y), 1 / CELL), np.float32)
    return _as_pixels(share * x + right, share * y, grid_from_frame)


def _as_pixels(right: Float32, below: Float32, grid_from_frame: Similarity) -> Float32:
    """Ways float32[GRID, GRID], shares of the patch's side, as px of the frame: [GRID, GRID, 2]."""
    cells = CELL * cv2.merge([right, below])
    return np.asarray(cells @ inverse_of(grid_from_frame)[:, :2].T, np.float32)


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
    """1 above a face, falling to 0 beside it: float32[GRID, GRID], shared."""
    field = np.repeat(rise(UP, *_ABOVE)[:, None], distances().shape[1], axis=1)
    return grid_from_rays(np.ascontiguousarray(field))


def _spread(grid: Float32, grid_from_window: Similarity, window: tuple[int, int]) -> Float32:
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    place = to_integer_centres(grid_from_window)
    mode = cv2.BORDER_REPLICATE
    return np.asarray(cv2.warpAffine(grid, place, window, flags=flags, borderMode=mode), np.float32)


def _beside(others: Sequence[Box], place: Similarity) -> Float32:
    """0 in other faces' boxes, rising to 1 beside them: float32[GRID, GRID]."""
    free = 1 - within_boxes(others, place, GRID).astype(np.float32)
    return np.minimum(free, cv2.GaussianBlur(free, (0, 0), _APART)) if others else free
