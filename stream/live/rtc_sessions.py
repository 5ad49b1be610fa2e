"""WebRTC sessions: offers checked before the library sees them, places counted, ends certain."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import aioice.ice
from aiortc import RTCConfiguration, RTCIceServer, RTCPeerConnection, RTCSessionDescription

from stream.live.errors import OfferRefused, ViewerRefused
from stream.live.h264_offers import RECEIVED_MODES, offer_in_baseline, with_offered_profiles
from stream.live.offer_sections import offer_to_take, with_refused_sections
from stream.live.trickle import candidates_of_fragment, restarts_ice, with_peers_alone

__all__ = ["RtcSession", "RtcSessions", "check_offer", "limit_ice_addresses"]

_LONGEST_OFFER: Final = 65_536
_MOST_LINES: Final = 2000
_MOST_MEDIA: Final = 4
_MOST_CANDIDATES: Final = 64
_NEEDED: Final = {
    "a=fingerprint:": "the offer has no DTLS fingerprint; unencrypted media is refused",
    "a=ice-ufrag:": "the offer has no ICE credentials (a=ice-ufrag and a=ice-pwd)",
    "a=ice-pwd:": "the offer has no ICE credentials (a=ice-ufrag and a=ice-pwd)",
    "a=rtcp-mux": "the offer keeps RTCP apart; send a=rtcp-mux",
}
"""What lines of an offer must begin with, and what is said where none does."""


@dataclass(slots=True)
class RtcSession:
    """One connection with one browser.

    Attributes:
        id: unguessable; names the session in its address.
        stream: which stream it watches or feeds.
        connection: of the library.
        offer: as it was sent.
        candidates: addresses that came after the offer.
        on_end: run once when the session ends.
    """

    id: str
    stream: str
    connection: RTCPeerConnection
    offer: str = field(default="", repr=False)
    candidates: int = 0
    on_end: Callable[[], None] = lambda: None
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    is_ended: bool = False


Prepare = Callable[[RtcSession], Awaitable[None]]


class RtcSessions:
    """The sessions of one kind (viewers or publishers) of the service; lives on one event loop.

    Args:
        servers: STUN and TURN servers to use; none by default.
        idle_s: a session that is not connected for this long is ended.
        most: places in all.
        modes: packetization modes of H.264 that may be agreed on.
    """

    def __init__(
        self,
        servers: Sequence[RTCIceServer],
        idle_s: float,
        most: int,
        modes: Sequence[str] = RECEIVED_MODES,
    ) -> None:
        self._modes = tuple(modes)
        self._servers = list(servers)
        self._idle_s = idle_s
        self._most = most
        self._sessions: dict[str, RtcSession] = {}

    def count(self, stream: str | None = None) -> int:
        """Sessions of a stream, or of all."""
        return sum(stream in (None, one.stream) for one in self._sessions.values())

    def find(self, session_id: str) -> RtcSession | None:
        """The session of that id."""
        return self._sessions.get(session_id)

    async def begin(self, stream: str, offer: str, prepare: Prepare) -> tuple[RtcSession, str]:
        """Takes an offer and gives the session and its answer.

        Args:
            stream: which stream it belongs to.
            offer: SDP.
            prepare: adds tracks or bounds queues, after the offer is set.

        Raises:
            OfferRefused: malformed, or nothing in common.
            ViewerRefused: every place is taken.
        """
        check_offer(offer)
        if len(self._sessions) >= self._most:
            raise ViewerRefused("every place is taken; try again in a moment")
        connection = RTCPeerConnection(RTCConfiguration(iceServers=self._servers))
        session = RtcSession(secrets.token_urlsafe(18), stream, connection, offer)
        self._sessions[session.id] = session
        try:
            answer = await self._answered(session, offer, prepare)
        except BaseException as error:
            await self.end(session)
            if isinstance(error, OfferRefused | ViewerRefused | asyncio.CancelledError):
                raise
            raise OfferRefused("the offer cannot be answered; send video in VP8 or H.264") from None
        self._watch(session)
        return session, answer

    async def add_candidates(self, session: RtcSession, fragment: str) -> bool:
        """Takes the addresses of a fragment into a session.

        Returns:
            False where the fragment asks for a restart of ICE, which is not done.

        Raises:
            OfferRefused: it is malformed, or the session has got too many.
        """
        if restarts_ice(fragment, session.offer):
            return False
        found = candidates_of_fragment(fragment)
        session.candidates += len(found)
        if session.candidates > _MOST_CANDIDATES:
            raise OfferRefused("the session has got too many candidates")
        for candidate in found:
            with suppress(ValueError):  # of a section that was not offered
                await session.connection.addIceCandidate(candidate)
        return True

    async def end(self, session: RtcSession) -> None:
        """Ends a session and waits until its workers have left; idempotent."""
        if session.is_ended:
            return
        session.is_ended = True
        self._sessions.pop(session.id, None)
        session.on_end()
        current = asyncio.current_task()
        tasks = [task for task in session.tasks if task is not current]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with suppress(Exception):
            await asyncio.wait_for(session.connection.close(), 5.0)

    async def end_all(self, stream: str | None = None) -> None:
        """Ends the sessions of a stream, or all."""
        chosen = [one for one in self._sessions.values() if stream in (None, one.stream)]
        await asyncio.gather(*(self.end(session) for session in chosen))

    async def _answered(self, session: RtcSession, offer: str, prepare: Prepare) -> str:
        connection = session.connection
        plain, profiles = offer_in_baseline(offer_to_take(offer), self._modes)
        plain = with_peers_alone(plain)
        await connection.setRemoteDescription(RTCSessionDescription(plain, "offer"))
        await prepare(session)
        await connection.setLocalDescription(await connection.createAnswer())
        answer = with_offered_profiles(str(connection.localDescription.sdp), profiles)
        return with_refused_sections(answer, offer)

    def _watch(self, session: RtcSession) -> None:
        task = asyncio.create_task(self._end_when_idle(session), name=f"rtc-{session.stream}")
        session.tasks.add(task)
        task.add_done_callback(session.tasks.discard)

    async def _end_when_idle(self, session: RtcSession) -> None:
        changed = asyncio.Event()
        session.connection.on("connectionstatechange", changed.set)
        while session.connection.connectionState not in ("closed", "failed"):
            is_up = session.connection.connectionState == "connected"
            changed.clear()
            try:
                await asyncio.wait_for(changed.wait(), None if is_up else self._idle_s)
            except TimeoutError:
                break
        await self.end(session)


def check_offer(offer: str) -> None:
    r"""Refuses what no browser sends, before a parser sees it.

    >>> check_offer("v=0\r\nm=video 9 UDP/TLS/RTP/SAVPF 96\r\n")
    Traceback (most recent call last):
    ...
    stream.live.errors.OfferRefused: the offer has no DTLS fingerprint; unencrypted media is refused

    Raises:
        OfferRefused: too long, not SDP, or without what every connection needs.
    """
    lines = offer.splitlines()
    if len(offer) > _LONGEST_OFFER or len(lines) > _MOST_LINES:
        raise OfferRefused("the offer is longer than any browser's")
    if not lines or lines[0].strip() != "v=0" or "\x00" in offer:
        raise OfferRefused("the body is no SDP; send an offer with Content-Type application/sdp")
    media = [line for line in lines if line.startswith("m=")]
    if not 1 <= len(media) <= _MOST_MEDIA or not any(m.startswith("m=video") for m in media):
        raise OfferRefused("the offer must hold a video section and few others")
    for start, refusal in _NEEDED.items():
        if not any(line.startswith(start) for line in lines):
            raise OfferRefused(refusal)
    if sum(line.startswith("a=candidate:") for line in lines) > _MOST_CANDIDATES:
        raise OfferRefused("the offer has too many candidates")


def limit_ice_addresses(addresses: Sequence[str]) -> None:
    """Offers these addresses of the machine alone, loopback included; for the whole process.

    The library offers every address but loopback and has no setting for it.

    Args:
        addresses: empty leaves the library's choice.
    """
    if not addresses:
        return
    chosen = list(addresses)

    def host_addresses(use_ipv4: bool, use_ipv6: bool) -> list[str]:
        return [one for one in chosen if (":" in one and use_ipv6) or (":" not in one and use_ipv4)]

    aioice.ice.get_host_addresses = host_addresses
