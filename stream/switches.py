"""How often faces change between a surrogate and a cover: each time, somebody sees it."""

from __future__ import annotations

from engines.compositor import Composite

__all__ = ["SwitchCount"]


class SwitchCount:
    """Counts over the composites of one stream; remembers the last one's faces alone.

    Attributes:
        total: changes so far, of tracks that were in both of two frames after each other.
    """

    def __init__(self) -> None:
        self.total = 0
        self._last: dict[int, str] = {}

    def add(self, composite: Composite) -> None:
        """Takes the next frame."""
        now = {one.track: one.result for one in composite.outcomes}
        self.total += sum(now.get(track, was) != was for track, was in self._last.items())
        self._last = dict(now)

    def new_run(self) -> None:
        """Track numbers start over."""
        self._last.clear()
