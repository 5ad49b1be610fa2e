"""What a store must do: keep one ordered log, shared by workers, for one window of time.

Everything that workers share is that log. A worker may append an entry only if it has seen all
earlier ones (compare and append), so two workers that race never decide on different knowledge:
one of them is told that it is behind, catches up and decides anew. Nothing else needs a lock.

Stores see sealed bytes alone, and forget a window as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

__all__ = ["Store", "Window"]


@dataclass(frozen=True, slots=True)
class Window:
    """One stretch of time in which people stay known.

    Attributes:
        id: random name, 32 hex digits.
        header: sealed bytes that whoever opened the window chose.
        is_new: this very call opened it.
    """

    id: str
    header: bytes
    is_new: bool


class Store(Protocol):
    """One contract; `tests/gallery/test_stores.py` runs it over every store."""

    def open(self, name: str, header: bytes) -> Window:
        """The present window; begun with this name (its id) and header where there is none.

        A store that lost any entry of the present window since it began (a restart, a
        failover, an eviction) must begin a new one.

        Raises:
            StoreUnavailable: lost, slow, full or failing.
        """
        ...

    def append(self, window: str, after: int, entry: bytes) -> bool:
        """Append as entry `after` + 1, if the last one is `after`.

        Returns:
            False where others appended meanwhile: read on, decide again.

        Raises:
            WindowEnded: another window has begun, or none is there.
            StoreUnavailable: lost, slow, full or failing; the entry may or may not be there.
        """
        ...

    def read(self, window: str, after: int, limit: int = 1000) -> list[bytes]:
        """Up to `limit` entries from number `after` + 1 on, in order; empty at the end.

        Raises:
            WindowEnded: another window has begun, or none is there.
            StoreUnavailable: lost, slow or failing.
        """
        ...

    def forget(self, window: str | None = None) -> int:
        """Delete that window if it is the present one; None deletes whatever is there.

        Returns:
            How many keys were deleted.

        Raises:
            StoreUnavailable: lost, slow or failing.
        """
        ...

    def close(self) -> None:
        """Give back what is held open; whoever shares the store loses nothing by it."""
        ...
