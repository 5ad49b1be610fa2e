"""From the coarse grid around a face to a window of the frame: fields, ways and pixels."""

from __future__ import annotations

from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.alignment import Similarity, inverse_of, moved, to_integer_centres
from engines.polar import CELL, grid_from_middle

__all__ = ["as_pixels", "moved_pixels", "moves_of", "spread", "window_of"]

Float32 = NDArray[np.float32]
UInt8 = NDArray[np.uint8]


def window_of(
    cells: NDArray[np.bool_], grid_from_window: Similarity, size: tuple[int, int]
) -> tuple[int, int, int, int]:
    """Top, left, height and width of what some cells bool[GRID, GRID] cover, one pixel at least.

    Args:
        cells: which.
        grid_from_window: the grid's map.
        size: height and width of the window.
    """
    x, y, wide, high = cv2.boundingRect(cells.astype(np.uint8))
    ends_x, ends_y = (x - 1, x + wide + 1), (y - 1, y + high + 1)
    corners = np.array([(x, y) for x in ends_x for y in ends_y], np.float32)
    seen = moved(inverse_of(grid_from_window), corners)
    low, high = np.floor(seen.min(axis=0)), np.ceil(seen.max(axis=0))
    left, right = (int(np.clip(one[0], 0, size[1] - 1)) for one in (low, high))
    top, bottom = (int(np.clip(one[1], 0, size[0] - 1)) for one in (low, high))
    return top, left, bottom - top + 1, right - left + 1


def moved_pixels(frame: UInt8, moves: Float32, top: int = 0, left: int = 0) -> Float32:
    """A part of a window with pixels from elsewhere: float32[h, w, C].

    Args:
        frame: uint8[H, W, C] of the window; where it ends it is mirrored. Four channels are moved
            in half the time of three.
        moves: float32[h, w, >=2], from how far right and below pixels are taken, px.
        top: the part's first row.
        left: its first column.
    """
    columns = np.arange(left, left + moves.shape[1], dtype=np.float32)
    own = np.arange(top, top + len(moves), dtype=np.float32)[:, None]
    from_x, from_y = moves[..., 0] + columns, moves[..., 1] + own
    mode = cv2.BORDER_REFLECT_101
    return cv2.remap(frame, from_x, from_y, cv2.INTER_LINEAR, borderMode=mode).astype(np.float32)


def moves_of(ways: Float32) -> Float32:
    """From how far away every cell is taken, and what else is told of it: float32[GRID, GRID, 4].

    Args:
        ways: float32[GRID, GRID, 4], how much farther out a place is taken from, shares of the
            patch's side, and 0; what follows is kept. The result has how much farther right and
            below.
    """
    x, y = _outwards()
    moves = ways.copy()
    moves[..., 0] = ways[..., 0] * x
    moves[..., 1] = ways[..., 0] * y
    return moves


@lru_cache(maxsize=1)
def _outwards() -> tuple[Float32, Float32]:
    """The direction away from the middle, right and below: float32[GRID, GRID], shared."""
    x, y = grid_from_middle()
    away = np.maximum(np.hypot(x, y), 1 / CELL)
    return np.asarray(x / away, np.float32), np.asarray(y / away, np.float32)


def as_pixels(moves: Float32, grid_from_frame: Similarity) -> Float32:
    """Moves of `moves_of` in px of the frame, what else they tell unchanged."""
    turn = np.eye(4)
    turn[:2, :2] = _turn(grid_from_frame)
    return np.asarray(cv2.transform(moves, turn), np.float32)


def _turn(grid_from_frame: Similarity) -> Float32:
    """From shares of the patch's side to px of the frame, float32[2, 2]."""
    return np.asarray(CELL * inverse_of(grid_from_frame)[:, :2], np.float32)


def spread(grid: Float32, grid_from_window: Similarity, size: tuple[int, int]) -> Float32:
    """A field over the grid as a window of the frame sees it, float32[H, W, C].

    Args:
        grid: float32[GRID, GRID, C]; four channels are spread in half the time of three.
        grid_from_window: the grid's map.
        size: width and height of the window, px.
    """
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    place = to_integer_centres(grid_from_window)
    mode = cv2.BORDER_REPLICATE
    return np.asarray(cv2.warpAffine(grid, place, size, flags=flags, borderMode=mode), np.float32)
