"""Hair of a surrogate, drawn: where its strands run, and how they shine.

What they look like is told by `engines.hair_sheet`.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.hair_sheet import ACROSS, strands_at
from engines.head_traits import Trait, centred
from engines.polar import TURNS, distances
from engines.stylegan.drawing import between, rise

__all__ = ["combed", "middle_of", "worn_strands"]

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

Float32 = NDArray[np.float32]


def middle_of(traits: Float32) -> float:
    """Where on the sheet the top of a surrogate's head lies, across strands."""
    return float(ACROSS * float(traits.sum()))


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
