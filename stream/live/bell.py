"""Wakes a coroutine from another thread."""

from __future__ import annotations

import asyncio
from contextlib import suppress

__all__ = ["Bell"]


class Bell:
    """One coroutine waits, anybody rings; a ring that nobody waits for is kept for the next wait.

    Args:
        loop: of the coroutine.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._rung = asyncio.Event()

    async def wait(self) -> None:
        """Waits for the next ring, or returns at once if there was one since."""
        await self._rung.wait()
        self._rung.clear()

    def ring(self) -> None:
        """From any thread."""
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._rung.set)
