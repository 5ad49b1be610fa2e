from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Literal

import httpx
import pytest
from structlog.testing import capture_logs

from config.service import ServiceSettings, TokenSpec
from stream.live.rtc_sessions import RtcSession, RtcSessions
from stream.service import app
from stream.service.errors import StreamConflict
from stream.service.guests import Guests
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
        await service.context.viewers.end_all()

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
        assert (context.viewers.count(), context.publishers.count()) == (1, 1)
        now[0] += timedelta(hours=2)
        assert await until(lambda: context.viewers.count() + context.publishers.count() == 0)
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
        guests = Guests(sessions, "viewer")

        async def taken_away(session: RtcSession) -> None:
            session.is_ended = True

        async with offer_of("whep") as offer:
            with pytest.raises(StreamConflict, match="meanwhile"):
                await guests.begin("desk", offer, taken_away, Holder("viewer", "viewer"))
        session = next(iter(sessions._sessions.values()))
        session.is_ended = False
        await sessions.end(session)

    asyncio.run(check())


def test_viewer_of_a_stream_that_is_removed_meanwhile_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        monkeypatch.setattr(service.context.fleet, "has", lambda running: False)
        for kind, role in (("whep", "viewer"), ("whip", "publisher")):
            assert (await join(client, kind, "desk", role)).status_code == 409
        assert service.context.viewers.count() + service.context.publishers.count() == 0

    with running_service(settings()) as service:
        talk(service, conversation)


def test_token_cannot_take_every_place_with_offers_that_never_connect() -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        answers = [(await join(client, "whep", "desk", "viewer")).status_code for _ in range(8)]
        assert answers.count(201) == 4
        assert set(answers[4:]) == {503}
        assert (await join(client, "whep", "desk", "publisher")).status_code in (201, 403)
        assert (await join(client, "whep", "desk", "operator")).status_code == 201
        await service.context.viewers.end_all()
        assert (await join(client, "whep", "desk", "viewer")).status_code == 201
        await service.context.viewers.end_all()

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
