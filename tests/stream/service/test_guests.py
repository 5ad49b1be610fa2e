from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Literal

import httpx
import pytest
from aiortc import RTCPeerConnection
from structlog.testing import capture_logs

from config.service import Access, ServiceSettings, TokenSpec
from stream.live.rtc_sessions import RtcSession, RtcSessions
from stream.service import app
from stream.service.errors import StreamConflict
from stream.service.guests import Guests
from stream.service.places import Places
from stream.service.tokens import Holder, TokenBook
from tests.stream.service.service_bench import running_service, talk, tokens, whip_stream
from tests.stream.service.watching import join, offer_of, until

pytestmark = pytest.mark.unit
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def settings() -> ServiceSettings:
    return ServiceSettings(access=tokens(), streams=(whip_stream(),))


def test_who_comes_and_goes_is_logged_by_the_name_of_the_token() -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        assert (await join(client, "whep", "desk", "viewer")).status_code == 201
        made = await join(client, "whip", "desk", "publisher")
        assert (await client.delete(made.headers["location"])).status_code == 200
        await service.context.viewers.sessions.end_all()

    with running_service(settings()) as service, capture_logs() as told:
        talk(service, conversation)
    seen = [
        (one["event"], one["holder"], one["count"])
        for one in told
        if one["event"].startswith(("viewer_", "publisher_"))
    ]
    assert seen == [
        ("viewer_joined", "viewer", 1),
        ("publisher_joined", "publisher", 1),
        ("publisher_left", "publisher", 0),
        ("viewer_left", "viewer", 0),
    ]


def test_viewer_is_sent_away_when_the_token_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "_LOOK_S", 0.01)
    now = [NOON]
    specs = [
        TokenSpec.model_validate(one.model_dump() | {"expires": NOON + timedelta(hours=1)})
        for one in tokens().tokens
    ]

    async def conversation(client: httpx.AsyncClient) -> None:
        context = service.context
        context.tokens = TokenBook(specs, lambda: now[0])
        attendance = asyncio.create_task(app._attend(context))
        assert (await join(client, "whep", "desk", "viewer")).status_code == 201
        assert (await join(client, "whip", "desk", "publisher")).status_code == 201
        await context.send_strangers_away()
        kinds = (context.viewers.sessions, context.publishers.sessions)
        assert [kind.count() for kind in kinds] == [1, 1]
        now[0] += timedelta(hours=2)
        assert await until(
            lambda: context.viewers.sessions.count() + context.publishers.sessions.count() == 0
        )
        attendance.cancel()

    with running_service(settings()) as service:
        talk(service, conversation)


@pytest.mark.parametrize(
    ("kept", "role", "stands"),
    [
        ("viewer", "viewer", True),
        ("viewer", "publisher", False),
        ("operator", "viewer", False),
        (None, "viewer", False),
    ],
)
def test_right_that_was_taken_away_no_longer_stands(
    kept: str | None, role: Literal["viewer", "publisher"], stands: bool
) -> None:
    viewer, other = tokens().tokens[0], tokens().tokens[2]
    book = TokenBook([viewer] if kept == "viewer" else [other])
    holder = Holder("viewer", "viewer", viewer.sha256) if kept else Holder("everyone", "operator")
    assert book.stands(holder, role) is stands
    assert TokenBook([]).stands(holder, role)


def test_first_use_of_an_expired_token_is_logged_with_its_holder() -> None:
    spec = tokens().tokens[0].model_dump() | {"expires": NOON}
    book = TokenBook([TokenSpec.model_validate(spec)], lambda: NOON)
    with capture_logs() as told:
        for _ in range(3):
            with pytest.raises(Exception, match="no longer"):
                book.holder("Bearer kv_viewer", "viewer")
    assert [(one["event"], one["holder"]) for one in told] == [("token_expired", "viewer")]


def test_session_that_ended_while_it_began_is_refused() -> None:
    async def check() -> None:
        sessions = RtcSessions([], idle_s=5.0, most=1)
        guests = Guests(sessions, "viewer", Places("viewers", 1, 1))

        async def taken_away(session: RtcSession) -> None:
            session.is_ended = True

        async with offer_of("whep") as offer:
            with pytest.raises(StreamConflict, match="meanwhile"):
                await guests.begin("desk", offer, taken_away, Holder("viewer", "viewer"))
        session = next(iter(sessions._sessions.values()))
        session.is_ended = False
        await sessions.end(session)
        assert guests._places.count() == 0

    asyncio.run(check())


def test_viewer_of_a_stream_that_is_removed_meanwhile_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        monkeypatch.setattr(service.context.fleet, "has", lambda running: False)
        for kind, role in (("whep", "viewer"), ("whip", "publisher")):
            assert (await join(client, kind, "desk", role)).status_code == 409
        assert (
            service.context.viewers.sessions.count() + service.context.publishers.sessions.count()
            == 0
        )

    with running_service(settings()) as service:
        talk(service, conversation)


def test_token_cannot_take_every_place_with_offers_that_never_connect() -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        answers = [(await join(client, "whep", "desk", "viewer")).status_code for _ in range(8)]
        assert answers.count(201) == 4
        assert set(answers[4:]) == {503}
        assert (await join(client, "whep", "desk", "publisher")).status_code in (201, 403)
        assert (await join(client, "whep", "desk", "operator")).status_code == 201
        await service.context.viewers.sessions.end_all()
        assert (await join(client, "whep", "desk", "viewer")).status_code == 201
        await service.context.viewers.sessions.end_all()

    with running_service(settings()) as service:
        talk(service, conversation)


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "169.254.169.254", "::1", "fe80::1", "::ffff:127.0.0.1", "0.0.0.0"),
        *("224.0.0.1", "100.100.100.200", "64:ff9b::7f00:1", "printer.local"),
    ],
)
def test_candidates_that_no_peer_has_are_not_sent_to(address: str) -> None:
    async def check() -> None:
        sessions = RtcSessions([], idle_s=5.0, most=1)

        async def take(session: RtcSession) -> None:
            for transceiver in session.connection.getTransceivers():
                ice = transceiver.receiver.transport.transport
                found.extend(one.ip for one in ice.getRemoteCandidates())

        async with offer_of("whep") as offer:
            lines = offer.replace("\r\n", "\n").split("\n")
            at = next(n for n, line in enumerate(lines) if line.startswith("a=candidate:"))
            for number, wanted in enumerate((address, "192.0.2.7")):
                lines.insert(at, f"a=candidate:{number + 90} 1 udp 9 {wanted} 4000 typ host")
            session, _ = await sessions.begin("desk", "\r\n".join(lines), take)
        await sessions.end(session)

    found: list[str] = []
    asyncio.run(check())
    assert "192.0.2.7" in found
    assert address not in found


def connect_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RTCPeerConnection, "connectionState", "connected")


def places(most: int, per_token: int = 0) -> ServiceSettings:
    given = {"max_viewers": most, "max_viewers_per_token": per_token}
    return ServiceSettings.model_validate(
        {"access": tokens(), "streams": (whip_stream(), whip_stream("hall")), "webrtc": given}
    )


@pytest.mark.parametrize(("most", "per_token", "held"), [(4, 0, 2), (4, 3, 3), (1, 0, 1)])
def test_connected_viewers_of_one_token_leave_places_to_others(
    most: int, per_token: int, held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect_everybody(monkeypatch)
    given = places(most, per_token)

    async def conversation(client: httpx.AsyncClient) -> None:
        answers = [await join(client, "whep", "desk", "viewer") for _ in range(5)]
        assert [one.status_code for one in answers] == [201] * held + [503] * (5 - held)
        limit = "max_viewers_per_token" if held < given.webrtc.max_viewers else "max_viewers)"
        assert limit in answers[-1].text
        assert (await join(client, "whep", "hall", "viewer")).status_code == 201
        free = given.webrtc.max_viewers - held
        others = [await join(client, "whep", "desk", "operator") for _ in range(free)]
        assert [one.status_code for one in others][:held] == [201] * min(free, held)
        if free <= held:
            full = await join(client, "whep", "desk", "publisher")
            assert full.status_code == 503
            assert "webrtc.max_viewers)" in full.text
        await service.context.viewers.sessions.end_all()
        assert (await join(client, "whep", "desk", "viewer")).status_code == 201
        await service.context.viewers.sessions.end_all()

    with running_service(given) as service:
        talk(service, conversation)


def test_viewers_at_once_are_as_many_as_one_token_has_places(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connect_everybody(monkeypatch)

    async def conversation(client: httpx.AsyncClient) -> None:
        asked = [join(client, "whep", "desk", "viewer") for _ in range(8)]
        answers = [one.status_code for one in await asyncio.gather(*asked)]
        assert sorted(answers) == [201] * 2 + [503] * 6
        await service.context.viewers.sessions.end_all()

    with running_service(places(16, 2)) as service:
        talk(service, conversation)


def test_viewers_without_a_token_are_told_apart_by_their_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connect_everybody(monkeypatch)

    async def watch_from(address: str) -> httpx.Response:
        transport = httpx.ASGITransport(app=service.app, client=(address, 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await join(client, "whep", "desk", "viewer")

    async def conversation(client: httpx.AsyncClient) -> None:
        answers = [await watch_from("127.0.0.1") for _ in range(3)]
        assert [one.status_code for one in answers] == [201, 201, 503]
        assert "this address" in answers[-1].text
        assert (await watch_from("127.0.0.2")).status_code == 201
        await service.context.viewers.sessions.end_all()

    with running_service(places(4).model_copy(update={"access": Access()})) as service:
        talk(service, conversation)
