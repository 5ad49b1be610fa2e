"""Eyes of photographs, shut: skin of the upper lid is drawn down over them.

Hardly anybody shuts the eyes on photographs, and a network must learn from such eyes.
"""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.face.lid_reading import eye_pictures
from engines.stylegan.lids import EYES, gap_of

__all__ = ["drawn", "shut"]

_MEETS: Final = (0.0, 0.25)
"""Where shut lids meet, from the lower one, of the gap."""
_ABOVE: Final = (0.3, 0.7)
_BELOW: Final = 0.35
"""How far above and below an eye its skin moves, in eye widths."""
_LASHES: Final = 0.6
"""How dark the line of lashes is at most."""
_OPEN_SHARE, _SHUT_SHARE = 0.4, 0.3
"""How many eyes stay open, and how many are shut wholly; the others are in between."""
_BOTH: Final = 0.8
"""How often both eyes do the same."""

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]


def shut(crop: UInt8, lids: Float32, share: float, random: np.random.Generator) -> UInt8:
    """A crop one of whose eyes is shut to a share of its gap.

    Args:
        crop: uint8[S, S, 3].
        lids: float32[16, 2] px of the crop, see `engines.stylegan.lids.EYES`.
        share: of the gap, 1 leaves it.
        random: draws where lids meet, and the lashes.
    """
    order = np.argsort([lids[0, 0], lids[8, 0]])
    left, right = (float(lids[(0, 8)[at], 0]) for at in order)
    columns = np.arange(crop.shape[1], dtype=np.float32)
    upper, lower = (_edge(lids[part], columns) for part in ([0, *range(15, 7, -1)], range(9)))
    upper = np.minimum(upper, lower)
    width, fades = right - left, np.clip(np.minimum(columns - left, right - columns) + 2, 0, 2) / 2
    meet = lower - random.uniform(*_MEETS) * (lower - upper)
    new_upper, new_lower = (meet + (one - meet) * share for one in (upper, lower))
    top, bottom = upper - random.uniform(*_ABOVE) * width, lower + _BELOW * width
    rows = np.arange(crop.shape[0], dtype=np.float32)
    source = np.empty(crop.shape[:2], np.float32)
    for column in range(crop.shape[1]):
        knots = [top[column], new_upper[column], new_lower[column] + 1e-3, bottom[column]]
        from_ = [top[column], upper[column], lower[column] + 1e-3, bottom[column]]
        moved = np.interp(rows, knots, from_)
        inside = (rows > top[column]) & (rows < bottom[column])
        moved = np.where(inside, moved, rows)
        source[:, column] = rows + (moved - rows) * fades[column]
    grid = np.broadcast_to(columns, crop.shape[:2])
    made = cv2.remap(crop, np.ascontiguousarray(grid), source, cv2.INTER_LINEAR)
    away = np.abs(rows[:, None] - new_upper[None]) / random.uniform(0.5, 1.3)
    dark = (
        random.uniform(0, _LASHES) * (1 - share) * np.exp(-np.square(away)) * fades * (fades >= 1)
    )
    return np.asarray(made * (1 - dark[..., None]), np.uint8)


def _edge(line: Float32, columns: Float32) -> Float32:
    """Rows of a line float32[P, 2] at columns, its ends beyond them."""
    order = np.argsort(line[:, 0])
    rows = np.interp(columns, line[order, 0], line[order, 1])
    return np.asarray(rows, np.float32)


def drawn(
    crop: UInt8, points: Float32, random: np.random.Generator
) -> tuple[UInt8, Float32, Float32]:
    """Both eyes of a crop, shut anyhow: uint8[2, HEIGHT, WIDTH], their openness and their gaps."""
    size, wanted = crop.shape[0], np.ones(2, np.float32)
    crop = _degraded(crop, random)
    both = random.random() < _BOTH
    share = _share(random)
    for side, lids in enumerate(EYES):
        wanted[side] = share if both else _share(random)
        if wanted[side] < 1:
            crop = shut(crop, points[lids, :2] * size - 0.5, float(wanted[side]), random)
    off = points.copy()
    off[:, :2] += random.normal(0, 0.006, 2)
    for lids in EYES:
        off[lids, :2] += random.normal(0, 0.01, 2)
        middle = off[lids].mean(axis=0)
        off[lids] = middle + (off[lids] - middle) * random.normal(1, 0.07)
    gaps = np.array([gap_of(points[None, lids])[0] for lids in EYES], np.float32)
    return eye_pictures(crop, off), wanted, gaps


def _share(random: np.random.Generator) -> float:
    kind = random.random()
    if kind < _OPEN_SHARE:
        return 1.0
    return float(random.uniform(0, 0.1) if kind < _OPEN_SHARE + _SHUT_SHARE else random.random())


def _degraded(crop: UInt8, random: np.random.Generator) -> UInt8:
    seen = crop.astype(np.float32) * random.uniform(0.5, 1.4) + random.normal(0, 12)
    if random.random() < 0.5:
        seen = np.asarray(cv2.GaussianBlur(seen, (0, 0), random.uniform(0.4, 1.8)))
    seen = seen + random.normal(0, random.uniform(0, 6), seen.shape)
    return np.asarray(np.clip(seen, 0, 255), np.uint8)
