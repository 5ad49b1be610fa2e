"""Connections that ask for nothing, or too slowly, hold no place of those that do."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from urllib.parse import urlsplit

import httpx
import pytest

from config.service import Listen, ServiceSettings
from stream.service import limits
from stream.service.connections import ConnectionBounds
from tests.stream.live.rtsp_peer import eventually
from tests.stream.service.served import served
from tests.stream.service.service_bench import service_of, tokens

pytestmark = pytest.mark.unit

HEAD = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"
BODY = b"POST /api/v1/reload HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99\r\n\r\nx"


@contextmanager
def service(bounds: ConnectionBounds) -> Iterator[str]:
    settings = ServiceSettings(listen=Listen(port=0), access=tokens())
    with served(service_of(settings), settings, bounds) as address:
        yield address


def connected(address: str) -> socket.socket:
    where = urlsplit(address)
    return socket.create_connection((where.hostname or "", where.port or 0), 5.0)


def is_open(client: socket.socket) -> bool:
    client.setblocking(False)
    try:
        while client.recv(65_536):
            pass
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


@pytest.mark.parametrize("said", [b"", HEAD, BODY], ids=["silent", "head", "body"])
def test_many_that_do_not_finish_leave_the_service_to_others(said: bytes) -> None:
    bounds = ConnectionBounds(waiting=20, head_s=60.0)
    with service(bounds) as address, ExitStack() as ends:
        clients = [ends.enter_context(connected(address)) for _ in range(60)]
        for client in clients:
            client.sendall(said)
        assert httpx.get(f"{address}/healthz").status_code == 200
        assert httpx.get(f"{address}/api/v1/streams").status_code == 401
        if said != BODY:
            assert eventually(lambda: sum(is_open(client) for client in clients) <= 20)


@pytest.mark.parametrize("said", [b"", HEAD, BODY], ids=["silent", "head", "body"])
def test_one_that_does_not_finish_is_cut_off(said: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_BODY_S", 0.3)
    with service(ConnectionBounds(head_s=0.3)) as address, connected(address) as client:
        client.sendall(said)
        assert eventually(lambda: not is_open(client), 5.0)


def test_head_that_comes_drop_by_drop_is_cut_off_also_on_a_kept_connection() -> None:
    with service(ConnectionBounds(head_s=0.4)) as address, connected(address) as client:
        client.sendall(HEAD + b"\r\n")
        assert client.recv(65_536).startswith(b"HTTP/1.1 200")
        begun = time.monotonic()
        while is_open(client) and time.monotonic() - begun < 10.0:
            with suppress(OSError):
                client.sendall(b"G")
            time.sleep(0.05)
        assert not is_open(client)


def test_address_with_too_many_connections_loses_its_oldest_that_wait() -> None:
    with service(ConnectionBounds(per_address=5)) as address, ExitStack() as ends:
        clients = [ends.enter_context(connected(address)) for _ in range(9)]
        assert eventually(lambda: sum(is_open(client) for client in clients) == 5)
        assert [is_open(client) for client in clients] == [False] * 4 + [True] * 5
        assert _answers(address)


def _answers(address: str) -> bool:
    try:
        return httpx.get(f"{address}/healthz").status_code == 200
    except httpx.HTTPError:
        return False
