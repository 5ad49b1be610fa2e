"""Reads where hair begins and ends above a swapped face, off what is around it.

Along every ray that points up come, in this order, skin beyond the patch, hair and what is behind
the head; either of the first two may be missing. The colour of skin is that of the painted face,
which wears its subject's light, and what is behind shows at the ends of the rays; that of hair is
found by turns with the places of hair (expectation and maximisation, from several guesses), and
both borders are drawn as shortest paths from ray to ray (dynamic programming, after Amini, Weymouth
and Jain 1990). A cap or a scarf counts as hair.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.polar import RAYS, REACH, STEPS, UP, distances, ellipse, smooth_around
from engines.seam import LUMA
from engines.stylegan.drawing import rise

__all__ = ["OUTLINE", "Hair", "read_hair"]

_UPPER: Final = np.flatnonzero(UP > 0.15)
"""The rays that are read, one beside the other."""
_BEGINS: Final = ellipse(0.70, 0.50, 0.5)
OUTLINE: Final = ellipse(0.95, 0.72, 0.6)
"""Where hair begins and ends on most heads around the middle of a patch, float32[RAYS]."""
_UNUSUAL: Final = (0.15, 0.16)
_USUAL: Final = 0.6
"""How far from there borders lie before it counts, and how much that counts against colours."""
_SKIN_LEVELS: Final = (40.0, 12.0)
_HAIR_LEVELS: Final = (45.0, 12.0)
"""Differences of brightness and of hue, grey levels, at which a colour is as much unlike as like:
larger takes more for the same skin, or hair."""
_BEHIND: Final = ((0.96, 1.04), (1.08, REACH))
"""Between which distances what is behind a head is looked at."""
_TOO_HIGH: Final = (0.66, 0.74)
_DIFFERS: Final = (0.2, 0.4)
_TOO_BRIGHT: Final = (10.0, 30.0)
"""How little hair may differ from skin to be none; and from what is behind it, where it begins so
high or is so much brighter than skin, grey levels: dark hair before a dark wall is neither."""
_ROUNDS: Final = 3
_SPREAD: Final = 1.5
"""Deviation of the blur across rays while the colour of hair is looked for."""
_JUMP: Final = 0.35
_MOST_STEPS: Final = 2
"""What a step of a border from ray to ray costs, and how many it may take."""
_NEXT: Final = 0.08
_DARK: Final = 0.2
"""How far beyond the patch hair is next to it, and which share of all places are the darkest."""
_FAINT: Final = 1e-6
_NEVER: Final = np.float32(1e3)
_MOST: Final = np.float32(50.0)

_STEP: Final = np.float32(REACH / STEPS)
_EDGES: Final = np.arange(STEPS + 1, dtype=np.float32)[None] * _STEP
_WEIGHT: Final = np.float32(0.1) + np.square(UP[_UPPER])[:, None]
"""Rays that point up more count for more."""

Float32 = NDArray[np.float32]
Int64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Hair:
    """Where hair is on each ray; none where both are equal.

    Attributes:
        begins: float32[RAYS], shares of the patch's side, never inside the patch.
        ends: float32[RAYS], no less.
    """

    begins: Float32
    ends: Float32


@dataclass(frozen=True, slots=True)
class _Rays:
    """What speaks for what on the upper rays; places inside the patch say nothing.

    Attributes:
        colours: float32[N, STEPS, 3], see `_compared`.
        beyond: float32[N, STEPS], 1 beyond the patch.
        skin: float32[N, STEPS], how unlike skin.
        behind: float32[N, STEPS], how unlike what is behind the head.
        brighter: float32[N, STEPS], how much brighter than skin, grey levels.
        first, last: float32[N, STEPS + 1], how unusual it is that hair begins or ends there.
    """

    colours: Float32
    beyond: Float32
    skin: Float32
    behind: Float32
    brighter: Float32
    first: Float32
    last: Float32


def read_hair(around: Float32, hidden: Float32, skin: Float32) -> Hair:
    """Where hair begins and ends.

    Args:
        around: float32[RAYS, STEPS, 3] BGR, what is on the rays.
        hidden: float32[RAYS], where the patch ends.
        skin: float32[RAYS, 3] BGR, the painted forehead.
    """
    rays = _rays(around, hidden, skin)
    fits = [_fitted(rays, colour) for colour in _guesses(rays)]
    hair, ends = min(fits, key=lambda fit: fit[0])[1:]
    begins = _shortest(np.where(_is_after(ends), _NEVER, _costs_of_begin(rays, hair)))
    ends = _shortest(np.where(_is_before(begins), _NEVER, _costs_of_end(rays, hair)))
    first = np.maximum(begins * _STEP, hidden[_UPPER])
    width = np.maximum(ends * _STEP - first, 0)
    bare, wall = _no_hair(rays, begins, ends)
    return Hair(
        _everywhere(first + bare * width, hidden),
        _everywhere(first + (1 - wall) * width, np.maximum(OUTLINE, hidden)),
    )


def _no_hair(rays: _Rays, begins: Int64, ends: Int64) -> tuple[Float32, Float32]:
    """How much of what lies between two borders is skin, and how much is behind the head.

    Nothing but skin is no hair, nor is what is behind a head where hair is not to be expected.

    Returns:
        Shares float32[N], 1 together at most.
    """
    bare = 1 - rise(_told(rays.skin, begins, ends), *_DIFFERS)
    high = rise((begins * _STEP).astype(np.float32), *_TOO_HIGH)
    bright = rise(_told(rays.brighter, begins, ends), *_TOO_BRIGHT)
    like_wall = 1 - rise(_told(rays.behind, begins, ends), *_DIFFERS)
    return bare, (1 - bare) * np.maximum(high, bright) * like_wall


def _told(unlike: Float32, begins: Int64, ends: Int64) -> Float32:
    """How much of float32[N, STEPS] there is between two borders on the mean: float32[N]."""
    steps = np.arange(STEPS)[None]
    inside = (steps >= begins[:, None]) & (steps < ends[:, None])
    total = (unlike * inside).sum(axis=1) / np.maximum(inside.sum(axis=1), 1)
    return np.asarray(total, np.float32)


def _rays(around: Float32, hidden: Float32, skin: Float32) -> _Rays:
    all_round = _compared(around, _SKIN_LEVELS)
    colours, out = all_round[_UPPER], distances()
    hides, edges = hidden[_UPPER][:, None], _EDGES
    beyond = (out > hides).astype(np.float32)
    face = _compared(smooth_around(skin, 3.0), _SKIN_LEVELS)[_UPPER][:, None]
    behind = np.full(beyond.shape, np.inf, np.float32)
    for (near, far), spread in zip(_BEHIND, (2.0, 3.0), strict=True):
        there = (out[0] > near) & (out[0] < far)
        seen = smooth_around(all_round[:, there].mean(axis=1), spread)[_UPPER][:, None]
        behind = np.minimum(behind, _unlike(colours, seen))
    first = _unusual(edges - _BEGINS[_UPPER][:, None], _UNUSUAL[0])
    last = _unusual(edges - OUTLINE[_UPPER][:, None], _UNUSUAL[1])
    first = np.where(edges < hides, _NEVER, first).astype(np.float32)
    brighter = (colours - face)[..., 0] * np.float32(_SKIN_LEVELS[0])
    unlike = _unlike(colours, face) * beyond
    return _Rays(colours, beyond, unlike, behind * beyond, brighter, first, last)


def _guesses(rays: _Rays) -> list[Float32]:
    """Colours that hair may have: between both borders, the darkest, next to the patch."""
    out = distances()
    middle = (_BEGINS + OUTLINE)[_UPPER][:, None] / 2
    zone = np.exp(-0.5 * np.square((out - middle) / 0.12)) * rays.beyond * _WEIGHT
    luma = rays.colours[..., 0]
    dark = luma <= np.quantile(luma[zone >= 0.3 * zone.max()], _DARK)
    hides = (_EDGES[:, :-1] * (1 - rays.beyond)).max(axis=1, keepdims=True)
    next_to = rays.beyond * (out < hides + np.float32(_NEXT)) * _WEIGHT
    weights = (
        zone * np.square(rays.skin) * (np.square(rays.behind) + 0.005),
        zone * dark,
        next_to * (np.square(rays.skin) + 0.02),
    )
    return [_mean(rays.colours, weight + np.float32(_FAINT)) for weight in weights]


def _fitted(rays: _Rays, hair: Float32) -> tuple[float, Float32, Int64]:
    """How badly what is around fits, the colour of hair float32[3], and where hair ends int64[N].

    Args:
        rays: what speaks for what.
        hair: a guess at its colour.
    """
    steps = np.arange(STEPS)[None]
    begins = ends = np.round(OUTLINE[_UPPER] / _STEP).astype(np.int64).clip(0, STEPS)
    for _ in range(_ROUNDS):
        costs = _across(_costs_of_begin(rays, hair))
        begins = np.where(_is_after(ends), _NEVER, costs).argmin(axis=1)
        costs = _across(_costs_of_end(rays, hair))
        ends = np.where(_is_before(begins), _NEVER, costs).argmin(axis=1)
        # Next to a border colours are mixed.
        inside = (steps > begins[:, None]) & (steps < ends[:, None] - 1) & (rays.beyond > 0)
        if not inside.any():
            break
        hair = _mean(rays.colours, inside * _WEIGHT)
    rows = np.arange(len(_UPPER))
    cost = _costs_of_begin(rays, hair)[rows, begins] + _costs_of_end(rays, hair)[rows, ends]
    cost += rays.behind.sum(axis=1)
    return float(cost @ _WEIGHT[:, 0]), hair, ends


def _costs_of_begin(rays: _Rays, hair: Float32) -> Float32:
    """Of hair that begins at a step, skin before it: float32[N, STEPS + 1]."""
    costs = _sums(rays.skin - _unlike_hair(rays, hair)) + rays.first
    return np.asarray(np.minimum(costs, _MOST) + (rays.first >= _NEVER) * _NEVER, np.float32)


def _costs_of_end(rays: _Rays, hair: Float32) -> Float32:
    """Of hair that ends at a step, what is behind it after that: float32[N, STEPS + 1]."""
    return _sums(_unlike_hair(rays, hair) - rays.behind) + rays.last


def _unlike_hair(rays: _Rays, hair: Float32) -> Float32:
    wider = _scales(_SKIN_LEVELS) / _scales(_HAIR_LEVELS)
    return _unlike(rays.colours * wider, hair * wider) * rays.beyond


def _shortest(costs: Float32) -> Int64:
    """A border across rays that goes to and fro as little as is worth it: int64[N].

    Args:
        costs: float32[N, S] of a border at each step.

    >>> costs = np.ones((3, 9), np.float32)
    >>> costs[0, 4] = costs[2, 5] = 0
    >>> _shortest(costs).tolist() in ([4, 4, 5], [4, 5, 5])
    True
    """
    count, steps = costs.shape
    turns = np.float32(_JUMP) * np.abs(np.arange(-_MOST_STEPS, _MOST_STEPS + 1), dtype=np.float32)
    around = np.full(steps + 2 * _MOST_STEPS, _NEVER * _NEVER, np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(around, len(turns))
    came = np.zeros((count, steps), np.int64)
    places, total = np.arange(steps), costs[0].copy()
    for row in range(1, count):
        around[_MOST_STEPS:-_MOST_STEPS] = total
        ways = windows + turns
        best = ways.argmin(axis=1)
        came[row] = places + best - _MOST_STEPS
        total = ways[places, best] + costs[row]
    border = np.zeros(count, np.int64)
    border[-1] = total.argmin()
    for row in range(count - 1, 0, -1):
        border[row - 1] = came[row, border[row]]
    return border


def _is_after(border: Int64) -> NDArray[np.bool_]:
    return np.arange(STEPS + 1)[None] > border[:, None]


def _is_before(border: Int64) -> NDArray[np.bool_]:
    return np.arange(STEPS + 1)[None] < border[:, None]


def _across(costs: Float32) -> Float32:
    """Costs float32[N, S] blurred from ray to ray."""
    size = (1, 2 * int(3 * _SPREAD) + 1)
    mode = cv2.BORDER_REPLICATE
    blurred = cv2.GaussianBlur(costs, size, sigmaX=1e-6, sigmaY=_SPREAD, borderType=mode)
    return np.asarray(blurred, np.float32)


def _compared(colours: Float32, levels: tuple[float, float]) -> Float32:
    """Brightness and hue of BGR colours float32[..., 3], in those levels."""
    blue, _, red = np.eye(3, dtype=np.float32)
    return np.asarray(colours @ np.stack([LUMA, blue - LUMA, red - LUMA], 1) / _scales(levels))


def _scales(levels: tuple[float, float]) -> Float32:
    luma, hue = levels
    return np.array([luma, hue, hue], np.float32)


def _unlike(colours: Float32, model: Float32) -> Float32:
    """How unlike colours are, from 0 to 1, so that none counts for more than any other (Geman)."""
    square = np.square(colours - model).sum(axis=-1)
    return np.asarray(square / (square + 1), np.float32)


def _unusual(away: Float32, spread: float) -> Float32:
    square = np.float32(0.5 * _USUAL) * np.square(away / np.float32(spread))
    return np.asarray(square / (1 + square / 4), np.float32)


def _mean(colours: Float32, weight: NDArray[np.floating]) -> Float32:
    return np.asarray((colours * weight[..., None]).sum(axis=(0, 1)) / weight.sum(), np.float32)


def _sums(costs: Float32) -> Float32:
    """Sums of costs float32[N, S] before each step: float32[N, S + 1]."""
    return np.pad(np.cumsum(costs, axis=1, dtype=np.float32), ((0, 0), (1, 0)))


def _everywhere(upper: Float32, others: Float32) -> Float32:
    """Values of the upper rays among those of the others, float32[RAYS]."""
    values = np.array(others[:RAYS], np.float32)
    values[_UPPER] = upper
    return values
