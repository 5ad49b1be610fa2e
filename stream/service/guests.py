"""Who watches or publishes by WebRTC, and by whose token: nobody stays who would not be let in."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection
from typing import Final

import structlog

from config.service import Role
from stream.live.errors import ViewerRefused
from stream.live.rtc_sessions import Prepare, RtcSession, RtcSessions
from stream.service.errors import StreamConflict
from stream.service.places import Place, Places
from stream.service.tokens import Holder, TokenBook

__all__ = ["TAKEN_AWAY", "Guests"]

TAKEN_AWAY: Final = "the stream was stopped or exchanged meanwhile; try again"
_LOG = structlog.get_logger("kveil.guests")


class Guests:
    """The sessions of one kind and their holders; lives on one event loop.

    Args:
        sessions: of the viewers or of the publishers.
        role: what their tokens have to allow; names them in logs.
        places: of which each session takes one.
        most_waiting: sessions that one token may have which are not connected yet: whoever holds
            it cannot take every place with offers that lead nowhere.

    Attributes:
        sessions: the same; whoever ends one there ends it here.
    """

    def __init__(
        self, sessions: RtcSessions, role: Role, places: Places, most_waiting: int = 8
    ) -> None:
        self._places = places
        self._most_waiting = most_waiting
        self.sessions = sessions
        self._role = role
        self._present: dict[str, tuple[RtcSession, Place]] = {}
        self._coming: Counter[str] = Counter()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def begin(
        self, stream: str, offer: str, prepare: Prepare, holder: Holder
    ) -> tuple[RtcSession, str]:
        """Takes an offer and gives the session and its answer; see `RtcSessions.begin`.

        Raises:
            OfferRefused: malformed, or nothing in common.
            ViewerRefused: every place is taken, or every one that this holder may have, or
                it waits for too many.
            StreamConflict: the stream was taken away meanwhile.
        """
        self._loop = asyncio.get_running_loop()
        if self._waiting(holder) >= self._most_waiting:
            who = "token" if holder.sha256 else "address"
            raise ViewerRefused(
                f"this {who} has {self._most_waiting} sessions that are not connected yet; "
                "wait until they are, or have ended"
            )
        place = self._places.take(stream, holder)
        self._coming[holder.key] += 1
        try:
            session, answer = await self.sessions.begin(stream, offer, prepare)
            if session.is_ended:
                raise StreamConflict(TAKEN_AWAY)
        except BaseException:
            place.release()
            raise
        finally:
            self._coming[holder.key] -= 1
        self._register(session, place)
        return session, answer

    def _waiting(self, holder: Holder) -> int:
        """Sessions of a token that have been answered and are not connected, or will be."""
        return self._coming[holder.key] + sum(
            place.holder.key == holder.key and session.connection.connectionState != "connected"
            for session, place in self._present.values()
        )

    async def end_strangers(self, tokens: TokenBook) -> None:
        """Ends the sessions whose token is gone, has expired, or allows less than before."""
        strangers = [
            session
            for session, place in self._present.values()
            if not tokens.stands(place.holder, self._role)
        ]
        await asyncio.gather(*(self.sessions.end(session) for session in strangers))

    def end_soon(self, streams: Collection[str], tokens: TokenBook) -> None:
        """Ends the sessions of those streams, and the strangers; from any thread, not waited for.

        Args:
            streams: names of streams that were taken away.
            tokens: in force.
        """
        if self._loop is not None and self._loop.is_running():
            asyncio.run_coroutine_threadsafe(self._end_touched(streams, tokens), self._loop)

    async def _end_touched(self, streams: Collection[str], tokens: TokenBook) -> None:
        await self.end_strangers(tokens)
        await asyncio.gather(*(self.sessions.end_all(name) for name in streams))

    def _register(self, session: RtcSession, place: Place) -> None:
        before = session.on_end

        def end() -> None:
            self._present.pop(session.id, None)
            place.release()
            before()
            self._tell("left", session.stream, place.holder)

        session.on_end = end
        self._present[session.id] = (session, place)
        self._tell("joined", session.stream, place.holder)

    def _tell(self, what: str, stream: str, holder: Holder) -> None:
        count = self.sessions.count(stream)
        _LOG.info(f"{self._role}_{what}", stream=stream, holder=holder.name, count=count)
