"""Hair that is nobody's: strands drawn out of noise where a picture had fine texture.

Smoothing leaves of hair a cap. Of the texture that it took away two things are kept, each a mean
over a good part of the patch: how strong it was, up to a limit, and which way it ran. Noise, the
same for everybody, is drawn out along that way and as strongly (line integral convolution, Cabral
and Leedom 1993). No lock lies where one lay.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_LEVELS", "grid", "pulled_noise", "strands"]

MOST_LEVELS: Final = 9.0
"""Strength of texture, grey levels, beyond which strands become no stronger."""
_LEAST_LEVELS: Final = 0.5
"""Strength below which there are none."""
_GAIN: Final = 2.0
"""Of strands over the texture's mean magnitude; more looks better, and tells recognisers more."""
_FINE_PX: Final = 5
"""Width of the median against which texture is measured: the borders of wide things are none."""
_MEAN: Final = 0.05
"""Deviation of the blur of strength and direction, a share of the patch's side."""
_STEPS_PX: Final = (1, 2, 4)
_NOISE_BLUR_PX: Final = 0.6
_NOISE_SEED: Final = 7
_REACH: Final = np.ones((_FINE_PX + 2, _FINE_PX + 2), np.uint8)
"""Around unknown pixels, where they have a part in the texture."""
_FAINT: Final = 1e-3

Float32 = NDArray[np.float32]


def strands(luma: Float32, known: NDArray[np.bool_], unit: float) -> tuple[Float32, Float32]:
    """How strong strands are, in grey levels, and strands; their product is added to a picture.

    Args:
        luma: float32[S, S], 0…255, of the picture before smoothing.
        known: bool[S, S], where it counts; strands run on beyond.
        unit: side of the patch, px.

    Returns:
        float32[S, S] from 0, and float32[S, S] of mean near 0 and deviation 1.

    >>> flat = np.full((64, 64), 90, np.float32)
    >>> float(strands(flat, np.ones((64, 64), bool), 40)[0].max())
    0.0
    """
    strength, x, y = _texture(luma, known, unit)
    return np.asarray(_GAIN * strength, np.float32), pulled_noise(x, y)


def pulled_noise(
    x: Float32, y: Float32, offset: tuple[int, int] = (0, 0), longer: tuple[int, ...] = ()
) -> Float32:
    """Noise drawn out along a field of directions.

    Args:
        x: float32[S, S], across, of a unit vector at every pixel.
        y: float32[S, S], down.
        offset: rows and columns by which the noise is moved; one offset, one head of hair.
        longer: further steps along which it is drawn out, px.

    Returns:
        float32[S, S] of mean near 0 and deviation 1.
    """
    rows, columns = grid(len(x))
    drawn = _noise(len(x))
    if any(offset):
        drawn = np.roll(drawn, offset, (0, 1))
    for step in (*_STEPS_PX, *longer):
        ahead = cv2.remap(drawn, columns + step * x, rows + step * y, cv2.INTER_LINEAR)
        behind = cv2.remap(drawn, columns - step * x, rows - step * y, cv2.INTER_LINEAR)
        drawn = np.asarray((drawn + ahead + behind) / 3, np.float32)
    return np.asarray(drawn / np.float32(max(float(drawn.std()), _FAINT)), np.float32)


def _texture(
    luma: Float32, known: NDArray[np.bool_], unit: float
) -> tuple[Float32, Float32, Float32]:
    """Mean strength of texture, and the unit vector along it; float32[S, S] each."""
    levels = np.clip(np.rint(luma), 0, 255).astype(np.uint8)
    detail = (luma - cv2.medianBlur(levels, _FINE_PX)) * known
    across, down = (cv2.Sobel(detail, cv2.CV_32F, dx, 1 - dx, ksize=3) for dx in (1, 0))
    counts = cv2.erode(known.astype(np.uint8), _REACH).astype(np.float32)
    magnitude = np.minimum(np.abs(detail), np.float32(MOST_LEVELS))
    tensor = ((across * across - down * down) * counts, 2 * across * down * counts)
    parts = cv2.merge([*tensor, magnitude * counts, counts])
    even, odd, strength, weight = cv2.split(cv2.GaussianBlur(parts, (0, 0), _MEAN * unit))
    # The tensor's larger eigenvector lies across the strands, at half of this angle.
    angle = cv2.phase(even, odd) / 2 + np.float32(np.pi / 2)
    x, y = cv2.polarToCart(np.ones_like(angle), angle)
    strength = np.maximum(strength / (weight + np.float32(_FAINT)) - _LEAST_LEVELS, 0)
    return np.asarray(strength, np.float32), np.asarray(x, np.float32), np.asarray(y, np.float32)


@lru_cache(maxsize=8)
def grid(side: int) -> tuple[Float32, Float32]:
    """Row and column of every pixel, shared: float32[side, side] each."""
    rows, columns = np.mgrid[0:side, 0:side].astype(np.float32)
    return rows, columns


@lru_cache(maxsize=8)
def _noise(side: int) -> Float32:
    """The same for everybody; float32[side, side]."""
    white = np.random.default_rng(_NOISE_SEED).standard_normal((side, side), np.float32)
    return np.asarray(cv2.GaussianBlur(white, (0, 0), _NOISE_BLUR_PX), np.float32)
