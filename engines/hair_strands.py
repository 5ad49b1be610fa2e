"""Hair of a surrogate, drawn: where its strands run, how they shine, and what they are taken from.

Strands come from a sheet of noise that is long along them and narrow across them, from locks to
single hairs, and waved a little; cropped hair is of short strands. Nothing of it is anybody's. The
sheet is kept in several sizes, so that on small or blurred heads fine strands melt into locks
instead of glittering.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.head_traits import Trait, centred
from engines.polar import TURNS, distances
from engines.stylegan.drawing import between, rise

__all__ = ["combed", "middle_of", "strands_at", "worn_strands"]

_RADIUS: Final = 0.5
"""Radius at which strands are as wide as on the sheet, shares of a patch's side."""
_SLANT: Final = (0.6, 1.0)
"""How far strands fall aside on their way out, of hair that is brushed back and to the sides."""
_PARTED: Final = 0.45
_PARTING: Final = 0.4
"""Where hair is parted, radians from the top to either side, and over what angle."""
_FALLS: Final = 1.0
_BESIDE: Final = (0.4, 1.6)
"""How much more they fall beside the face, and between which angles from the top that begins."""
_FALLEN: Final = 0.15
"""Up to about where they go on to do so; strands that fell farther would cross, and look like the
grain of wood. Less than `_RADIUS` over the steepest change of how far they fall, with the angle."""
_BENDS: Final = (0.35, 0.3)
"""How much of that they do at the hairline, and over what distance the rest comes, shares of a
patch's side: hair stands up from a forehead and lies down on a head."""
_HANGS: Final = (0.35, 0.75)
_OUTWARDS: Final = 0.4
_OTHER_SIDE: Final = 0.7
"""Between which angles from the top hair comes to hang down instead of standing away from the head,
how much it leaves the outline of the face on its way down, radians, and where its strands are taken
from on the sheet."""
_MEAN: Final = 0.94
_ROOTS: Final = (0.13, 0.035)
_SHINE: Final = (0.10, 0.15, 0.07)
"""How bright hair is that neither lies in shade nor shines, so that all of it is 1 on average; how
much darker at its roots, and over what distance; how much brighter farther out, from where on, and
over what distance; shares of a patch's side."""
_FINEST: Final = 256
"""Cells of the largest sheet in a patch's side."""
_ACROSS: Final = 2
"""Sides of a patch that a sheet is wide across strands, before it repeats; along them, one."""
_COARSEST: Final = 24
_STEPS: Final = 16
"""Cells of the smallest, and how many sizes there are from one to twice as large."""
_SHRUNK: Final = 0.6
_LEAST_BLUR: Final = 0.3
"""How much a sheet is blurred before it is reduced: with less, strands glitter as heads grow."""
_LONG: Final = ((1, 30, 0.7), (2, 40, 0.8), (4.5, 55, 0.7), (10, 70, 0.5), (24, 90, 0.4))
_CROPPED: Final = ((1.2, 7, 0.8), (2.5, 12, 0.9), (6, 22, 0.5), (20, 40, 0.4))
_TIPS: Final = ((1.2, 30, 1.0), (2.5, 40, 0.8), (6, 60, 0.4), (25, 90, 0.4))
"""Widths and lengths of strands, cells of the largest sheet, and how much each tells."""
_WAVES: Final = (30, 45, 1.0)
_WAVED: Final = 10.0
"""How wide and long the waves of strands are, and how far they go to and fro, cells."""
_SEED: Final = 20
_LINE: Final = 64
"""How many places are looked up in a line of a picture: a line must not be too long."""

Float32 = NDArray[np.float32]


def middle_of(traits: Float32) -> float:
    """Where on the sheet the top of a surrogate's head lies, across strands."""
    return float(_ACROSS * float(traits.sum()))


def combed(begins: Float32, traits: Float32) -> tuple[Float32, Float32, Float32]:
    """Where on the sheet every place of a surrogate's hair lies, and how bright it is.

    Strands run from the hairline outwards and fall to both sides of a parting; beside the face
    `worn_strands` lets them hang.

    Args:
        begins: float32[RAYS], radius of the hairline.
        traits: float32[HEAD_TRAITS] of the surrogate.

    Returns:
        Places across strands and along them, shares of the patch's side, and brightness, about 1:
        float32[RAYS, STEPS] each.
    """
    along = np.asarray(distances() - begins[:, None], np.float32)
    out = np.maximum(along, 0)
    turn = np.mod(TURNS + 1.5 * np.pi, 2 * np.pi) - np.pi
    parting = _PARTED * float(np.sign(centred(traits)[Trait.LEANING]))
    aside = between(_SLANT, float(traits[Trait.SLEEK])) * np.tanh((turn - parting) / _PARTING)
    aside += np.sign(turn) * _FALLS * rise(np.abs(turn).astype(np.float32), *_BESIDE)
    own = middle_of(traits)
    fallen = _FALLEN * np.tanh((_BENDS[0] * out + np.square(out) / _BENDS[1]) / _FALLEN)
    across = own + _RADIUS * turn[:, None] - aside[:, None] * fallen
    darker, shines = _ROOTS[0] * np.exp(-out / _ROOTS[1]), _SHINE[0]
    brighter = shines * np.exp(-np.square((out - _SHINE[1]) / _SHINE[2]))
    bright = _MEAN - darker + brighter
    return np.asarray(across, np.float32), along, np.asarray(bright, np.float32)


def worn_strands(
    across: Float32, along: Float32, middle: float, cropped: float, side_px: float
) -> Float32:
    """How strands lie at N places of a head: float32[2, N], as `strands_at` says.

    Args:
        across: float32[N], shares of the patch's side across strands, see `combed`.
        along: float32[N], along them; beside the face they hang down instead.
        middle: what `across` is at the top of the head.
        cropped: 0 for long strands, 1 for short ones.
        side_px: see `strands_at`.
    """
    turn = np.asarray((across - np.float32(middle)) * np.float32(1 / _RADIUS), np.float32)
    away = np.abs(turn)
    above, beside = (np.flatnonzero(one) for one in (away < _HANGS[1], away > _HANGS[0]))
    hanging = _hanging(turn.take(beside), along.take(beside), middle)
    columns = np.concatenate([across.take(above), hanging[0]])
    rows = np.concatenate([along.take(above), hanging[1]])
    both = strands_at(columns, rows, cropped, side_px).T
    share = rise(away.take(beside), *_HANGS)[:, None]
    found = np.zeros((len(across), 2), np.float32)
    found[above] = both[: len(above)]
    rest = found.take(beside, axis=0)
    rest += share * (both[len(above) :] - rest)
    found[beside] = rest / np.sqrt(share * (2 * share - 2) + 1)  # of deviation 1 as before
    return found.T


def _hanging(turn: Float32, out: Float32, middle: float) -> tuple[Float32, Float32]:
    """Where on the sheet hair lies that hangs down beside a face, across strands and along them.

    Args:
        turn: float32[N], angles from the top, radians, at which strands began if they fell aside.
        out: float32[N], how far from the hairline.
        middle: what is across strands at the top of the head.
    """
    arc = np.abs(turn) * (np.float32(_RADIUS) + out)
    own = np.float32(middle) + np.sign(turn) * np.float32(_OTHER_SIDE)
    cosine, sine = np.float32(np.cos(_OUTWARDS)), np.float32(np.sin(_OUTWARDS))
    return own + out * cosine - arc * sine, out * sine + arc * cosine


def strands_at(across: Float32, along: Float32, cropped: float, side_px: float) -> Float32:
    """How strands lie at N places of the sheet: float32[2, N].

    Args:
        across: float32[N], shares of the patch's side across strands.
        along: float32[N], along them.
        cropped: 0 for long strands, 1 for short ones.
        side_px: the patch's side as far as it is sharp, px: finer strands are not drawn.

    Returns:
        How bright a strand is, and how far it reaches beyond its neighbours; of mean 0, and of
        deviation 1 where the finest are drawn.
    """
    if not len(across):
        return np.zeros((2, 0), np.float32)
    finest = min(max(side_px, _COARSEST), _FINEST)
    size = round(_STEPS * float(np.log2(finest / _FINEST)))
    sheet = _sheet(size, round(_STEPS * cropped))
    columns = across * np.float32(sheet.shape[1] / _ACROSS) - np.float32(0.5)
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
    sheet = np.dstack([long + cut * (short - long), tips])
    scale = 2.0 ** (size / _STEPS)
    blur = _SHRUNK * float(np.sqrt(scale**-2 - 1)) + _LEAST_BLUR
    reach = int(4 * blur) + 1
    around = cv2.copyMakeBorder(sheet, reach, reach, reach, reach, cv2.BORDER_WRAP)
    soft = cv2.GaussianBlur(around, (0, 0), blur)[reach:-reach, reach:-reach]
    side = (round(scale * sheet.shape[1]), round(scale * sheet.shape[0]))
    small = cv2.resize(soft, side, interpolation=cv2.INTER_LINEAR)
    return np.asarray(small / small.std(axis=(0, 1)), np.float32)


@lru_cache(maxsize=1)
def _largest_sheet() -> Float32:
    """Long strands, short ones and tips, each of mean 0 and deviation 1: float32[H, W, 3]."""
    random = np.random.default_rng(_SEED)
    shape = (_FINEST, _ACROSS * _FINEST)
    rows, columns = (axis.astype(np.float32) for axis in np.mgrid[: shape[0], : shape[1]])
    flat = np.dstack([_strands(shape, widths, random) for widths in (_LONG, _CROPPED, _TIPS)])
    columns += _WAVED * _strands(shape, (_WAVES,), random)
    places = (np.mod(columns, shape[1]), rows)
    sheet = cv2.remap(flat, *places, cv2.INTER_LINEAR, borderMode=cv2.BORDER_WRAP)
    return np.asarray(sheet, np.float32)


def _strands(
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
