"""How often faces change between a surrogate and a cover: each time, somebody sees it."""

from __future__ import annotations

from collections import Counter

from engines.blending.compositor import Composite

__all__ = ["SwitchCount"]


class SwitchCount:
    """Counts over the composites of one stream; remembers the last one's faces alone.

    Attributes:
        by_cause: changes so far, of tracks that were in both of two frames after each other, by
            why the face was covered in one of them.
    """

    def __init__(self) -> None:
        self.by_cause: Counter[str] = Counter()
        self._last: dict[int, str] = {}

    def add(self, composite: Composite) -> None:
        """Takes the next frame."""
        now = {one.track: one.cause for one in composite.outcomes}
        for track, was in self._last.items():
            cause = now.get(track, was)
            if bool(cause) != bool(was):
                self.by_cause[cause or was] += 1
        self._last = now

    def new_run(self) -> None:
        """Track numbers start over."""
        self._last.clear()
