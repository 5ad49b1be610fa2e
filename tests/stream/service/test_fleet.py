from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from anyio.to_thread import current_default_thread_limiter
from structlog.testing import capture_logs

from config.service import ServiceSettings, Sources, StreamSpec
from config.service_loading import load_service
from stream.live.live_stream import LiveStream
from stream.live.running_stream import RunningStream
from stream.service.errors import StreamConflict
from stream.service.fleet import Member
from stream.service.serving import Service
from tests.stream.live.rtsp_peer import eventually
from tests.stream.service.service_bench import (
    running_service,
    service_of,
    talk,
    tokens,
    whip_stream,
)
from tests.stream.service.watching import join, until, write_configuration

pytestmark = pytest.mark.unit
SECRET = "rtsp://user:s3cret@camera/live"
LOCAL = Sources(networks=("127.0.0.0/8",))


def settings_of(*names: str) -> ServiceSettings:
    streams = tuple(whip_stream(name) for name in names)
    return ServiceSettings(access=tokens(), streams=streams, sources=LOCAL)


def threads_of(stream: str) -> list[str]:
    return [one.name for one in threading.enumerate() if one.name.startswith(f"{stream}-")]


@pytest.fixture
def service() -> Iterator[Service]:
    with running_service(settings_of("desk")) as running:
        yield running


@contextmanager
def stopping(service: Service, monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """The stop of `desk` goes on until the event is set."""
    begun, may_end = threading.Event(), threading.Event()
    live = service.context.fleet.running("desk").live
    stop = live.stop

    def slowly(timeout_s: float = 5.0) -> list[str]:
        begun.set()
        may_end.wait(20.0)
        return stop(timeout_s)

    monkeypatch.setattr(live, "stop", slowly)
    stopper = threading.Thread(target=service.context.fleet.stop, args=("desk",))
    stopper.start()
    try:
        assert begun.wait(10.0)
        yield may_end
    finally:
        may_end.set()
        stopper.join(10.0)


def test_stream_that_is_being_stopped_keeps_nobody_from_looking(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        for path in ("/api/v1/streams", "/readyz", "/metrics", "/healthz"):
            assert (await asyncio.wait_for(client.get(path), 5.0)).status_code == 200

    with stopping(service, monkeypatch):
        talk(service, conversation)


def test_service_whose_threads_all_wait_for_a_stream_still_says_that_it_lives(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered: list[str] = []
    start = service.context.fleet.start

    def counted(name: str, holder: str | None = None) -> Member:
        entered.append(name)
        return start(name, holder)

    async def conversation(client: httpx.AsyncClient) -> None:
        most = int(current_default_thread_limiter().total_tokens)
        path = "/api/v1/streams/desk/start"
        asked = [asyncio.create_task(client.post(path)) for _ in range(most)]
        assert await until(lambda: len(entered) == most)
        assert (await asyncio.wait_for(client.get("/healthz"), 5.0)).status_code == 200
        may_end.set()
        assert {answer.status_code for answer in await asyncio.gather(*asked)} == {200}

    monkeypatch.setattr(service.context.fleet, "start", counted)
    with stopping(service, monkeypatch) as may_end:
        talk(service, conversation)


def test_reload_that_comes_after_the_end_starts_nothing(tmp_path: Path) -> None:
    file = tmp_path / "kveil.yaml"
    write_configuration(file, [whip_stream()], ("operator",))
    service = service_of(load_service(file, {}), file)
    service.start()
    service.close()
    write_configuration(file, [whip_stream("hall")], ("operator",))
    try:
        assert service.reload() == []
        with pytest.raises(StreamConflict):
            service.context.fleet.start("desk")
        with pytest.raises(StreamConflict):
            service.context.fleet.add(whip_stream("yard"))
        assert not threads_of("hall") + threads_of("desk")
    finally:
        service.close()


def test_stream_that_cannot_start_is_not_kept_and_leaves_no_thread(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(live: LiveStream) -> None:
        message = "can't start new thread"
        raise RuntimeError(message)

    fleet = service.context.fleet
    fleet.stop("desk")
    spec = StreamSpec(name="hall", sinks=("rtsp://127.0.0.1:9/out",))
    with monkeypatch.context() as patch:
        patch.setattr(LiveStream, "start", breaks)
        with pytest.raises(RuntimeError):
            fleet.add(spec)
        with pytest.raises(RuntimeError):
            fleet.start("desk")
    assert [(one.spec.name, one.running) for one in fleet.members()] == [("desk", None)]
    assert not threads_of("hall")
    fleet.start("desk")
    assert fleet.running("desk").live.status().name == "desk"


def test_stream_that_breaks_at_its_stop_leaves_the_others_to_be_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stop = RunningStream.stop

    def breaks(running: RunningStream, timeout_s: float = 5.0) -> list[str]:
        stuck = stop(running, timeout_s)
        if running.spec.name == "desk":
            raise ConnectionError(SECRET)
        return stuck

    service = service_of(settings_of("desk", "hall"))
    service.start()
    monkeypatch.setattr(RunningStream, "stop", breaks)
    with capture_logs() as told:
        assert service.close() == ["desk"]
    assert not threads_of("hall")
    failed = [one for one in told if one["event"] == "stop_failed"]
    assert [(one["stream"], one["error"]) for one in failed] == [("desk", "ConnectionError")]
    assert SECRET not in str(told)


def test_entry_that_breaks_is_told_by_the_kind_of_its_error_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def breaks(*_: object) -> None:
        raise ConnectionError(SECRET)

    service = service_of(settings_of("desk", "hall"))
    build = service.context.fleet._build
    monkeypatch.setattr(
        service.context.fleet,
        "_build",
        lambda spec: breaks() if spec.name == "desk" else build(spec),
    )
    with capture_logs() as told:
        service.start()
    service.close()
    assert [(one["event"], one["stream"]) for one in told[:2]] == [
        ("stream_failed", "desk"),
        ("stream_added", "hall"),
    ]
    assert told[0]["error"] == "ConnectionError"
    assert SECRET not in str(told)


@pytest.mark.parametrize(("kind", "role"), [("whep", "viewer"), ("whip", "publisher")])
def test_stream_removed_while_an_offer_is_answered_leaves_nothing_behind(
    service: Service, monkeypatch: pytest.MonkeyPatch, kind: str, role: str
) -> None:
    """Its encoder would begin after its end, and nobody would end it."""
    context = service.context
    guests = context.viewers if kind == "whep" else context.publishers
    begin = guests.begin

    async def begin_late(*given: object) -> object:
        await asyncio.to_thread(context.fleet.remove, "desk")
        return await begin(*given)  # type: ignore[arg-type]

    async def conversation(client: httpx.AsyncClient) -> None:
        assert (await join(client, kind, "desk", role)).status_code == 409
        assert guests.sessions.count() == 0

    monkeypatch.setattr(guests, "begin", begin_late)
    talk(service, conversation)
    assert eventually(lambda: not threads_of("desk"))
