"""Scene cuts and camera motion, told from tiny grey thumbnails.

Two thumbnails are registered by phase correlation (Kuglin and Hines, 1975) first, so that a
fast pan is not mistaken for a cut; what still differs then, against what differed lately,
decides. A flash looks like a cut and back: when the picture returns to what it was before,
the scene returns too.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["CutDetector", "Sight", "difference", "registration"]

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


class CutDetector:
    """Numbers the scenes of one stream.

    Args:
        cut_level: smallest mean grey difference of a cut.
    """

    def __init__(self, cut_level: float) -> None:
        self._level = cut_level
        self._scene = 0
        self._newest_scene = 0
        self._last: Thumbnail | None = None
        self._recent: deque[float] = deque(maxlen=_RECENT)
        self._before_cut: Thumbnail | None = None
        self._scene_before = 0
        self._cut_frame = 0

    def push(self, frame: int, thumbnail: Thumbnail | None) -> Sight:
        """Look at the next frame; without a thumbnail it belongs to the scene before."""
        last = self._last
        if thumbnail is None:
            return Sight(self._scene, None, (0.0, 0.0), 0.0)
        self._last = thumbnail
        if last is None or last.shape != thumbnail.shape:
            if last is not None:
                self._begin(frame, None)
            return Sight(self._scene, None, (0.0, 0.0), 255.0)
        dx, dy, change = self._compare(last, thumbnail)
        since = self._flash_end(frame, thumbnail)
        if since is None and self._is_cut(change):
            self._begin(frame, last)
            return Sight(self._scene, None, (0.0, 0.0), change)
        if since is None:
            self._recent.append(change)
        height, width = thumbnail.shape
        return Sight(self._scene, since, (dx / width, dy / height), change)

    def _compare(self, last: Thumbnail, thumbnail: Thumbnail) -> tuple[int, int, float]:
        still = difference(last, thumbnail)
        dx, dy, peak = registration(last, thumbnail)
        height, width = thumbnail.shape
        if (
            peak < _SURE_PEAK
            or abs(dx) > _LARGEST_SHIFT * width
            or abs(dy) > _LARGEST_SHIFT * height
        ):
            return 0, 0, still
        moved = difference(last, thumbnail, dx, dy)
        return (dx, dy, moved) if moved < still else (0, 0, still)

    def _is_cut(self, change: float) -> bool:
        usual = float(np.mean(self._recent)) if self._recent else 0.0
        return change > max(self._level, _SURGE * usual)

    def _begin(self, frame: int, before: Thumbnail | None) -> None:
        if self._before_cut is None or frame - self._cut_frame > _FLASH_FRAMES:
            self._before_cut, self._scene_before, self._cut_frame = before, self._scene, frame
        self._newest_scene += 1
        self._scene = self._newest_scene
        self._recent.clear()

    def _flash_end(self, frame: int, thumbnail: Thumbnail) -> int | None:
        """First frame of the flash that ends here, if one does."""
        before = self._before_cut
        if before is None or before.shape != thumbnail.shape:
            return None
        if frame - self._cut_frame > _FLASH_FRAMES or self._scene == self._scene_before:
            self._before_cut = None
            return None
        dx, dy, _ = self._compare(before, thumbnail)
        if difference(before, thumbnail, dx, dy) > _ALIKE * self._level:
            return None
        self._before_cut = None
        self._scene = self._scene_before
        return self._cut_frame
