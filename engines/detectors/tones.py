"""What else to show a detector of a picture whose tones lie too close together to be told apart.

Thermal and 10- or 12-bit cameras write narrow ranges into 16-bit files, linear light leaves most
of a scene in the lowest values, and a lamp or a letterbox takes the range from everything else.
A viewer stretches such pictures; so does the search. Each frame of a video is shown in its own
tones, and beside them, where a lamp comes into view or goes, in those of the frames before, which
follow slowly: what was seen goes on to be seen as it was.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.pictures import BgrImage, Picture

__all__ = ["SteadyTones", "Tones", "shown", "steady_tones", "tones_of"]

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
_SLACK: Final = 1.4
"""By how much these limits give way for what was shown in the frame before, so that a scene at a
limit is not shown in turns."""
_FOLLOW_S: Final = 2.0
"""Time in which the held range follows most of a change; longer is steadier and costs a second
search for longer."""
_HOLD_S: Final = 2.0
"""Time for which a range is held in a scene that is no longer narrow."""
_STILL_HELD: Final = 0.5
"""Share of the samples that a held range must hold, or the scene is another."""
_ALIKE: Final = 0.04
"""Ranges whose ends differ by less of their width show the same."""


@dataclass(frozen=True, slots=True)
class SteadyTones:
    """How the newest frame of a stream is to be searched, and what the next frame's tones hang on.

    Attributes:
        tones: further ways in which the frame is to be searched; none for most.
        held: values between which the tones are stretched, followed over time; None where they
            are not narrow.
        narrow_s: when the tones were last narrow, in seconds of the stream.
        time_s: of the frame.
        is_ranked: whether it is shown by ranks.
        ends: whether its shadows, and its highest lights, are shown by themselves.
    """

    tones: tuple[Tones, ...] = ()
    held: tuple[float, float] | None = None
    narrow_s: float = 0.0
    time_s: float = 0.0
    is_ranked: bool = False
    ends: tuple[bool, bool] = (False, False)


def tones_of(picture: Picture) -> tuple[Tones, ...]:
    """The further ways in which a single picture is to be searched; see `steady_tones`."""
    return steady_tones(picture, 0.0, None).tones


def steady_tones(picture: Picture, time_s: float, before: SteadyTones | None) -> SteadyTones:
    """The further ways in which the next frame of a stream is to be searched.

    Args:
        picture: of any depth.
        time_s: time of the frame in the stream.
        before: what this gave for the frame before; None for the first.

    Returns:
        Where the tones are narrow, their range stretched to 256 levels; where the frames before
        had another range, that as well. Where many samples share a few levels even then, a
        mixture of that and of their ranks. Of a deep picture of wide range else the shadows and
        the highest lights, each stretched by itself.
    """
    last = before or SteadyTones(time_s=time_s)
    counts, below = _samples(picture)
    own = _narrow_range(below, last)
    held = _followed(own, below, time_s, last)
    tones = _stretched(below.size, own, held)
    ramp = _ramp(below.size, *(held or _range(below, _NEARLY_ALL)))
    seen = np.arange(below.size) / below.size if own is None else _ramp(below.size, *own)
    shares = _shares(counts, seen)
    is_ranked, ends = shares.max() >= _limit(_MANY, last.is_ranked), (False, False)
    if is_ranked:
        tones.append(_grey((_ranks(below) + ramp) / 2))
    elif picture.bit_depth > 10 and own is None:
        ends = (
            bool(shares[0] >= _limit(_SOME, last.ends[0])),
            bool(shares[-1] >= _limit(_SOME, last.ends[1])),
        )
        tones += _ends_alone(seen, counts, ends)
    narrow_s = last.narrow_s if own is None else time_s
    return SteadyTones(tuple(tones), held, narrow_s, time_s, bool(is_ranked), ends)


def shown(picture: Picture, tones: Tones, height: int, width: int) -> BgrImage:
    """The picture in such tones, scaled to height×width: uint8, its three channels alike."""
    grey = tones[picture.resized_luma(height, width)]
    return np.asarray(cv2.cvtColor(grey, cv2.COLOR_GRAY2BGR), np.uint8)


def _samples(picture: Picture) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """For each value how many samples have it, and the share that has it or a lower one."""
    luma = picture.luma
    step = max(1, round((luma.size / _SAMPLES) ** 0.5))
    counts = np.bincount(luma[::step, ::step].ravel(), minlength=1 << picture.bit_depth)
    return counts, np.cumsum(counts) / counts.sum()


def _limit(share: float, was_shown: bool) -> float:
    return share / _SLACK if was_shown else share


def _narrow_range(below: NDArray[np.float64], last: SteadyTones) -> tuple[int, int] | None:
    """Range of a frame's tones where they are narrow; a few samples of a lamp do not count.

    The limit gives way for what was held in telling whether they are narrow, and not in telling
    whether a lamp belongs to them: the range would be wider than the frame's own.
    """
    limit = below.size * _NARROW / 256
    low, high = _range(below, _BULK)
    if not low < high < low + limit * (_SLACK if last.held else 1.0):
        return None
    whole = _range(below, _NEARLY_ALL)
    return whole if whole[1] - whole[0] < limit else (low, high)


def _followed(
    own: tuple[int, int] | None, below: NDArray[np.float64], time_s: float, last: SteadyTones
) -> tuple[float, float] | None:
    """The range held so far, as far as it has come towards the frame's own.

    Where the frame has none, it stays as it is: what took the range, such as a lamp, clips.
    """
    if last.held is None or _share_within(last.held, below) < _STILL_HELD:
        return own
    if own is None:
        is_wanted = last.is_ranked or time_s - last.narrow_s <= _HOLD_S
        return last.held if is_wanted else None
    part = 1 - math.exp(-max(0.0, time_s - last.time_s) / _FOLLOW_S)
    low, high = (was + part * (now - was) for was, now in zip(last.held, own, strict=True))
    return low, high


def _share_within(held: tuple[float, float], below: NDArray[np.float64]) -> float:
    low, high = round(held[0]), round(held[1])
    return float(below[high] - (below[low - 1] if low > 0 else 0.0))


def _stretched(
    values: int, own: tuple[int, int] | None, held: tuple[float, float] | None
) -> list[Tones]:
    """The held range stretched, and the frame's own where it shows something else."""
    ranges = [one for one in (held, own) if one is not None]
    if held is not None and own is not None:
        far = max(abs(held[0] - own[0]), abs(held[1] - own[1]))
        if far <= _ALIKE * min(held[1] - held[0], own[1] - own[0]):
            ranges = [held]
    return [_grey(_ramp(values, *one)) for one in ranges]


def _ends_alone(
    seen: NDArray[np.float64], counts: NDArray[np.intp], ends: tuple[bool, bool]
) -> list[Tones]:
    """The shadows, and the highest lights, each over the whole range where it is wanted."""
    parts = seen < _FEW / 256, seen >= 1 - _FEW / 256
    return [
        _grey(_ramp(seen.size, *_ends(part & (counts > 0))))
        for part, is_wanted in zip(parts, ends, strict=True)
        if is_wanted
    ]


def _range(below: NDArray[np.float64], share: float) -> tuple[int, int]:
    """Lowest and highest value of the samples but for an equal part at either end."""
    left = (1 - share) / 2
    return int(np.searchsorted(below, left, "right")), int(np.searchsorted(below, 1 - left))


def _ramp(values: int, low: float, high: float) -> NDArray[np.float64]:
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
    levels, starts = np.unique(level, return_index=True)
    commonest[levels] = np.maximum.reduceat(counts, starts)
    windows = (np.lib.stride_tricks.sliding_window_view(part, _FEW) for part in (held, commonest))
    together, one = windows
    return np.asarray((together.sum(axis=1) - one.max(axis=1)) / counts.sum(), np.float64)


def _ends(is_held: NDArray[np.bool_]) -> tuple[int, int]:
    """First and last of the values marked."""
    held = np.flatnonzero(is_held)
    return int(held[0]), int(held[-1])


def _grey(place: NDArray[np.float64]) -> Tones:
    return np.asarray(np.rint(place * 255), np.uint8)
