"""The muted cover: a plain ellipse over face and hairline in the colours around the head.

Nothing of the face enters. What surrounds it is averaged in coarse cells, and one gentle slope
of colour through them fills the ellipse: no features, no smear of what lies at its rim, and
hardly a change from frame to frame. It is opaque over the whole face and ends softly beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.pictures import BgrImage
from engines.types import Box

__all__ = ["Ellipses", "Figure", "figure", "opacity"]

_CELLS: Final = 24
"""Of a side of the region, in which its colours are averaged; fewer follow the scene less."""
_FEATHER: Final = 0.2
"""Share of an ellipse's half axes within which it ends; larger is softer."""
_RING: Final = (1.1, 1.6)
"""Distances from the middle, in half axes, between which the colours around a head are taken."""
_MOST_SLOPE: Final = 24.0
"""Most grey levels by which the colour differs from its mean, at the ends of an ellipse."""

Float32 = NDArray[np.float32]


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


def figure(crop: BgrImage, ellipses: Ellipses, others: Sequence[Box] = ()) -> Figure:
    """The cover of one face.

    Args:
        crop: h×w×3 uint8 BGR, the face and what is around it.
        ellipses: where the cover lies, px of the crop.
        others: boxes of other faces, whose colours are not to be taken.

    >>> crop = np.full((60, 60, 3), 90, np.uint8)
    >>> crop[15:45, 15:45] = 200
    >>> around = np.array([12.0, 10, 48, 49])
    >>> made = figure(crop, Ellipses(around, around))
    >>> made.pixels[30, 30].tolist(), float(made.alpha[30, 30]), float(made.alpha[0, 0])
    ([90, 90, 90], 1.0, 0.0)
    """
    height, width = crop.shape[:2]
    pixels = _painted(height, width, _slope(crop, ellipses, others))
    return Figure(pixels, opacity(height, width, ellipses))


def opacity(height: int, width: int, ellipses: Ellipses) -> Float32:
    """How opaque a cover is: height×width float32, 1 inside, falling to 0 within its feather."""
    rows, columns = _centres(height), _centres(width)
    away = np.minimum(
        _distance(rows, columns, ellipses.face), _distance(rows, columns, ellipses.head)
    )
    fade = np.clip((away - 1) / _FEATHER, 0, 1)
    return np.asarray(1 - fade**2 * (3 - 2 * fade), np.float32)


def _slope(crop: BgrImage, ellipses: Ellipses, others: Sequence[Box]) -> Float32:
    """(3, 3) float32: mean colour, and what is added to it across and down the whole crop."""
    height, width = crop.shape[:2]
    cells = cv2.resize(crop, (_CELLS, _CELLS), interpolation=cv2.INTER_AREA).astype(np.float32)
    places = (np.arange(_CELLS, dtype=np.float64) + 0.5) / _CELLS
    rows, columns = places * height, places * width
    away = _distance(rows, columns, ellipses.head)
    away = np.minimum(away, _distance(rows, columns, ellipses.face))
    is_around = (away >= _RING[0]) & (away <= _RING[1])
    is_free = is_around.copy()
    for other in others:
        x0, y0, x1, y1 = (float(value) for value in other)
        is_free &= ~np.outer((rows > y0) & (rows < y1), (columns > x0) & (columns < x1))
    chosen = next((one for one in (is_free, is_around) if one.any()), np.ones_like(is_around))
    down, across = np.nonzero(chosen)
    middle = np.array([places[across].mean(), places[down].mean()])
    terms = np.stack([np.ones(len(down)), places[across] - 0.5, places[down] - 0.5], axis=1)
    terms[:, 1:] -= middle - 0.5
    # A ridge keeps the slope small where the colours lie on one side of the head alone.
    ridge = np.diag([0.0, 1.0, 1.0]) * 0.02 * len(down)
    slope = np.linalg.solve(terms.T @ terms + ridge, terms.T @ cells[chosen])
    slope[1:] = np.clip(slope[1:], -2 * _MOST_SLOPE, 2 * _MOST_SLOPE)
    return slope.astype(np.float32)


def _painted(height: int, width: int, slope: Float32) -> BgrImage:
    """The slope of colour over a whole crop, h×w×3 uint8 BGR."""
    across = (_centres(width) / width - 0.5).astype(np.float32)[None, :, None]
    down = (_centres(height) / height - 0.5).astype(np.float32)[:, None, None]
    colour = slope[0] + across * slope[1] + down * slope[2]
    return np.asarray(np.clip(np.rint(colour), 0, 255), np.uint8)


def _distance(
    rows: NDArray[np.float64], columns: NDArray[np.float64], ellipse: NDArray[np.float64]
) -> NDArray[np.float64]:
    """How far places are from the middle of an ellipse, in its half axes: 1 on its line."""
    middle = (ellipse[:2] + ellipse[2:]) / 2
    half = np.maximum((ellipse[2:] - ellipse[:2]) / 2, 0.5)
    distance: NDArray[np.float64] = np.hypot(
        ((columns - middle[0]) / half[0])[None, :], ((rows - middle[1]) / half[1])[:, None]
    )
    return distance


def _centres(length: int) -> NDArray[np.float64]:
    return np.arange(length, dtype=np.float64) + 0.5
