"""The muted cover: nobody's face in the colours of the scene, on ground that continues it.

A crowd under covers in a colour that no scene has is safe and useless. This cover takes two
things more from the picture than the solid one: the colours at the rim of its region, which run
on inwards, and the mean colour of the middle of the box, in which the face is drawn, or a shade
of it where the face would look much like what it hides. Whoever has the same of these gets the
same cover, pixel for pixel; what they tell is measured in `docs/exposure.md`.

It has two layers, for faces stand close together: where regions overlap, every ground lies below
every figure, and a figure ends softly on ground.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.crop_regions import finite_box, middle_of_box
from engines.emblem import placed_emblem
from engines.pictures import BgrImage
from engines.types import Box, Landmarks

__all__ = ["CELLS", "Figure", "differs_clearly", "figure", "ground", "muted"]

CELLS: Final = 20
"""Of a side of the ground; its outermost cells, averages of the picture, are what runs on."""
_RELIEF: Final = (14.0, 0.35)
"""Amplitude of the relief: grey levels, and a share of the brightness of the face on top."""
_SMALL: Final = (24.0, 56.0)
_BOLDER: Final = 2.0
"""Widths of a box, px, up to which the relief is so many times as strong, and from which it is not:
recognisers take small soft faces for none."""
_LEAST_CHANGE: Final = 14.0
"""Mean difference from what is hidden that a cover must have, grey levels."""
_SHIFT: Final = 16.0
"""A face that differs less is drawn so much lighter, or darker where it is light: faces in the
dark, or out of focus, look much like nobody's."""
_EDGE: Final = 0.1
"""Share of a crop's side in which the figure ends at its edges."""
_LUMA: Final = np.array([0.114, 0.587, 0.299], np.float32)
_MIDDLE: Final = 128.0

Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Figure:
    """Nobody's face as it lies on ground.

    Attributes:
        pixels: h×w×3 uint8 BGR.
        alpha: h×w float32, how opaque it is: 1 over the middle of the face, 0 beside it.
    """

    pixels: BgrImage
    alpha: Float32


def muted(crop: BgrImage, landmarks: Landmarks, box: Box) -> BgrImage:
    """Both layers over a crop.

    >>> painted = muted(np.full((40, 40, 3), 110, np.uint8), np.full((5, 2), np.nan, np.float32),
    ...                 np.array([4, 4, 36, 36], np.float32))
    >>> painted[0, 0].tolist(), bool(painted[:, 20].std() > 5)
    ([110, 110, 110], True)
    """
    height, width = crop.shape[:2]
    cells = cv2.resize(crop, (CELLS, CELLS), interpolation=cv2.INTER_AREA)
    above = figure(crop, landmarks, box)
    below = ground(np.asarray(cells, np.uint8), height, width).astype(np.float32)
    laid = below + above.alpha[..., None] * (above.pixels - below)
    return np.asarray(np.clip(np.rint(laid), 0, 255), np.uint8)


def ground(cells: BgrImage, height: int, width: int) -> BgrImage:
    """The colours at the rim of a region, run on inwards: the membrane that they span.

    Args:
        cells: CELLS×CELLS×3 uint8 BGR, the region scaled down; only its outermost cells are used.
        height: rows of the region, px.
        width: its columns.

    Returns:
        height×width×3 uint8 BGR.
    """
    spanned = _membrane() @ cells.reshape(-1, 3)[_rim().ravel()].astype(np.float32)
    smooth = np.clip(np.rint(spanned), 0, 255).astype(np.uint8).reshape(CELLS, CELLS, 3)
    return np.asarray(cv2.resize(smooth, (width, height), interpolation=cv2.INTER_LINEAR), np.uint8)


def figure(crop: BgrImage, landmarks: Landmarks, box: Box) -> Figure:
    """Nobody's face in the mean colour of the middle of a box.

    Args:
        crop: h×w×3 uint8 BGR.
        landmarks: (5, 2) px of the crop.
        box: (4,) x0 y0 x1 y1 px of the crop; may reach outside.
    """
    height, width = crop.shape[:2]
    frame = np.array(finite_box(box, height, width), np.float32)
    middle = middle_of_box(box, height, width)
    tone = crop[middle].mean(axis=(0, 1), dtype=np.float32)
    depth, oval = placed_emblem(height, width, frame, landmarks)
    luma = float(tone @ _LUMA)
    raised = (_RELIEF[0] + _RELIEF[1] * luma) * _boldness(float(frame[2] - frame[0]))
    levels = (np.arange(256, dtype=np.float32) - depth[middle].mean()) * np.float32(raised / 128)
    drawn = _painted(depth[middle], levels, tone)
    if not differs_clearly(drawn, crop[middle]):
        tone = np.clip(tone + np.float32(_SHIFT if luma < _MIDDLE else -_SHIFT), 0, 255)
    alpha = oval * np.minimum.outer(_to_edges(height), _to_edges(width))
    return Figure(_painted(depth, levels, tone), alpha)


def differs_clearly(drawn: BgrImage, hidden: BgrImage) -> bool:
    """Whether what is drawn is far enough from what it hides, both h×w×3 uint8, to be a cover."""
    return cv2.norm(drawn, hidden, cv2.NORM_L1) >= _LEAST_CHANGE * drawn.size


def _painted(depth: NDArray[np.uint8], levels: Float32, tone: Float32) -> BgrImage:
    """A relief on one colour, h×w×3 BGR; `levels` says how much each depth is lighter, [256]."""
    ramp = np.clip(np.rint(tone + levels[:, None]), 0, 255).astype(np.uint8)
    return np.asarray(cv2.applyColorMap(depth, ramp[:, None]), np.uint8)


def _boldness(width: float) -> float:
    """How many times as strong as on large faces the relief is on a box of that width, px."""
    return float(np.interp(width, _SMALL, (_BOLDER, 1.0)))


def _to_edges(length: int) -> Float32:
    """For each pixel of a side 1 in its middle, falling to 0 at its ends."""
    places = (np.arange(length, dtype=np.float32) + np.float32(0.5)) / np.float32(length)
    return np.asarray(np.clip(np.minimum(places, 1 - places) / np.float32(_EDGE), 0, 1), np.float32)


def _rim() -> NDArray[np.bool_]:
    rim = np.ones((CELLS, CELLS), bool)
    rim[1:-1, 1:-1] = False
    return rim


@cache
def _membrane() -> Float32:
    """All cells of a square from those at its rim, by Laplace's equation: (cells², rim cells)."""
    neighbours = np.eye(CELLS, k=1) + np.eye(CELLS, k=-1)
    one = np.eye(CELLS)
    equation = 4 * np.eye(CELLS**2) - np.kron(neighbours, one) - np.kron(one, neighbours)
    rim = _rim().ravel()
    spanned = np.zeros((CELLS**2, int(rim.sum())))
    spanned[rim] = np.eye(int(rim.sum()))
    spanned[~rim] = np.linalg.solve(equation[~rim][:, ~rim], -equation[~rim][:, rim])
    return spanned.astype(np.float32)
