"""From the coarse grid around a face to a window of the frame: fields, ways and pixels."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.alignment import Similarity, inverse_of, moved, to_integer_centres
from engines.polar import CELL, grid_from_middle

__all__ = ["as_pixels", "looked_up", "moved_pixels", "shift_of", "spread", "window_of"]

_LINE: Final = 64
"""How many places of a list are looked up in a line of a picture: a line must not be too long."""

Float32 = NDArray[np.float32]


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


def looked_up(frame: NDArray[np.uint8], x: Float32, y: Float32) -> Float32:
    """Pixels of a window uint8[H, W, 3] at N places: float32[N, 3]; it is mirrored at its ends."""
    count = len(x)
    padded = -count % _LINE
    at_x, at_y = (np.pad(one, (0, padded)).reshape(-1, _LINE) for one in (x, y))
    mode = cv2.BORDER_REFLECT_101
    found = cv2.remap(frame, at_x, at_y, cv2.INTER_LINEAR, borderMode=mode)
    return found.reshape(-1, 3)[:count].astype(np.float32)


def moved_pixels(frame: NDArray[np.uint8], moves: Float32, top: int = 0, left: int = 0) -> Float32:
    """A part of a window with pixels from elsewhere: float32[h, w, 3].

    Args:
        frame: uint8[H, W, 3] of the window; where it ends it is mirrored.
        moves: float32[h, w, >=2], from how far right and below pixels are taken, px.
        top: the part's first row.
        left: its first column.
    """
    columns = np.arange(left, left + moves.shape[1], dtype=np.float32)
    own = np.arange(top, top + len(moves), dtype=np.float32)[:, None]
    from_x, from_y = moves[..., 0] + columns, moves[..., 1] + own
    mode = cv2.BORDER_REFLECT_101
    return cv2.remap(frame, from_x, from_y, cv2.INTER_LINEAR, borderMode=mode).astype(np.float32)


def shift_of(outwards: Float32, right: Float32, grid_from_frame: Similarity) -> Float32:
    """From how far away every cell is taken, px of the frame: float32[GRID, GRID, 2].

    Args:
        outwards: float32[GRID, GRID], how much farther out, shares of the patch's side.
        right: float32[GRID, GRID], how much farther right.
        grid_from_frame: the grid's map.
    """
    x, y = grid_from_middle()
    share = np.asarray(outwards / np.maximum(np.hypot(x, y), 1 / CELL), np.float32)
    return as_pixels(share * x + right, share * y, grid_from_frame)


def as_pixels(right: Float32, below: Float32, grid_from_frame: Similarity) -> Float32:
    """Ways float32[GRID, GRID], shares of the patch's side, as px of the frame: [GRID, GRID, 2]."""
    turn = CELL * inverse_of(grid_from_frame)[:, :2]
    return np.asarray(cv2.transform(cv2.merge([right, below]), turn), np.float32)


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
