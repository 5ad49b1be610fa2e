"""Scene cuts and camera motion, told from tiny grey thumbnails.

Two thumbnails are registered by phase correlation (Kuglin and Hines, 1975) first, so that a
fast pan is not mistaken for a cut; what still differs then, against what differed lately,
decides. A flash looks like a cut and back: when the picture returns to what it was before,
the scene returns too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["CutDetector", "CutMemory", "Sight", "difference", "registered_change"]
__all__ += ["likeness", "registration"]

Thumbnail = NDArray[np.uint8]
"""(h, w) uint8 grey; about 64 × 36."""

_SURGE = 3.0
"""A cut differs this many times more than the frames before it did."""
_SAME_VIEW = 0.5
"""Pictures that correlate at least this well show the same place, however they jerk."""
_RECENT = 12
_FLASH_FRAMES = 3
_ALIKE = 0.4
"""Share of the cut level below which two pictures count as the same scene."""
_LARGEST_SHIFT = 0.35
_SURE_PEAK = 0.1


@dataclass(frozen=True, slots=True)
class Sight:
    """What one thumbnail tells.

    Attributes:
        scene: number of the scene, from 0.
        flash_since: index of the first frame that turns out to belong to this scene after
            all (a flash ended); None otherwise.
        turn: change of the picture's motion per frame, as shares of width and height: what
            a track that followed the motion so far does not expect.
        change: mean grey difference to the frame before, after registration, 0…255.
    """

    scene: int
    flash_since: int | None
    turn: tuple[float, float]
    change: float


def registration(before: Thumbnail, after: Thumbnail) -> tuple[float, float, float]:
    """Shift (dx, dy) from `before` to `after`, px, and the peak's height, 0…1.

    >>> picture = np.random.default_rng(0).integers(0, 255, (36, 64)).astype(np.uint8)
    >>> dx, dy, _ = registration(picture, np.roll(picture, 5, axis=1))
    >>> round(dx), round(dy)
    (5, 0)
    """
    height, width = before.shape
    window = _window(height, width)
    spectra = [np.fft.rfft2((p - p.mean()) * window) for p in (before, after)]
    cross = spectra[1] * np.conj(spectra[0])
    surface = np.fft.irfft2(cross / np.maximum(np.abs(cross), 1e-9), s=(height, width))
    y, x = divmod(int(surface.argmax()), width)
    row, column = surface[y], surface[:, x]
    dx = (x + width // 2) % width - width // 2 + _peak_offset(row, x)
    dy = (y + height // 2) % height - height // 2 + _peak_offset(column, y)
    return dx, dy, float(surface[y, x])


@cache
def _window(height: int, width: int) -> NDArray[np.float64]:
    """(h, w) Hann window, which never reaches 0."""
    return np.outer(np.hanning(height + 2)[1:-1], np.hanning(width + 2)[1:-1])


def _peak_offset(values: NDArray[np.float64], place: int) -> float:
    """How far a peak lies from its highest sample: the top of a parabola, −0.5…0.5."""
    left, top, right = (float(values[(place + step) % len(values)]) for step in (-1, 0, 1))
    bend = left - 2 * top + right
    return 0.0 if bend >= 0 else min(max(0.5 * (left - right) / bend, -0.5), 0.5)


def difference(before: Thumbnail, after: Thumbnail, dx: int = 0, dy: int = 0) -> float:
    """Mean grey difference where the two overlap after a shift, brightness changes aside.

    >>> flat = np.full((36, 64), 50, dtype=np.uint8)
    >>> difference(flat, flat + 30)
    0.0
    """
    first, second = _overlap(before, after, dx, dy)
    off = second - first
    return float(np.abs(off - off.mean()).mean())


def likeness(before: Thumbnail, after: Thumbnail, dx: int = 0, dy: int = 0) -> float:
    """Correlation of the two where they overlap after a shift, −1…1.

    Two flat pictures are alike (1), a flat one and another are not (0).


    >>> picture = np.arange(36 * 64).reshape(36, 64).astype(np.uint8)
    >>> round(likeness(picture, picture // 2), 3), round(likeness(picture, 255 - picture), 3)
    (1.0, -1.0)
    """
    first, second = (part - part.mean() for part in _overlap(before, after, dx, dy))
    energies = float((first**2).sum()), float((second**2).sum())
    if not all(energies):
        return 0.0 if any(energies) else 1.0
    return float((first * second).sum()) / math.sqrt(energies[0] * energies[1])


def _overlap(
    before: Thumbnail, after: Thumbnail, dx: int, dy: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    height, width = before.shape
    first = before[max(0, -dy) : height - max(0, dy), max(0, -dx) : width - max(0, dx)]
    second = after[max(0, dy) : height + min(0, dy), max(0, dx) : width + min(0, dx)]
    return first.astype(np.float32), second.astype(np.float32)


def registered_change(
    before: Thumbnail, after: Thumbnail
) -> tuple[tuple[float, float], float, float]:
    """What two thumbnails differ by once the picture's own motion is taken out.

    Returns:
        The shift (dx, dy) that explains most, (0, 0) when none does; the mean grey difference
        after it; the correlation after it.
    """
    still = difference(before, after)
    dx, dy, peak = registration(before, after)
    x, y = round(dx), round(dy)
    height, width = before.shape
    if peak < _SURE_PEAK or abs(x) > _LARGEST_SHIFT * width or abs(y) > _LARGEST_SHIFT * height:
        return (0.0, 0.0), still, likeness(before, after)
    moved = difference(before, after, x, y)
    if moved > still:
        return (0.0, 0.0), still, likeness(before, after)
    return (dx, dy), moved, likeness(before, after, x, y)


@dataclass(slots=True)
class CutMemory:
    """What the cut detector remembers, but for the thumbnails themselves.

    Attributes:
        scene: number of the scene now.
        newest_scene: highest number given.
        recent: changes between frames of this scene, newest last.
        last_frame: frame of the thumbnail that the next is compared with; None: none yet.
        cut_frame: first frame after the cut that may be a flash.
        calm_frame: frame of the thumbnail before that cut; None: no flash is possible.
        calm_scene: its scene.
        motion: the picture's motion between the last two frames, as shares of its size.
    """

    scene: int = 0
    newest_scene: int = 0
    recent: list[float] = field(default_factory=list)
    last_frame: int | None = None
    cut_frame: int = 0
    calm_frame: int | None = None
    calm_scene: int = 0
    motion: tuple[float, float] = (0.0, 0.0)

    @property
    def thumbnail_frames(self) -> tuple[int, ...]:
        """Frames whose thumbnails are still compared with."""
        return tuple(frame for frame in (self.calm_frame, self.last_frame) if frame is not None)


class CutDetector:
    """Numbers the scenes of one stream.

    Args:
        cut_level: smallest mean grey difference of a cut.
        tells_turn: also register pictures that are too alike for a cut; without, `turn` is
            not told of these, and half the time is saved.

    Attributes:
        memory: what it knows of the frames before.
    """

    def __init__(self, cut_level: float, *, tells_turn: bool = True) -> None:
        self._tells_turn = tells_turn
        self.memory = CutMemory()
        self._level = cut_level
        self._thumbnails: dict[int, Thumbnail] = {}

    def push(self, frame: int, thumbnail: Thumbnail | None) -> Sight:
        """Look at the next frame; without a thumbnail it belongs to the scene before."""
        memory = self.memory
        if thumbnail is None:
            return Sight(memory.scene, None, (0.0, 0.0), 0.0)
        last_frame, memory.last_frame = memory.last_frame, frame
        self._thumbnails[frame] = thumbnail
        sight = self._compare_frames(frame, last_frame, thumbnail)
        self._thumbnails = {kept: self._thumbnails[kept] for kept in memory.thumbnail_frames}
        return sight

    def _compare_frames(self, frame: int, last_frame: int | None, thumbnail: Thumbnail) -> Sight:
        memory = self.memory
        if last_frame is None:
            return Sight(memory.scene, None, (0.0, 0.0), 255.0)
        last = self._thumbnails[last_frame]
        if last.shape != thumbnail.shape:
            memory.calm_frame = None
            self._begin(frame, None)
            return Sight(memory.scene, None, (0.0, 0.0), 255.0)
        motion, change, alike = self._change(last, thumbnail)
        since = self._flash_end(frame, thumbnail)
        if since is None and self._is_cut(change, alike):
            self._begin(frame, last_frame)
            return Sight(memory.scene, None, (0.0, 0.0), change)
        if since is None:
            memory.recent = [*memory.recent[1 - _RECENT :], change]
        height, width = thumbnail.shape
        before, memory.motion = memory.motion, (motion[0] / width, motion[1] / height)
        turn = (memory.motion[0] - before[0], memory.motion[1] - before[1])
        return Sight(memory.scene, since, turn, change)

    def _change(
        self, last: Thumbnail, thumbnail: Thumbnail
    ) -> tuple[tuple[float, float], float, float]:
        """See `registered_change`, which never finds more change than there is without it."""
        if not self._tells_turn:
            still = difference(last, thumbnail)
            if still <= self._level:
                return (0.0, 0.0), still, 1.0
        return registered_change(last, thumbnail)

    def _is_cut(self, change: float, alike: float) -> bool:
        recent = self.memory.recent
        usual = float(np.mean(recent)) if recent else 0.0
        return alike < _SAME_VIEW and change > max(self._level, _SURGE * usual)

    def _begin(self, frame: int, before: int | None) -> None:
        memory = self.memory
        if memory.calm_frame is None or frame - memory.cut_frame > _FLASH_FRAMES:
            memory.calm_frame, memory.calm_scene = before, memory.scene
            memory.cut_frame = frame
        memory.newest_scene += 1
        memory.scene = memory.newest_scene
        memory.recent = []
        memory.motion = (0.0, 0.0)

    def _flash_end(self, frame: int, thumbnail: Thumbnail) -> int | None:
        """First frame of the flash that ends here, if one does."""
        memory = self.memory
        if memory.calm_frame is None:
            return None
        calm = self._thumbnails[memory.calm_frame]
        if frame - memory.cut_frame > _FLASH_FRAMES:
            memory.calm_frame = None
            return None
        if registered_change(calm, thumbnail)[1] > _ALIKE * self._level:
            return None
        memory.calm_frame = None
        memory.scene = memory.calm_scene
        return memory.cut_frame
