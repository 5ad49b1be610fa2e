from __future__ import annotations

import socket
import threading
from pathlib import Path

import httpx
import pytest

from config.service import Listen, Live, ServiceSettings
from stream.errors import UsageRefused
from stream.live.live_stream import LiveStream
from stream.live.running_stream import RunningStream
from stream.pipeline.replacement import CoverEveryFace
from stream.service.serving import serve_forever
from stream.service.web_server import bound_sockets
from tests.stream.service.served import served
from tests.stream.service.service_bench import engines, service_of, whip_stream

pytestmark = pytest.mark.unit


def test_host_of_several_addresses_is_bound_at_each() -> None:
    found = {entry[4][0] for entry in socket.getaddrinfo("localhost", 0, type=socket.SOCK_STREAM)}
    sockets = bound_sockets(Listen(host="localhost", port=0))
    assert {one.getsockname()[0] for one in sockets} == found
    for one in sockets:
        one.close()


def test_host_of_another_machine_is_one_line() -> None:
    with pytest.raises(UsageRefused, match=r"change listen\.host"):
        bound_sockets(Listen(host="192.0.2.1", port=0))


@pytest.mark.parametrize("error", [socket.gaierror(-2, "unknown"), UnicodeError("label too long")])
def test_host_that_does_not_resolve_is_one_line(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    with pytest.raises(UsageRefused, match="does not resolve"):
        bound_sockets(Listen(host="camera-room", port=0))


def test_port_in_use_is_told_before_any_stream_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[RunningStream] = []
    monkeypatch.setattr(LiveStream, "start", started.append)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        settings = ServiceSettings(listen=Listen(port=port), streams=(whip_stream(),))
        with pytest.raises(UsageRefused, match=rf"{port}: .* another listen\.port") as refusal:
            serve_forever(settings, engines(), lambda *_: CoverEveryFace(), None, print)
    assert "\n" not in str(refusal.value)
    assert not started


def test_end_of_the_service_completes_an_answer_that_has_no_end() -> None:
    settings = ServiceSettings(
        listen=Listen(port=0), streams=(whip_stream(),), live=Live(hold_s=0.1)
    )
    begun, ends = threading.Event(), list[str]()

    def watch(address: str) -> None:
        try:
            with httpx.stream("GET", f"{address}/api/v1/streams/desk/preview.mjpeg") as answer:
                for _ in answer.iter_bytes():
                    begun.set()
            ends.append("complete")
        except httpx.HTTPError as error:
            ends.append(type(error).__name__)

    with served(service_of(settings), settings) as address:
        watcher = threading.Thread(target=watch, args=(address,))
        watcher.start()
        assert begun.wait(10.0)
    watcher.join(10.0)
    assert ends == ["complete"]
