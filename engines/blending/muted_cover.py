"""The muted cover: a head out of focus, with no feature in it.

Its rim has the colours around the head, spread inwards by normalised convolution, and its middle
one colour, the mean of the face: three numbers, that light and skin tone decide. So it lies in its
scene as a blurred head would, but nothing tells whose. It is opaque over the whole face and ends
softly beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.pictures import BgrImage
from engines.stylegan.drawing import rise, spread
from engines.types import Box

__all__ = ["CELLS", "Ellipses", "Figure", "figure", "opacity"]

CELLS: Final = 24
"""Of a side of the region, in which colours are averaged; fewer follow the scene less."""
_FEATHER: Final = 0.2
"""Share of an ellipse's half axes within which it ends; larger is softer, and touches more."""
_RING: Final = (1.0, 1.5)
"""Distances from the middle, in half axes, between which the colours around a head are taken."""
_SPREADS: Final = ((0.08, 1.0), (0.2, 0.1))
"""Deviations of the blurs that spread colours inwards, shares of the side, and their weights:
smaller ones follow the scene more, and smear what lies at the rim."""
_WITHIN: Final = 0.7
"""Distance from the middle, in half axes, within which a face's mean colour is taken."""
_CORE: Final = (0.2, 1.05)
"""Distances between which that colour goes over into those around the head."""
_TONE: Final = 0.85
"""Share of it in the middle."""

_COARSE_STEP: Final = 4
"""Pixels between which colours are interpolated by straight lines; they change over dozens."""

Float32 = NDArray[np.float32]
Places = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Ellipses:
    """Where a cover lies.

    Attributes:
        face: (4,) x0 y0 x1 y1 px of the box around the ellipse over the face.
        head: the same of the one that reaches behind a head seen from the side; else equal.
    """

    face: NDArray[np.float64]
    head: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Figure:
    """A cover as it lies on a picture.

    Attributes:
        pixels: h×w×3 uint8 BGR.
        alpha: h×w float32, how opaque it is: 1 over the face, 0 beside it.
    """

    pixels: BgrImage
    alpha: Float32


def figure(
    colours: BgrImage, height: int, width: int, ellipses: Ellipses, others: Sequence[Box] = ()
) -> Figure:
    """The cover of one face.

    Args:
        colours: `CELLS`×`CELLS`×3 uint8 BGR, mean colours of a crop: the face and what is around.
        height: rows of the crop, px.
        width: columns of the crop, px.
        ellipses: where the cover lies, px of the crop.
        others: boxes of other faces, whose colours are not to be taken.

    >>> colours = np.full((24, 24, 3), 90, np.uint8)
    >>> colours[6:18, 6:18] = 200
    >>> around = np.array([12.0, 10, 48, 49])
    >>> made = figure(colours, 60, 60, Ellipses(around, around))
    >>> made.pixels[30, 30].tolist(), float(made.alpha[30, 30]), float(made.alpha[0, 0])
    ([184, 184, 184], 1.0, 0.0)
    """
    cells = colours.astype(np.float32)
    places = _centres(CELLS) / np.float32(CELLS)
    rows, columns = places * np.float32(height), places * np.float32(width)
    toned = _toned(_around(cells, rows, columns, ellipses, others), cells, rows, columns, ellipses)
    return Figure(_enlarged(toned, height, width), opacity(height, width, ellipses))


def _enlarged(cells: Float32, height: int, width: int) -> BgrImage:
    """Colours float32 BGR at full size, uint8: by cubics to a part of it, straight from there."""
    size = [min(one, max(CELLS, -(-one // _COARSE_STEP))) for one in (width, height)]
    coarse = cv2.resize(cells, size, interpolation=cv2.INTER_CUBIC)
    pixels = cv2.convertScaleAbs(np.maximum(coarse, 0))
    return np.asarray(cv2.resize(pixels, (width, height), interpolation=cv2.INTER_LINEAR), np.uint8)


def opacity(height: int, width: int, ellipses: Ellipses) -> Float32:
    """How opaque a cover is: height×width float32, 1 inside, falling to 0 within its feather."""
    rows, columns = _centres(height), _centres(width)
    away = _away(rows, columns, ellipses)
    return np.asarray(1 - rise(away, 1.0, 1.0 + _FEATHER), np.float32)


def _around(
    cells: Float32, rows: Places, columns: Places, ellipses: Ellipses, others: Sequence[Box]
) -> Float32:
    """The colours around a head, spread over it: float32[CELLS, CELLS, 3] BGR."""
    away = _away(rows, columns, ellipses)
    is_around = (away >= _RING[0]) & (away <= _RING[1])
    is_free = is_around.copy()
    for other in others:
        x0, y0, x1, y1 = (float(value) for value in other)
        is_free &= ~np.outer((rows > y0) & (rows < y1), (columns > x0) & (columns < x1))
    chosen = next((one for one in (is_free, is_around) if one.any()), np.ones_like(is_around))
    return spread(cells, chosen.astype(np.float32), _SPREADS)


def _toned(
    around: Float32, cells: Float32, rows: Places, columns: Places, ellipses: Ellipses
) -> Float32:
    """The colours around a head, going over into the mean of what lies in its middle."""
    away = _distance(rows, columns, ellipses.face)
    inside = away < _WITHIN
    if not inside.any():
        return around
    tone = cells[inside].mean(axis=0)
    share = np.float32(_TONE) * (1 - rise(away, *_CORE))
    return np.asarray(around + share[..., None] * (tone - around), np.float32)


def _away(rows: Places, columns: Places, ellipses: Ellipses) -> Float32:
    """The distance from the nearer of both ellipses, as `_distance` has it."""
    away = _distance(rows, columns, ellipses.face)
    if np.array_equal(ellipses.face, ellipses.head):
        return away
    return np.minimum(away, _distance(rows, columns, ellipses.head), out=away)


def _distance(rows: Places, columns: Places, ellipse: NDArray[np.float64]) -> Float32:
    """How far places are from the middle of an ellipse, in its half axes: 1 on its line."""
    middle = ((ellipse[:2] + ellipse[2:]) / 2).astype(np.float32)
    half = np.maximum((ellipse[2:] - ellipse[:2]) / 2, 0.5).astype(np.float32)
    across, down = (columns - middle[0]) / half[0], (rows - middle[1]) / half[1]
    squares = np.add.outer(down * down, across * across)
    return np.asarray(np.sqrt(squares, out=squares), np.float32)


def _centres(length: int) -> Places:
    return np.arange(length, dtype=np.float32) + np.float32(0.5)
