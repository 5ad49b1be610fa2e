"""What a stream does when the engines cannot keep up: less work in a stated order.

Coarser detection first, then rarer detection, then covers instead of swaps. Each step saves
work and none bares a face: a thorough search falls into every look-ahead, whatever the load,
and covers the frames still held back; a cover is the cheapest picture of all.

A step back up that fails costs the viewers seconds of drops, so each failure doubles the time
until the next attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.detectors.multiscale import DetectionPlan
from engines.types import Frame, Track
from stream.files.report import ClusterCounts
from stream.finding.finding import Plans, Scale
from stream.pipeline.anonymizer import Closable
from stream.pipeline.replacement import AheadReplacer, FaceReplacer, Replacement
from stream.swap.track_embedding import FacesAhead, Foresighted
from tracker.schedule import DetectionSchedule, MovingFace, Pass, ScheduleSettings

__all__ = ["Effort", "Overload", "SheddingReplacer", "SheddingSchedule", "shedding_plans"]

_SMOOTHING: Final = 1 / 45
_HIGH: Final = 0.12
_LOW: Final = 0.05
_LONGEST_PATIENCE: Final = 32
"""Waits before a step up grow to so many times the first."""


class Effort(IntEnum):
    """How much is done; each step keeps the savings of those before."""

    FULL = 0
    """Everything as the settings say."""
    COARSE = 1
    """Thorough searches once per look-ahead and no oftener; large faces sought at half scale."""
    SPARSE = 2
    """Besides, every second frame is carried by the tracker."""
    COVER = 3
    """Besides, faces are covered instead of swapped."""


class Overload:
    """Chooses the effort from how many frames came late.

    Late frames make the detection coarser and rarer. Only frames that are lost, or nearly so,
    make covers of swaps: a face a little later is worth more than none.

    Args:
        is_on: false keeps full effort.
        worse_s: least time between two steps down in effort.
        better_s: least time without trouble before a step up, doubled by each step up that
            did not last; larger flickers less.

    >>> overload = Overload(worse_s=1.0)
    >>> for tenth in range(40):
    ...     effort = overload.observe(True, tenth / 10)
    >>> effort.name
    'COVER'
    """

    def __init__(self, *, is_on: bool = True, worse_s: float = 2.0, better_s: float = 10.0) -> None:
        self._is_on = is_on
        self._worse_s = worse_s
        self._better_s = better_s
        self._patience_s = better_s
        self._rose_s: float | None = None
        self._late_share = self._lost_share = 0.0
        self._changed_s: float | None = None
        self.effort = Effort.FULL

    def observe(self, is_late: bool, now_s: float, *, is_lost: bool | None = None) -> Effort:
        """Told of each frame whether it was late or had to drop another.

        Args:
            is_late: it left later than allowed, or the frame before it was dropped.
            now_s: monotonic s.
            is_lost: the frame before it was dropped, or it left far too late; as `is_late`
                if left out.
        """
        self._late_share += _SMOOTHING * (is_late - self._late_share)
        is_lost = is_late if is_lost is None else is_lost
        self._lost_share += _SMOOTHING * (is_lost - self._lost_share)
        if self._changed_s is None:
            self._changed_s = now_s
        waited_s = now_s - self._changed_s
        if not self._is_on:
            return self.effort
        against = self._lost_share if self.effort >= Effort.SPARSE else self._late_share
        upward = self._lost_share if self.effort == Effort.COVER else self._late_share
        if against > _HIGH and waited_s >= self._worse_s:
            self._sink(now_s)
        elif upward < _LOW and waited_s >= self._patience_s:
            self._rise(now_s)
        return self.effort

    def _sink(self, now_s: float) -> None:
        if self._rose_s is not None and now_s - self._rose_s < self._patience_s:
            longest_s = _LONGEST_PATIENCE * self._better_s
            self._patience_s, self._rose_s = min(2 * self._patience_s, longest_s), None
        self.effort, self._changed_s = Effort(min(Effort.COVER, self.effort + 1)), now_s
        self._late_share = self._lost_share = (
            0.0  # what was late before says nothing of the lower effort
        )

    def _rise(self, now_s: float) -> None:
        if self._rose_s is not None:
            self._patience_s = max(self._better_s, self._patience_s / 2)
        if self.effort > Effort.FULL:
            self._rose_s = now_s
        self.effort, self._changed_s = Effort(max(Effort.FULL, self.effort - 1)), now_s


class SheddingSchedule(DetectionSchedule):
    """A schedule that does less while there is an overload, and never too little.

    A face that only a thorough search finds is covered from its first frame on as long as
    that search comes before this frame leaves: one in every look-ahead.

    Args:
        settings: what is done otherwise.
        overload: tells the effort.
        lookahead_frames: frames that are held back; so many may pass between two thorough
            searches.
    """

    def __init__(
        self, settings: ScheduleSettings, overload: Overload, lookahead_frames: int
    ) -> None:
        super().__init__(settings)
        self._overload = overload
        self._most_unsearched = max(0, lookahead_frames - 1)
        self._was_skipped = False
        self._must_run = False
        self.unsearched = self._most_unsearched
        """Newest frames that no thorough search has followed; at first, as many as may be."""

    def decide(
        self,
        time_s: float,
        thumbnail: NDArray[np.uint8] | None = None,
        moving: Sequence[MovingFace] = (),
    ) -> Pass:
        """What to do in the next frame."""
        choice = super().decide(time_s, thumbnail, moving)
        if self.unsearched >= self._most_unsearched:
            choice = "full"
        elif not self._must_run:
            choice = self._shed(choice)
        elif choice == "skip":
            choice = "coarse"
        self._must_run, self._was_skipped = False, choice == "skip"
        self.unsearched = 0 if choice == "full" else self.unsearched + 1
        return choice

    def fail(self) -> None:
        """The run just decided failed: the next frame is run."""
        self._must_run = True
        self.unsearched = self._most_unsearched
        super().fail()

    def _shed(self, choice: Pass) -> Pass:
        if choice == "full" and self._overload.effort >= Effort.COARSE:
            choice = "coarse"
        if self._overload.effort >= Effort.SPARSE and choice == "coarse" and not self._was_skipped:
            choice = "skip"
        return choice


def shedding_plans(plans: Plans, overload: Overload) -> Plans:
    """Scales of the searches, of which those for large faces are smaller under an overload.

    They take the smallest scale that the thorough search takes anyway, so that no further
    network is compiled when the machine has the least time for it.

    Args:
        plans: what is searched otherwise.
        overload: tells the effort.
    """

    def chosen(height: int, width: int) -> Mapping[Scale, DetectionPlan]:
        usual = plans(height, width)
        smallest_px = min(usual["full"].also_px, default=usual["near"].long_side_px)
        if overload.effort < Effort.COARSE or smallest_px >= usual["near"].long_side_px:
            return usual
        return {**usual, "near": DetectionPlan(smallest_px, max_upscale=1.5)}

    return chosen


class SheddingReplacer:
    """Covers instead of swapping while there is no other way to keep up.

    Args:
        inner: makes the surrogates; begun ahead where it can be, and closed with this.
        overload: tells the effort.
    """

    def __init__(self, inner: FaceReplacer, overload: Overload) -> None:
        self._inner = inner
        self._early = inner if isinstance(inner, AheadReplacer) else None
        self._overload = overload

    @property
    def ahead(self) -> int:
        """Frames begun before the first is completed; none for covers, which are there at once."""
        return 0 if self._must_cover or self._early is None else self._early.ahead

    def foresee(self, ahead: FacesAhead) -> None:
        """Passes the way to look ahead on."""
        if isinstance(self._inner, Foresighted):
            self._inner.foresee(ahead)

    def begin(self, frame: Frame, tracks: Sequence[Track]) -> Callable[[], Replacement]:
        """Begins on a frame as the inner one would, or covers it.

        Raises:
            EngineFault: nothing could be made; what is given may raise it as well.
        """
        if self._must_cover:
            return partial(Replacement, causes={track.id: "overload" for track in tracks})
        if self._early is None:
            return partial(self._inner.replace, frame, tracks)
        return self._early.begin(frame, tracks)

    def replace(self, frame: Frame, tracks: Sequence[Track]) -> Replacement:
        """Patches for the tracks, or none at all."""
        return self.begin(frame, tracks)()

    def counts(self) -> ClusterCounts:
        """Clusters used so far."""
        return self._inner.counts()

    def close(self) -> None:
        """Closes the inner one; idempotent."""
        if isinstance(self._inner, Closable):
            self._inner.close()

    @property
    def _must_cover(self) -> bool:
        return self._overload.effort >= Effort.COVER
