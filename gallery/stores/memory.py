"""A store within one process, for files and for a single worker."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from gallery.errors import WindowEnded
from gallery.stores.store import Window

__all__ = ["MemoryStore"]


class MemoryStore:
    """Keeps the log in a list; safe between threads.

    Args:
        lifetime_s: a window ends this long after it began.
        is_renewed: count the lifetime from the last entry instead.
        clock: seconds, never going back.

    >>> store = MemoryStore()
    >>> window = store.open("a" * 32, b"header")
    >>> store.append(window.id, 0, b"first"), store.append(window.id, 0, b"late")
    (True, False)
    >>> store.read(window.id, 0)
    [b'first']
    """

    def __init__(
        self,
        lifetime_s: float = 86_400.0,
        is_renewed: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if lifetime_s <= 0:
            raise ValueError(f"lifetime_s must be positive, got {lifetime_s}")
        self._lifetime_s = lifetime_s
        self._is_renewed = is_renewed
        self._clock = clock
        self._lock = threading.Lock()
        self._window: Window | None = None
        self._entries: list[bytes] = []
        self._ends_at = 0.0

    def open(self, name: str, header: bytes) -> Window:
        """See `Store.open`."""
        with self._lock:
            self._expire()
            if self._window is None:
                self._window = Window(name, header, is_new=False)
                self._ends_at = self._clock() + self._lifetime_s
                return Window(name, header, is_new=True)
            return self._window

    def append(self, window: str, after: int, entry: bytes) -> bool:
        """See `Store.append`."""
        with self._lock:
            self._require(window)
            if len(self._entries) != after:
                return False
            self._entries.append(entry)
            if self._is_renewed:
                self._ends_at = self._clock() + self._lifetime_s
            return True

    def read(self, window: str, after: int, limit: int = 1000) -> list[bytes]:
        """See `Store.read`."""
        with self._lock:
            self._require(window)
            return self._entries[after : after + limit]

    def forget(self, window: str | None = None) -> int:
        """See `Store.forget`."""
        with self._lock:
            self._expire()
            if self._window is None or window not in (None, self._window.id):
                return 0
            self._clear()
            return 1

    def close(self) -> None:
        """See `Store.close`: nothing is held open."""

    def _require(self, window: str) -> None:
        self._expire()
        if self._window is None or self._window.id != window:
            raise WindowEnded("the gallery's window is over; open the store again")

    def _expire(self) -> None:
        if self._window is not None and self._clock() >= self._ends_at:
            self._clear()

    def _clear(self) -> None:
        self._window = None
        self._entries = []
