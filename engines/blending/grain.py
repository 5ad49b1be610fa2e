"""Grain like a camera's: noise cut from one sheet, at a place that a seed gives."""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["grain"]

_SHEET_SIDE: Final = 512

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


@cache
def _sheet() -> Float32:
    noise = np.random.default_rng(1996).standard_normal((_SHEET_SIDE, _SHEET_SIDE))
    return noise.astype(np.float32)
