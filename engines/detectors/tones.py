"""What else to show a detector of a picture whose tones lie too close together to be told apart.

Thermal and 10- or 12-bit cameras write narrow ranges into 16-bit files, linear light leaves most
of a scene in the lowest values, and a lamp or a letterbox takes the range from everything else.
A viewer stretches such pictures; so does the search. What it shows hangs on the picture alone, so
it is as steady over a recording as the recording is, and a flash changes one frame only.
"""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.pictures import BgrImage, Picture

__all__ = ["Tones", "shown", "tones_of"]

Tones = NDArray[np.uint8]
"""For each value that a luma sample may have, the grey level in which it is shown."""

_SAMPLES: Final = 1 << 16
"""Samples that the tones are read from, at most about."""
_BULK: Final = 0.995
"""Share of the samples whose range decides whether the tones are narrow; outliers do not."""
_NEARLY_ALL: Final = 0.9996
"""Share of the samples that a stretched picture shows without clipping: hot pixels do not count."""
_NARROW: Final = 48
"""Grey levels of 256 under which tones are stretched; detectors are sure down to about 10."""
_FEW: Final = 6
"""Grey levels that hide a face where many samples share them."""
_MANY: Final = 0.3
"""Share of the picture inside so few levels from which the whole is shown by ranks."""
_SOME: Final = 0.02
"""Share in the deepest shadows, or highest lights, from which they are shown by themselves where
a sample has more than 10 bits, so that they hold far more than can be seen of them."""


def tones_of(picture: Picture) -> list[Tones]:
    """The further ways in which a picture is to be searched; none for most.

    Args:
        picture: of any depth.

    Returns:
        Where the tones are narrow, their range stretched to 256 levels. Where many samples
        share a few levels even then, a mixture of that and of their ranks. Of a deep
        picture of wide range else the shadows and the highest lights, each stretched by itself.
    """
    luma = picture.luma
    step = max(1, round((luma.size / _SAMPLES) ** 0.5))
    counts = np.bincount(luma[::step, ::step].ravel(), minlength=1 << picture.bit_depth)
    below = np.cumsum(counts) / counts.sum()
    unit = 256 / (1 << picture.bit_depth)
    low, high = _range(below, _BULK)
    is_narrow = (high - low) * unit < _NARROW
    tones: list[Tones] = []
    if is_narrow and high > low:
        tones.append(_grey(_stretched(below)))
    seen = _stretched(below) if is_narrow else np.arange(below.size) / below.size
    shares = _shares(counts, seen)
    if shares.max() >= _MANY:
        tones.append(_grey((_ranks(below) + _stretched(below)) / 2))
    elif picture.bit_depth > 10 and not is_narrow:
        ends = (seen < _FEW / 256), (seen >= 1 - _FEW / 256)
        tones += [
            _grey(_ramp(below.size, *_ends(end & (counts > 0))))
            for end, share in zip(ends, (shares[0], shares[-1]), strict=True)
            if share >= _SOME
        ]
    return tones


def shown(picture: Picture, tones: Tones, height: int, width: int) -> BgrImage:
    """The picture in such tones, scaled to height×width: uint8, its three channels alike."""
    grey = tones[picture.resized_luma(height, width)]
    return np.asarray(cv2.cvtColor(grey, cv2.COLOR_GRAY2BGR), np.uint8)


def _range(below: NDArray[np.float64], share: float) -> tuple[int, int]:
    """Lowest and highest value of the samples but for an equal part at either end."""
    left = (1 - share) / 2
    return int(np.searchsorted(below, left, "right")), int(np.searchsorted(below, 1 - left))


def _stretched(below: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each value its place in the range of nearly all samples, 0…1."""
    return _ramp(below.size, *_range(below, _NEARLY_ALL))


def _ramp(values: int, low: int, high: int) -> NDArray[np.float64]:
    """For each of so many values its place between two of them, 0…1."""
    return np.clip((np.arange(values) - low) / max(high - low, 1), 0.0, 1.0)


def _ranks(below: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each value the share of samples below it, 0 at the darkest and 1 at the brightest."""
    darkest = below[below > 0][0]
    return np.asarray(np.clip((below - darkest) / max(1 - darkest, 1e-9), 0.0, 1.0), np.float64)


def _shares(counts: NDArray[np.intp], seen: NDArray[np.float64]) -> NDArray[np.float64]:
    """Which share of samples is shown in a few grey levels, from the darkest few to the brightest.

    The commonest value of these counts for nothing: bars and flat areas hide no face.
    """
    level = np.minimum((seen * 256).astype(np.intp), 255)
    held = np.bincount(level, counts, 256)
    commonest = np.zeros(256)
    np.maximum.at(commonest, level, counts)
    windows = (np.lib.stride_tricks.sliding_window_view(part, _FEW) for part in (held, commonest))
    together, one = windows
    return np.asarray((together.sum(axis=1) - one.max(axis=1)) / counts.sum(), np.float64)


def _ends(is_held: NDArray[np.bool_]) -> tuple[int, int]:
    """First and last of the values marked."""
    held = np.flatnonzero(is_held)
    return int(held[0]), int(held[-1])


def _grey(place: NDArray[np.float64]) -> Tones:
    return np.asarray(np.rint(place * 255), np.uint8)
