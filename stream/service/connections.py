"""Connections of the web server, none of which can stay without asking for something.

A client that connects and is silent, sends a request's head or body drop by drop, or does not read
its answer, would otherwise hold a place for ever, and a few hundred of them the whole service.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

__all__ = ["ConnectionBounds", "bounded_protocol"]

_UNKNOWN: Final = "unknown"


@dataclass(frozen=True, slots=True)
class ConnectionBounds:
    """What one server bears.

    Attributes:
        per_address: connections of one address, of which those that wait make room for others;
            a reverse proxy's clients share its.
        waiting: connections of all without a complete request; the oldest goes first.
        head_s: from the first byte that could be sent to the complete head of a request.
        unread_s: for how long a client may leave its answer unread.
    """

    per_address: int = 256
    waiting: int = 256
    head_s: float = 10.0
    unread_s: float = 20.0


@dataclass(slots=True)
class _Present:
    """Who is connected to one server; lives on its event loop."""

    by_address: Counter[str] = field(default_factory=Counter)
    waiting: dict[asyncio.Protocol, None] = field(default_factory=dict)


def bounded_protocol(bounds: ConnectionBounds | None = None) -> type[H11Protocol]:
    """The protocol of one server's connections."""
    held, present = bounds or ConnectionBounds(), _Present()

    class BoundedProtocol(H11Protocol):
        """HTTP/1.1 within bounds of time and number."""

        _late: asyncio.TimerHandle | None = None
        _unread: asyncio.TimerHandle | None = None
        _address = _UNKNOWN
        _is_counted = False

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._address = self.client[0] if self.client else _UNKNOWN
            present.by_address[self._address] += 1
            self._is_counted = True
            if present.by_address[self._address] > held.per_address and not self._makes_room():
                transport.abort()
                return
            self._look()

        def _makes_room(self) -> bool:
            """Cuts off the oldest of the same address that waits; false where all are at work."""
            for other in present.waiting:
                assert isinstance(other, BoundedProtocol)
                if other.client and other.client[0] == self._address:
                    other.stop_waiting()
                    other.transport.abort()
                    return True
            return False

        def connection_lost(self, exc: Exception | None) -> None:
            if self._is_counted:
                self._is_counted = False
                present.by_address[self._address] -= 1
                if present.by_address[self._address] <= 0:
                    del present.by_address[self._address]
            self.stop_waiting()
            self._read_on()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._look()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._look()

        def pause_writing(self) -> None:
            super().pause_writing()
            if self._unread is None:
                self._unread = self.loop.call_later(held.unread_s, self.transport.abort)

        def resume_writing(self) -> None:
            self._read_on()
            super().resume_writing()

        def _look(self) -> None:
            """Begins or ends the time within which the client has to say something whole."""
            if self.transport.is_closing() or not self._is_owed():
                self.stop_waiting()
            elif self._late is None:
                self._late = self.loop.call_later(held.head_s, self.transport.abort)
                present.waiting[self] = None
                if len(present.waiting) > held.waiting:
                    oldest = next(iter(present.waiting))
                    assert isinstance(oldest, BoundedProtocol)
                    oldest.stop_waiting()
                    oldest.transport.abort()

        def _is_owed(self) -> bool:
            """Whether the client, not the service, has the next word."""
            cycle: RequestResponseCycle | None = self.cycle  # None before the first request
            is_answered = cycle is None or cycle.response_complete
            theirs = self.conn.their_state
            return theirs is h11.IDLE or (theirs is h11.SEND_BODY and is_answered)

        def stop_waiting(self) -> None:
            """Ends the time that runs; idempotent."""
            present.waiting.pop(self, None)
            if self._late is not None:
                self._late.cancel()
                self._late = None

        def _read_on(self) -> None:
            if self._unread is not None:
                self._unread.cancel()
                self._unread = None

    return BoundedProtocol
