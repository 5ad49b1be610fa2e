"""Fair turns at the shared engines, so that a busy stream cannot starve a quiet one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["Turns"]

_CREDIT_S = 1.0


class Turns:
    """Lets at most `permits` streams use the engines at once, the least served one first.

    Service is counted in seconds of use. A stream that was idle does not hoard: when it comes
    back it is ahead of the least served of the others by a second at most.

    Args:
        permits: streams that may work at once; more fills a batch better and shares the
            machine among more threads.
        now: monotonic seconds.

    >>> turns = Turns(permits=1)
    >>> with turns.turn("entrance"):
    ...     pass
    """

    def __init__(self, permits: int, now: Callable[[], float] = time.monotonic) -> None:
        if permits < 1:
            message = f"at least one stream must be able to work, not {permits}"
            raise ValueError(message)
        self.permits = permits
        self._free = permits
        self._now = now
        self._changed = threading.Condition()
        self._served_s: dict[str, float] = {}
        self._waiting: list[str] = []

    @contextmanager
    def turn(self, stream: str) -> Iterator[None]:
        """Waits for a turn, and gives it back with the time it took."""
        self._enter(stream)
        start = self._now()
        try:
            yield
        finally:
            self._leave(stream, self._now() - start)

    def lend(self) -> None:
        """Adds a permit in place of one that a hung call will not give back for a while."""
        with self._changed:
            self._free += 1
            self._changed.notify_all()

    def reclaim(self) -> None:
        """Takes a lent permit back, once the hung call has returned."""
        with self._changed:
            self._free -= 1

    def forget(self, stream: str) -> None:
        """A stream was removed; idempotent."""
        with self._changed:
            self._served_s.pop(stream, None)

    def _enter(self, stream: str) -> None:
        with self._changed:
            others = [self._served_s[name] for name in {*self._waiting} if name != stream]
            floor = min(others, default=0.0) - _CREDIT_S
            self._served_s[stream] = max(self._served_s.get(stream, floor), floor)
            self._waiting.append(stream)
            self._changed.wait_for(lambda: self._free > 0 and self._is_next(stream))
            self._waiting.remove(stream)
            self._free -= 1

    def _is_next(self, stream: str) -> bool:
        served = self._served_s
        return served.get(stream, 0.0) <= min(served.get(name, 0.0) for name in self._waiting)

    def _leave(self, stream: str, used_s: float) -> None:
        with self._changed:
            if stream in self._served_s:
                self._served_s[stream] += used_s
            self._free += 1
            self._changed.notify_all()
