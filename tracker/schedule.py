"""When the detector runs, and how finely.

The detector is the largest cost; the tracker carries faces over the frames between. What
must hold: no stretch longer than `max_blind_s` without a run, nothing left out while anything
moves fast, and a pass at full scale often enough that a small face which the coarse scale
misses is found while the look-ahead can still cover its first frames.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tracker.clock import StreamClock
from tracker.cuts import CutDetector
from tracker.errors import TrackerSettingsRejected

__all__ = ["DetectionSchedule", "MovingFace", "Pass", "ScheduleSettings", "local_change"]

Pass = Literal["full", "coarse", "skip"]
"""Run at the scale that finds the smallest faces; at a coarse scale; not at all."""

_BLOCKS = (6, 8)
_RECENT = 12
_NOMINAL_S = 1 / 25
_EPSILON_S = 1e-6


@dataclass(frozen=True, slots=True)
class MovingFace:
    """A tracked face as far as the schedule cares.

    Attributes:
        size_px: geometric mean of the box's sides.
        speed_sizes_per_s: speed ÷ size; infinite while not known.
    """

    size_px: float
    speed_sizes_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleSettings:
    """What the schedule may leave out.

    Attributes:
        max_blind_s: longest time between two runs. The default lets one frame out of two
            go at 24 frames a second and more, and none below.
        max_skipped: frames left out in a row in an ordinary scene; 0 runs on every frame.
        max_still_skipped: the same where nothing moves (`max_blind_s` still holds).
        full_every_s: longest time between two passes at full scale. Keep it below the
            tracker's `unsearched_s` and its look-ahead, which cover the time before a small
            face's first detection. Longer: cheaper; small faces are found later.
        full_every_frames: most frames from one full pass to the next, whatever their times
            say. Keep it within the tracker's look-ahead.
        small_px: faces below this size are lost at the coarse scale.
        small_every_s: longest time between full passes while such a face is tracked.
        fast_sizes_per_s: with a face this fast every frame is run.
        lively_change: with a local change of this many grey levels every frame is run.
        still_change: local change below which a scene counts as still.

    Raises:
        TrackerSettingsRejected: a value is negative or not finite.
    """

    max_blind_s: float = 0.085
    max_skipped: int = 1
    max_still_skipped: int = 3
    full_every_s: float = 0.35
    full_every_frames: int = 300
    small_px: float = 24.0
    small_every_s: float = 0.15
    fast_sizes_per_s: float = 3.0
    lively_change: float = 24.0
    still_change: float = 3.0

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if not 0 <= value < math.inf:
                raise TrackerSettingsRejected(
                    f"schedule setting {name} = {value}: choose 0 or more"
                )


def local_change(before: NDArray[np.uint8], after: NDArray[np.uint8]) -> float:
    """Largest mean grey difference of any block of two thumbnails, 0…255.

    A small head that turns in a still scene changes few pixels: the mean over the whole
    picture would not tell.

    Args:
        before: (h, w) uint8 grey.
        after: the same size.

    >>> still = np.zeros((36, 64), dtype=np.uint8)
    >>> moved = still.copy()
    >>> moved[:6, :8] = 90
    >>> local_change(still, moved)
    90.0
    """
    rows, columns = _BLOCKS
    height, width = before.shape[0] // rows * rows, before.shape[1] // columns * columns
    off = np.abs(after.astype(np.int16) - before)
    if not height or not width:
        return float(off.mean()) if off.size else 0.0
    blocks = off[:height, :width].reshape(rows, height // rows, columns, width // columns)
    return float(blocks.mean(axis=(1, 3)).max())


class DetectionSchedule:
    """Decides, frame by frame, whether the detector runs.

    Ask once for every frame, in order, and obey.

    >>> schedule = DetectionSchedule()
    >>> [schedule.decide(index / 25) for index in range(5)]
    ['full', 'skip', 'coarse', 'skip', 'coarse']
    """

    def __init__(self, settings: ScheduleSettings | None = None, cut_level: float = 14.0) -> None:
        self.settings = settings or ScheduleSettings()
        self._cuts = CutDetector(cut_level)
        self._thumbnail: NDArray[np.uint8] | None = None
        self._intervals: deque[float] = deque(maxlen=_RECENT)
        self._frame = 0
        self._scene = 0
        self._clock = StreamClock()
        self._given_s: float | None = None
        self._last_run_s = -math.inf
        self._last_full_s = -math.inf
        self._skipped = 0
        self._since_full = 0

    def decide(
        self,
        time_s: float,
        thumbnail: NDArray[np.uint8] | None = None,
        moving: Sequence[MovingFace] = (),
    ) -> Pass:
        """What to do in the next frame.

        Args:
            time_s: its time; where it does not rise, the detector runs.
            thumbnail: (h, w) uint8 grey, about 64 × 36; without one, only `moving` tells
                of motion.
            moving: the faces tracked so far.
        """
        now_s, step_s = self._tick(time_s)
        change, is_cut = self._look(thumbnail)
        choice = self._choose(now_s, step_s, change, is_cut, moving)
        self._since_full += 1
        if self._since_full >= self.settings.full_every_frames:
            choice = "full"
        if choice == "skip":
            self._skipped += 1
            return choice
        self._skipped, self._last_run_s = 0, now_s
        if choice == "full":
            self._last_full_s, self._since_full = now_s, 0
        return choice

    def fail(self) -> None:
        """The run just decided failed: the next frame is run at full scale."""
        self._last_run_s = self._last_full_s = -math.inf

    def _tick(self, time_s: float) -> tuple[float, float]:
        """The frame's time by a clock that only advances, and how long the next may take.

        That is the longest interval lately; infinite where the time given did not rise.
        """
        given_s, self._given_s = self._given_s, time_s
        before_s, now_s = self._clock.now_s, self._clock.push(time_s)
        if given_s is None:
            return now_s, _NOMINAL_S
        if not time_s > given_s:
            return now_s, math.inf
        self._intervals.append(now_s - before_s)
        return now_s, max(self._intervals)

    def _look(self, thumbnail: NDArray[np.uint8] | None) -> tuple[float, bool]:
        """Local change since the frame before (0 when not known), and whether a cut."""
        before, self._thumbnail = self._thumbnail, thumbnail
        scene = self._cuts.push(self._frame, thumbnail).scene
        self._frame += 1
        is_cut, self._scene = scene != self._scene, scene
        if before is None or thumbnail is None or before.shape != thumbnail.shape:
            return 0.0, is_cut
        return local_change(before, thumbnail), is_cut

    def _choose(
        self,
        time_s: float,
        step_s: float,
        change: float,
        is_cut: bool,
        moving: Sequence[MovingFace],
    ) -> Pass:
        wanted = self.settings
        has_small = any(face.size_px < wanted.small_px for face in moving)
        full_every_s = min(wanted.full_every_s, wanted.small_every_s if has_small else math.inf)
        if is_cut or not time_s + step_s - self._last_full_s <= full_every_s + _EPSILON_S:
            return "full"
        speed = max((face.speed_sizes_per_s for face in moving), default=0.0)
        if speed >= wanted.fast_sizes_per_s or change >= wanted.lively_change:
            return "coarse"
        is_still = self._thumbnail is not None and change < wanted.still_change
        is_still &= speed < wanted.fast_sizes_per_s / 4
        allowed = wanted.max_still_skipped if is_still else wanted.max_skipped
        is_blind_briefly = time_s + step_s - self._last_run_s <= wanted.max_blind_s + _EPSILON_S
        return "skip" if self._skipped < allowed and is_blind_briefly else "coarse"
