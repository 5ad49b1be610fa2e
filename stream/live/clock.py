"""Time as the live pipeline sees it, so that tests can turn it by hand."""

from __future__ import annotations

import threading
import time
from typing import Protocol

__all__ = ["Clock", "SystemClock"]


class Clock(Protocol):
    """Monotonic time and a wait that something else can cut short."""

    def now(self) -> float:
        """Monotonic seconds; never goes back, whatever happens to the wall clock."""

    def wait(self, event: threading.Event, timeout_s: float) -> bool:
        """Waits until `event` is set or the time is up; true if it is set."""


class SystemClock:
    """The machine's monotonic clock.

    >>> SystemClock().wait(threading.Event(), 0.0)
    False
    """

    def now(self) -> float:
        """Monotonic seconds."""
        return time.monotonic()

    def wait(self, event: threading.Event, timeout_s: float) -> bool:
        """Waits on the event."""
        return event.wait(max(0.0, timeout_s))
