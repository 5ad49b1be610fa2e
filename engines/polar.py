"""Rays from the middle of a painted face: what is around a head, by direction and distance.

Distances are shares of the patch's side. Rays start at `MIDDLE` of the patch and run clockwise
from the right, as angles do in a picture whose rows count downwards. A field over rays has the
axes direction, distance.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CELL",
    "DOWN",
    "GRID",
    "MIDDLE",
    "RAYS",
    "REACH",
    "SIDE",
    "STEPS",
    "TURNS",
    "UP",
    "along",
    "bounds",
    "distances",
    "ellipse",
    "grid_from_middle",
    "grid_from_rays",
    "hidden_radii",
    "outline_radii",
    "rays_from_grid",
    "seen_along",
    "smooth_around",
    "wave",
    "within",
]

MIDDLE: Final = (0.50, 0.53)
"""Where rays start, shares of the patch's side: between eyes and mouth."""
RAYS: Final = 72
STEPS: Final = 60
REACH: Final = 1.2
"""How far rays run, in how many steps."""
GRID: Final = 96
"""Side of the square grid around `MIDDLE` that reaches as far, cells."""
CELL: Final = np.float32(GRID / (2 * REACH))
"""Cells of the grid in a patch's side."""
_ALPHA_SIDE: Final = 64
_SEEN: Final = 0.02
"""Alpha from which on a place belongs to the patch."""
_WHOLE: Final = 0.999
_CELL: Final = 0.008
"""What is added to where a patch ends, as its alpha is looked at coarsely."""

Float32 = NDArray[np.float32]

TURNS: Final = np.linspace(0, 2 * np.pi, RAYS, endpoint=False)
"""Directions of the rays, radians."""
_COSINE: Final = np.cos(TURNS).astype(np.float32)
_SINE: Final = np.sin(TURNS).astype(np.float32)
UP: Final = np.maximum(-_SINE, 0)
"""How far each ray points up, float32[RAYS] in [0, 1]; `DOWN` and `SIDE` likewise."""
DOWN: Final = np.maximum(_SINE, 0)
SIDE: Final = np.abs(_COSINE)


def distances() -> Float32:
    """Distances of the steps, float32[1, STEPS]."""
    return ((np.arange(STEPS, dtype=np.float32) + 0.5) * np.float32(REACH / STEPS))[None]


def ellipse(up: float, side: float, down: float) -> Float32:
    """Radii of a curve through four points, two half ellipses: float32[RAYS].

    >>> [round(float(ellipse(3.0, 2.0, 1.0)[at]), 3) for at in (0, RAYS // 4, 3 * RAYS // 4)]
    [2.0, 1.0, 3.0]
    """
    tall = np.where(_SINE < 0, up, down)
    return np.asarray(1 / np.hypot(_COSINE / side, _SINE / tall), np.float32)


def wave(turns: int, start: float = 0.0) -> Float32:
    """A cosine that goes round so many times: float32[RAYS].

    Args:
        turns: how often.
        start: where its crest is, radians.
    """
    return np.asarray(np.cos(turns * TURNS - start), np.float32)


def outline_radii(outline: Float32) -> Float32:
    """How far an outline float32[M, 2], shares of the patch's side, lies along each ray.

    >>> square = np.float32([[0.4, 0.43], [0.6, 0.43], [0.6, 0.63], [0.4, 0.63]])
    >>> round(float(outline_radii(square)[RAYS // 8]), 3)  # a corner
    0.141
    """
    from_middle = outline - np.array(MIDDLE, np.float32)
    angles = np.arctan2(from_middle[:, 1], from_middle[:, 0])
    radii = np.hypot(from_middle[:, 0], from_middle[:, 1])
    return np.asarray(np.interp(TURNS, angles, radii, period=2 * np.pi), np.float32)


def hidden_radii(alpha: Float32) -> Float32:
    """How far a patch of alpha float32[P, P] reaches along each ray: float32[RAYS].

    >>> inside = np.zeros((64, 64), np.float32)
    >>> inside[20:52, 16:48] = 1
    >>> round(float(hidden_radii(inside)[0]), 2)
    0.28
    """
    side = (_ALPHA_SIDE, _ALPHA_SIDE)
    small = cv2.resize(alpha, side, interpolation=cv2.INTER_AREA)
    seen = cv2.remap(small, *_patch_places(), cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT)
    hides = seen > _SEEN
    last = np.where(hides.any(axis=1), STEPS - 1 - np.argmax(hides[:, ::-1], axis=1), 0)
    rays = np.arange(RAYS)
    inside, outside = seen[rays, last], seen[rays, np.minimum(last + 1, STEPS - 1)]
    # Between two steps, in proportion: whole steps would tremble from frame to frame.
    part = np.clip((inside - _SEEN) / np.maximum(inside - outside, _SEEN), 0, 1)
    return np.asarray(distances()[0, last] + part * (REACH / STEPS) + _CELL, np.float32)


def rays_from_grid(grid: Float32) -> Float32:
    """A field over rays, float32[RAYS, STEPS, C], of one over the grid, float32[GRID, GRID, C]."""
    mode = cv2.BORDER_REPLICATE
    return np.asarray(cv2.remap(grid, *_grid_places(), cv2.INTER_LINEAR, borderMode=mode))


def seen_along(clear: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Places of rays before the first that is not clear: bool[RAYS, STEPS].

    Args:
        clear: uint8[GRID, GRID], 0 where nothing of the scene is to be seen.
    """
    is_clear = rays_from_grid(clear.astype(np.float32)) > _WHOLE
    return np.asarray(np.logical_and.accumulate(is_clear, axis=1), np.bool_)


def within(field: Float32, seen: NDArray[np.bool_]) -> Float32:
    """A field over rays whose places that are not seen are as the last one that is.

    Args:
        field: float32[RAYS, STEPS, C].
        seen: see `seen_along`.
    """
    last = np.maximum(seen.sum(axis=1) - 1, 0)
    steps = np.minimum(np.arange(STEPS), last[:, None])
    return np.asarray(np.take_along_axis(field, steps[..., None], axis=1), np.float32)


def grid_from_rays(field: Float32) -> Float32:
    """A field over the grid, float32[GRID, GRID, C], of one over rays, float32[RAYS, STEPS, C]."""
    wrapped = np.concatenate([field, field[:1]])
    mode = cv2.BORDER_REPLICATE
    return np.asarray(cv2.remap(wrapped, *_ray_places(), cv2.INTER_LINEAR, borderMode=mode))


def along(field: Float32, distance: Float32) -> Float32:
    """A field float32[RAYS, STEPS, ...] looked up along its rays at distances float32[RAYS, N]."""
    steps = (distance * np.float32(STEPS / REACH) - np.float32(0.5)).astype(np.float32)
    rows = np.broadcast_to(np.arange(RAYS, dtype=np.float32)[:, None], distance.shape)
    places = (steps, np.ascontiguousarray(rows))
    mode = cv2.BORDER_REPLICATE
    return np.asarray(cv2.remap(field, *places, cv2.INTER_LINEAR, borderMode=mode))


def smooth_around(values: Float32, rays: float) -> Float32:
    """Values of the rays float32[RAYS, ...] blurred from ray to ray by so many of them.

    >>> float(smooth_around(np.ones(RAYS, np.float32), 2.0).round(4).min())
    1.0
    """
    reach = int(3 * rays) + 1
    wrapped = np.concatenate([values[-reach:], values, values[:reach]])
    shape = wrapped.shape
    flat = wrapped.reshape(shape[0], -1)
    soft = cv2.GaussianBlur(flat, (1, 2 * reach + 1), sigmaX=1e-6, sigmaY=rays)
    return np.asarray(soft.reshape(shape)[reach:-reach], np.float32)


def bounds(radii: Float32) -> Float32:
    """Left, top, right and bottom of a curve float32[RAYS] from the middle: float32[4]."""
    x, y = radii * _COSINE, radii * _SINE
    return np.array([x.min(), y.min(), x.max(), y.max()], np.float32)


@lru_cache(maxsize=1)
def _patch_places() -> tuple[Float32, Float32]:
    """Columns and rows of the coarse alpha under every step of every ray."""
    x, y = _MIDDLE_X + _COSINE[:, None] * distances(), _MIDDLE_Y + _SINE[:, None] * distances()
    half = np.float32(0.5)
    return x * np.float32(_ALPHA_SIDE) - half, y * np.float32(_ALPHA_SIDE) - half


@lru_cache(maxsize=1)
def _grid_places() -> tuple[Float32, Float32]:
    scale, middle = np.float32(GRID / (2 * REACH)), np.float32((GRID - 1) / 2)
    x, y = _COSINE[:, None] * distances(), _SINE[:, None] * distances()
    return x * scale + middle, y * scale + middle


@lru_cache(maxsize=1)
def _ray_places() -> tuple[Float32, Float32]:
    x, y = grid_from_middle()
    turn = np.arctan2(y, x) % np.float32(2 * np.pi) * np.float32(RAYS / (2 * np.pi))
    step = np.hypot(x, y) * np.float32(STEPS / REACH) - np.float32(0.5)
    return step.astype(np.float32), turn.astype(np.float32)


@lru_cache(maxsize=1)
def grid_from_middle() -> tuple[Float32, Float32]:
    """Where the grid's cells lie, right and below the middle: float32[GRID, GRID], shared."""
    steps = (np.arange(GRID, dtype=np.float32) + np.float32(0.5)) * np.float32(2 * REACH / GRID)
    x, y = np.meshgrid(steps - np.float32(REACH), steps - np.float32(REACH))
    return x, y


_MIDDLE_X, _MIDDLE_Y = (np.float32(one) for one in MIDDLE)
