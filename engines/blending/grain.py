"""Grain like a camera's: how much a picture has, and noise from one sheet, at a place by a seed."""

from __future__ import annotations

from functools import cache
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = ["grain", "grain_of"]

_SHEET_SIDE: Final = 512
_LEAST_PIXELS: Final = 64
# Immerkær (1996): blind to anything linear in its place, with a gain of 6 on white noise.
_NOISE_KERNEL: Final = np.array([[1, -2, 1], [-2, 4, -2], [1, -2, 1]], np.float32)
_QUARTILE: Final = 0.3186
"""Lower quartile of the magnitude of a standard normal variable."""

Float32 = NDArray[np.float32]


def grain(shape: tuple[int, int], seed: tuple[int, int]) -> Float32:
    """Noise of mean 0 and deviation 1, the same for the same seed: float32[shape].

    Args:
        shape: rows and columns; beyond those of the sheet the noise repeats.
        seed: two numbers from 0.

    >>> bool((grain((3, 700), (1, 2)) == grain((3, 700), (1, 2))).all())
    True
    """
    sheet = _sheet()
    random = np.random.default_rng([*seed])
    rows, columns = (
        (int(random.integers(_SHEET_SIDE)) + np.arange(length)) % _SHEET_SIDE for length in shape
    )
    return np.asarray(sheet[rows[:, None], columns], np.float32)


def grain_of(grey: Float32, where: NDArray[np.bool_]) -> float:
    """Deviation of a picture's noise, grey levels; 0 where few places count.

    Args:
        grey: float32[H, W].
        where: bool[H, W], the places that count.
    """
    if where.sum() < _LEAST_PIXELS:
        return 0.0
    rough = np.abs(cv2.filter2D(grey, -1, _NOISE_KERNEL)[where])
    return float(np.percentile(rough, 25)) / (6 * _QUARTILE)


@cache
def _sheet() -> Float32:
    noise = np.random.default_rng(1996).standard_normal((_SHEET_SIDE, _SHEET_SIDE))
    return noise.astype(np.float32)
