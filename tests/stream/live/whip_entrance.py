"""A publisher's way in, as the service opens it."""

from __future__ import annotations

import asyncio

from stream.live.clock import SystemClock
from stream.live.counters import Counters
from stream.live.rtc_sessions import RtcSessions
from stream.live.whip import WhipEntrance

__all__ = ["answer_to"]


def answer_to(text: str) -> str:
    """What an offer is answered; the session ends at once.

    Raises:
        OfferRefused: it is not.
    """

    async def ask() -> str:
        sessions = RtcSessions([], idle_s=5.0, most=1)
        entrance = WhipEntrance(Counters(), 2, 10**6, SystemClock())
        session, answer = await sessions.begin("desk", text, entrance.receive_from)
        await sessions.end(session)
        return answer

    return asyncio.run(ask())
