"""The output of a stream: composites as they come, and a slate when none do."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from engines.blending.compositor import Composite
from stream.live.clock import Clock
from stream.live.counters import Counters
from stream.live.sound import Ear, SoundShelf
from stream.live.timeline import Timeline

__all__ = ["NO_SIGNAL", "Outlet", "Output", "SlateMaker"]

_PATIENCE = 4.0
_LEAST_STEP = 90
NO_SIGNAL = "no signal"
"""Cause of a slate, by which it is told from pictures."""
SlateMaker = Callable[[int, int, int], Composite]
"""Makes a slate of height × width pixels at a number of ticks of `TICKS`."""


class Outlet(Protocol):
    """Whoever takes the finished pictures of a stream: its encoders, previews."""

    def offer(self, composite: Composite) -> None:
        """Takes one composite without blocking; drops an older one when it is behind."""


class Output:
    """Hands composites to every outlet, and fills silence with slates so that none starves.

    Pictures leave in strictly increasing time; one that is older than what has left is dropped
    and counted. Only composites pass: there is no way in for a decoded frame.

    Args:
        timeline: of the stream, for the time of slates.
        make_slate: draws a slate.
        shape: height and width of slates before the first picture, px.
        hold_s: silence after which slates begin; at least the look-ahead plus a few frames.
            A source slower than that is given four of its own frame intervals.
        slate_fps: slates per second.
        clock: time.
        counters: gets pictures, slates and late drops.
        shelf: where sound waits for the picture of its time; None for a stream without.
    """

    def __init__(
        self,
        timeline: Timeline,
        make_slate: SlateMaker,
        shape: tuple[int, int],
        hold_s: float,
        slate_fps: float,
        clock: Clock,
        counters: Counters,
        shelf: SoundShelf | None = None,
    ) -> None:
        self._shelf = shelf
        self._ears: tuple[Ear, ...] = ()
        self._timeline = timeline
        self._make_slate = make_slate
        self._shape = shape
        self._hold_s = hold_s
        self._slate_every_s = 1.0 / slate_fps
        self._clock = clock
        self._counters = counters
        self._lock = threading.Lock()
        self._outlets: tuple[Outlet, ...] = ()
        self._last_pts = -1
        self._last_picture_s = clock.now()
        self._last_slate_s = -1e9
        self._latency_s = 0.0
        self._interval_s = 0.0

    @property
    def is_on_slate(self) -> bool:
        """Slates are leaving instead of pictures."""
        return self._last_slate_s > self._last_picture_s

    def add(self, outlet: Outlet) -> None:
        """From now on `outlet` gets every picture."""
        with self._lock:
            self._outlets = (*self._outlets, outlet)

    def remove(self, outlet: Outlet) -> None:
        """`outlet` gets no more pictures; idempotent."""
        with self._lock:
            self._outlets = tuple(item for item in self._outlets if item is not outlet)

    def add_ear(self, ear: Ear) -> None:
        """From now on `ear` gets the sound, before each picture."""
        with self._lock:
            self._ears = (*self._ears, ear)

    def remove_ear(self, ear: Ear) -> None:
        """`ear` gets no more sound; idempotent."""
        with self._lock:
            self._ears = tuple(item for item in self._ears if item is not ear)

    def put(self, composite: Composite, latency_s: float) -> None:
        """Hands over one anonymized picture.

        Args:
            composite: on the stream's timeline.
            latency_s: since it was decoded, s.
        """
        with self._lock:
            # Slates keep behind pictures by this much, or none of them would ever be in time.
            self._latency_s = latency_s
            if composite.pts <= self._last_pts:
                self._counters.add("dropped_late")
                return
            now_s = self._clock.now()
            self._shape = (composite.picture.height, composite.picture.width)
            if not self.is_on_slate:
                self._interval_s += 0.2 * (now_s - self._last_picture_s - self._interval_s)
            self._last_picture_s = now_s
            self._counters.departed(now_s, latency_s)
            self._hand_over(composite)

    def tick(self) -> None:
        """Hands over a slate if pictures have stayed away and one is due."""
        with self._lock:
            now_s = self._clock.now()
            hold_s = max(self._hold_s, _PATIENCE * self._interval_s)
            is_silent = now_s - self._last_picture_s > hold_s
            if not is_silent or now_s - self._last_slate_s < self._slate_every_s:
                return
            self._last_slate_s = now_s
            shown_s = now_s - max(self._latency_s, self._hold_s)
            ticks = max(self._last_pts + _LEAST_STEP, self._timeline.peek(shown_s))
            self._counters.departed(now_s, None)
            self._hand_over(self._make_slate(*self._shape, ticks))

    def _hand_over(self, composite: Composite) -> None:
        self._last_pts = composite.pts
        if self._shelf is not None:
            until_s = float(composite.pts * composite.time_base)
            sounds = self._shelf.take(until_s)
            for ear in self._ears:
                ear.hear(sounds, until_s)
        for outlet in self._outlets:
            outlet.offer(composite)
