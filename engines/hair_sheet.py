"""The sheet that drawn hair is taken from: how bright its strands are.

Hair lies in locks, one over another: a lock is fine strands that bend the same way, rounded,
darker at its sides, and with a shadow on what is below it. So the sheet is put together of layers
of noise that is long along strands and narrow across them, each bent a little differently, of which
only the locks are laid over those before. Cropped hair is of short strands and locks. Nothing of it
is anybody's. It is kept in several sizes, so that on small or blurred heads fine strands melt
instead of glittering.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = ["ACROSS", "strands_at"]

ACROSS: Final = 2
"""Sides of a patch that the sheet is wide across strands, before it repeats; along them, one."""
_FINEST: Final = 256
"""Cells of the largest sheet in a patch's side."""
_COARSEST: Final = 24
_STEPS: Final = 16
"""Cells of the smallest, and how many sizes there are from one to twice as large."""
_SHRUNK: Final = 0.7
_LEAST_BLUR: Final = 0.5
"""How much a sheet is blurred before it is reduced: with less, strands glitter as heads grow."""
_LAYERS: Final = 7
_LAID: Final = 0.35
"""Layers of locks, and what share of a sheet those of one layer cover."""
_EDGE: Final = 0.09
_ROUND: Final = 0.35
_SHADOW: Final = (0.35, 0.15)
"""How suddenly a lock begins, how far its sides reach, how far its shadow does and how suddenly
that begins, of the deviation of its height."""
_DARKER: Final = 0.5
"""How much darker both are than what is fully lit."""
_TONE: Final = (1.3, 0.55)
_OWN: Final = 0.75
"""How wide the places are that are brighter or darker together, in widths of a lock, how much they
are, and how much its single strands differ."""
_JAGS: Final = (1.2, 30, 0.3)
"""Width and length of what makes the ends of locks uneven, and how much it does."""
_TIPS: Final = ((1.2, 30, 1.0), (2.5, 40, 0.8), (6, 60, 0.4), (25, 90, 0.4))
"""Widths and lengths of what lets strands reach farther than others, and how much each tells."""
_SEED: Final = 20
_LINE: Final = 64
"""How many places are looked up in a line of a picture: a line must not be too long."""

Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Cut:
    """Widths and lengths of what a cut consists of, cells of the largest sheet.

    Attributes:
        strands: width, length, and how much they tell.
        lock: width and length.
        waves: width and length of waves that all hair has, and how far they go to and fro.
        bends: the same of each layer's own.
    """

    strands: tuple[tuple[float, float, float], ...]
    lock: tuple[float, float]
    waves: tuple[float, float, float]
    bends: tuple[float, float, float]


_LONG: Final = _Cut(
    ((0.7, 18, 1.0), (1.4, 28, 0.8), (3, 40, 0.5)), (7, 50), (40, 60, 9.0), (22, 40, 4.0)
)
_CROPPED: Final = _Cut(
    ((0.8, 6, 1.0), (1.6, 9, 0.9), (3, 14, 0.4)), (5, 16), (40, 60, 5.0), (14, 20, 2.5)
)


def strands_at(across: Float32, along: Float32, cropped: float, side_px: float) -> Float32:
    """How strands lie at N places of the sheet: float32[2, N].

    Args:
        across: float32[N], shares of the patch's side across strands.
        along: float32[N], along them.
        cropped: 0 for long strands, 1 for short ones.
        side_px: the patch's side as far as it is sharp, px: finer strands are not drawn.

    Returns:
        How bright a strand is, of mean 0, and of deviation 1 where the finest are drawn; and how
        far it reaches beyond its neighbours, of mean 0 and deviation 1.
    """
    if not len(across):
        return np.zeros((2, 0), np.float32)
    finest = min(max(side_px, _COARSEST), _FINEST)
    size = round(_STEPS * float(np.log2(finest / _FINEST)))
    sheet = _sheet(size, round(_STEPS * cropped))
    columns = across * np.float32(sheet.shape[1] / ACROSS) - np.float32(0.5)
    rows = along * np.float32(sheet.shape[0]) - np.float32(0.5)
    padded = -len(columns) % _LINE
    x, y = (np.pad(one, (0, padded)).reshape(-1, _LINE) for one in (columns, rows))
    found = cv2.remap(sheet, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_WRAP)
    return np.asarray(found.reshape(-1, 2)[: len(columns)].T, np.float32)


@lru_cache(maxsize=64)
def _sheet(size: int, cropped: int) -> Float32:
    """A sheet of one size, and one cut, see `_STEPS`: float32[H, W, 2]."""
    long, short, tips = cv2.split(_largest_sheet())
    cut = np.float32(cropped / _STEPS)
    sheet = np.dstack([_standard(long + cut * (short - long)), tips])
    scale = 2.0 ** (size / _STEPS)
    blur = float(np.hypot(_SHRUNK * np.sqrt(scale**-2 - 1), _LEAST_BLUR))
    reach = int(4 * blur) + 1
    around = cv2.copyMakeBorder(sheet, reach, reach, reach, reach, cv2.BORDER_WRAP)
    soft = cv2.GaussianBlur(around, (0, 0), blur)[reach:-reach, reach:-reach]
    side = (round(scale * sheet.shape[1]), round(scale * sheet.shape[0]))
    small = cv2.resize(soft, side, interpolation=cv2.INTER_LINEAR)
    small[..., 1] = _standard(np.asarray(small[..., 1], np.float32))
    return np.asarray(small, np.float32)


@lru_cache(maxsize=1)
def _largest_sheet() -> Float32:
    """Long strands, short ones and tips, each of mean 0 and deviation 1: float32[H, W, 3]."""
    random = np.random.default_rng(_SEED)
    shape = (_FINEST, ACROSS * _FINEST)
    long, short = (_layered(shape, cut, random) for cut in (_LONG, _CROPPED))
    return np.dstack([long, short, _noise(shape, _TIPS, random)])


def _layered(shape: tuple[int, int], cut: _Cut, random: np.random.Generator) -> Float32:
    """Locks of one cut, laid over each other: float32[H, W] of mean 0 and deviation 1."""
    rows, columns = (axis.astype(np.float32) for axis in np.mgrid[: shape[0], : shape[1]])
    waves = _to_and_fro(shape, cut.waves, random)
    sheet = np.zeros(shape, np.float32)
    for layer in range(_LAYERS):
        bends = waves + _to_and_fro(shape, cut.bends, random)
        locks = _locks(shape, cut, random)
        places = (np.mod(columns + bends, np.float32(shape[1])), rows)
        bent = cv2.remap(locks, *places, cv2.INTER_LINEAR, borderMode=cv2.BORDER_WRAP)
        bright, hides, shades = cv2.split(bent)
        hides = np.asarray(hides if layer else np.ones_like(hides), np.float32)
        sheet -= np.float32(_DARKER) * shades * (1 - hides)
        sheet += hides * (bright - sheet)
    return _standard(sheet)


def _locks(shape: tuple[int, int], cut: _Cut, random: np.random.Generator) -> Float32:
    """How bright a layer is, where it hides and where it shades what is below: float32[H, W, 3]."""
    wide, long = cut.lock
    strands = _noise(shape, cut.strands, random)
    tone = _noise(shape, ((_TONE[0] * wide, long, 1.0),), random)
    height = _noise(shape, ((wide, long, 1.0), _JAGS), random)
    height = np.asarray(height - np.quantile(height, 1 - _LAID), np.float32)
    sides = np.exp(-np.maximum(height, 0) / np.float32(_ROUND))
    bright = np.float32(_OWN) * strands + np.float32(_TONE[1]) * tone - np.float32(_DARKER) * sides
    shades = _beyond(height + np.float32(_SHADOW[0]), _SHADOW[1])
    return np.dstack([bright, _beyond(height, _EDGE), shades])


def _to_and_fro(
    shape: tuple[int, int], wave: tuple[float, float, float], random: np.random.Generator
) -> Float32:
    """How far aside strands lie that are waved, cells: float32[H, W]."""
    wide, long, far = wave
    return np.float32(far) * _noise(shape, ((wide, long, 1.0),), random)


def _beyond(height: Float32, width: float) -> Float32:
    """0 below 0, rising to 1 above it over a width (a logistic curve)."""
    return np.asarray(1 / (1 + np.exp(-height / np.float32(width))), np.float32)


def _noise(
    shape: tuple[int, int],
    parts: tuple[tuple[float, float, float], ...],
    random: np.random.Generator,
) -> Float32:
    """Noise that repeats at its ends, of some widths and lengths: mean 0, deviation 1."""
    rows, columns = np.fft.fftfreq(shape[0])[:, None], np.fft.rfftfreq(shape[1])[None]
    total = np.zeros(shape)
    for wide, long, weight in parts:
        kept = np.exp(-2 * np.square(np.pi * rows * long) - 2 * np.square(np.pi * columns * wide))
        kept[0, 0] = 0
        soft = np.fft.irfft2(np.fft.rfft2(random.standard_normal(shape)) * kept, shape)
        total += weight * soft / soft.std()
    return np.asarray(total / total.std(), np.float32)


def _standard(values: Float32) -> Float32:
    """Values of mean 0 and deviation 1."""
    return np.asarray((values - values.mean()) / values.std(), np.float32)
