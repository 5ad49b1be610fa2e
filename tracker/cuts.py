"""Scene cuts and camera motion, told from tiny grey thumbnails.

Two thumbnails are registered by phase correlation (Kuglin and Hines, 1975) first, so that a
fast pan is not mistaken for a cut; what still differs then, against what differed lately,
decides. A flash looks like a cut and back: when the picture returns to what it was before,
the scene returns too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["CutDetector", "CutMemory", "Sight", "difference", "registered_change"]
__all__ += ["registration"]

Thumbnail = NDArray[np.uint8]
"""(h, w) uint8 grey; about 64 × 36."""

_SURGE = 3.0
"""A cut differs this many times more than the frames before it did."""
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
        offset: picture motion since the frame before, as shares of width and height.
        change: mean grey difference to the frame before, after registration, 0…255.
    """

    scene: int
    flash_since: int | None
    offset: tuple[float, float]
    change: float


def registration(before: Thumbnail, after: Thumbnail) -> tuple[int, int, float]:
    """Whole-pixel shift (dx, dy) from `before` to `after`, and the peak's height, 0…1.

    >>> picture = np.random.default_rng(0).integers(0, 255, (36, 64)).astype(np.uint8)
    >>> registration(picture, np.roll(picture, 5, axis=1))[:2]
    (5, 0)
    """
    height, width = before.shape
    window = np.outer(np.hanning(height + 2)[1:-1], np.hanning(width + 2)[1:-1])
    spectra = [np.fft.rfft2((p - p.mean()) * window) for p in (before, after)]
    cross = spectra[1] * np.conj(spectra[0])
    surface = np.fft.irfft2(cross / np.maximum(np.abs(cross), 1e-9), s=(height, width))
    peak = int(surface.argmax())
    dy, dx = divmod(peak, width)
    dx = dx - width if dx > width // 2 else dx
    dy = dy - height if dy > height // 2 else dy
    return dx, dy, float(surface.flat[peak])


def difference(before: Thumbnail, after: Thumbnail, dx: int = 0, dy: int = 0) -> float:
    """Mean grey difference where the two overlap after a shift, brightness changes aside.

    >>> flat = np.full((36, 64), 50, dtype=np.uint8)
    >>> difference(flat, flat + 30)
    0.0
    """
    height, width = before.shape
    first = before[max(0, -dy) : height - max(0, dy), max(0, -dx) : width - max(0, dx)]
    second = after[max(0, dy) : height + min(0, dy), max(0, dx) : width + min(0, dx)]
    off = second.astype(np.float32) - first
    return float(np.abs(off - off.mean()).mean())


def registered_change(before: Thumbnail, after: Thumbnail) -> tuple[int, int, float]:
    """Shift (dx, dy) that explains most, (0, 0) when none does, and what differs after it."""
    still = difference(before, after)
    dx, dy, peak = registration(before, after)
    height, width = before.shape
    if peak < _SURE_PEAK or abs(dx) > _LARGEST_SHIFT * width or abs(dy) > _LARGEST_SHIFT * height:
        return 0, 0, still
    moved = difference(before, after, dx, dy)
    return (dx, dy, moved) if moved < still else (0, 0, still)


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
    """

    scene: int = 0
    newest_scene: int = 0
    recent: list[float] = field(default_factory=list)
    last_frame: int | None = None
    cut_frame: int = 0
    calm_frame: int | None = None
    calm_scene: int = 0

    @property
    def thumbnail_frames(self) -> tuple[int, ...]:
        """Frames whose thumbnails are still compared with."""
        return tuple(frame for frame in (self.calm_frame, self.last_frame) if frame is not None)


class CutDetector:
    """Numbers the scenes of one stream.

    Args:
        cut_level: smallest mean grey difference of a cut.
        memory: what an earlier detector remembered, to continue it.
        thumbnails: the thumbnails of `memory.thumbnail_frames`.

    Attributes:
        memory: enough, with those thumbnails, to continue elsewhere.
    """

    def __init__(
        self,
        cut_level: float,
        memory: CutMemory | None = None,
        thumbnails: Mapping[int, Thumbnail] | None = None,
    ) -> None:
        self.memory = memory or CutMemory()
        self._level = cut_level
        self._thumbnails = dict(thumbnails or {})

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
        dx, dy, change = registered_change(last, thumbnail)
        since = self._flash_end(frame, thumbnail)
        if since is None and self._is_cut(change):
            self._begin(frame, last_frame)
            return Sight(memory.scene, None, (0.0, 0.0), change)
        if since is None:
            memory.recent = [*memory.recent[1 - _RECENT :], change]
        height, width = thumbnail.shape
        return Sight(memory.scene, since, (dx / width, dy / height), change)

    def _is_cut(self, change: float) -> bool:
        recent = self.memory.recent
        usual = float(np.mean(recent)) if recent else 0.0
        return change > max(self._level, _SURGE * usual)

    def _begin(self, frame: int, before: int | None) -> None:
        memory = self.memory
        if memory.calm_frame is None or frame - memory.cut_frame > _FLASH_FRAMES:
            memory.calm_frame, memory.calm_scene = before, memory.scene
            memory.cut_frame = frame
        memory.newest_scene += 1
        memory.scene = memory.newest_scene
        memory.recent = []

    def _flash_end(self, frame: int, thumbnail: Thumbnail) -> int | None:
        """First frame of the flash that ends here, if one does."""
        memory = self.memory
        if memory.calm_frame is None:
            return None
        calm = self._thumbnails[memory.calm_frame]
        if frame - memory.cut_frame > _FLASH_FRAMES:
            memory.calm_frame = None
            return None
        if registered_change(calm, thumbnail)[2] > _ALIKE * self._level:
            return None
        memory.calm_frame = None
        memory.scene = memory.calm_scene
        return memory.cut_frame
