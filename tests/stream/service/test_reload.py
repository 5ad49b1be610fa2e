from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from structlog.testing import capture_logs

from config.errors import ConfigError, FileInvalid, SettingInvalid
from config.service import StreamSpec
from config.service_loading import load_service
from stream.service import serving
from stream.service.logs import without_secrets
from stream.service.serving import Service
from tests.stream.live.rtsp_peer import eventually
from tests.stream.service.service_bench import bearer, running_service, talk, whip_stream
from tests.stream.service.watching import join, until, write_configuration

pytestmark = pytest.mark.unit
ROLES = ("viewer", "publisher", "operator")
EVERYWHERE = {"listen": {"host": "0.0.0.0"}}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "kveil.yaml"
    write_configuration(path, [whip_stream()], ROLES, **EVERYWHERE)
    return path


@pytest.fixture
def service(file: Path) -> Iterator[Service]:
    with running_service(load_service(file, {}), file) as running:
        yield running


async def asks_for_a_token(client: httpx.AsyncClient) -> None:
    assert (await client.get("/api/v1/streams")).status_code == 401
    good = await client.get("/api/v1/streams", headers=bearer("operator"))
    assert good.status_code == 200


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("", FileInvalid),
        ("# being written\n", FileInvalid),
        ("listen: {host: 127.0.0.1}\n", SettingInvalid),
        ("access: {tokens: []}\nstreams: [{name: desk}]\n", SettingInvalid),
        ("access:\nlisten: {host: 0.0.0.0}\n", SettingInvalid),
        ("access: {}\naccess: {}\n", FileInvalid),
        ("streams: [{name: desk}, ", FileInvalid),
    ],
)
def test_file_that_would_open_the_service_changes_nothing(
    service: Service, file: Path, text: str, refusal: type[ConfigError]
) -> None:
    desk = service.context.fleet.running("desk")
    file.write_text(text)
    with pytest.raises(refusal):
        service.reload()
    assert service.context.fleet.running("desk") is desk
    talk(service, asks_for_a_token, role=None)


def test_refused_reload_is_one_line_in_the_log(service: Service, file: Path) -> None:
    file.write_text("")
    with capture_logs() as told:
        serving._reload_quietly(service)
    assert [(one["event"], one["reason"]) for one in told] == [
        ("reload_refused", "kveil.yaml is empty; write its sections again")
    ]


@pytest.mark.parametrize("section", ["listen", "bounds", "webrtc", "live"])
def test_reload_of_what_only_a_restart_applies_is_told_without_values(
    service: Service, file: Path, section: str
) -> None:
    changes = {
        "listen": {"host": "0.0.0.0", "port": 1123},
        "bounds": {"requests_per_minute": 1123},
        "webrtc": {"turn_password": "secret-1123"},
        "live": {"bitrate_kbps": 1123},
    }
    more = EVERYWHERE | {section: changes[section]}
    write_configuration(file, [whip_stream()], ROLES, **more)
    with capture_logs() as told:
        assert service.reload() == []
    needed = [without_secrets(None, "", one) for one in told if one["event"] == "restart_needed"]
    assert [one["sections"] for one in needed] == [[section]]
    assert "1123" not in str(needed)


def test_reload_of_what_it_applies_needs_no_restart(service: Service, file: Path) -> None:
    sources = {"hosts": ["*.cameras.example"]}
    write_configuration(file, [whip_stream("hall")], ["operator"], **EVERYWHERE, sources=sources)
    with capture_logs() as told:
        assert service.reload() == ["desk", "hall"]
    assert "restart_needed" not in [one["event"] for one in told]


def test_watcher_outlives_a_reload_that_breaks(
    service: Service, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "reload", lambda: 1 / 0)
    with capture_logs() as told:
        serving._reload_quietly(service)
    assert [(one["event"], one["error"]) for one in told] == [
        ("reload_failed", "ZeroDivisionError")
    ]


@pytest.mark.parametrize("text", ["streams: [", "live: {fps: 0}", "", None])
def test_reload_by_rest_of_a_file_that_does_not_hold_is_422(
    service: Service, file: Path, text: str | None
) -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        answer = await client.post("/api/v1/reload")
        assert answer.status_code == 422
        assert isinstance(answer.json()["detail"], str)
        assert str(file.parent) not in answer.text

    if text is None:
        file.unlink()
    else:
        file.write_text(text)
    talk(service, conversation)


@pytest.mark.parametrize("change", ["exchanged", "removed"])
def test_reload_ends_who_watches_or_publishes_what_it_touches(
    service: Service, file: Path, change: str
) -> None:
    context = service.context
    viewers, publishers = context.viewers.sessions, context.publishers.sessions
    changed = StreamSpec(name="desk", label=False)

    async def conversation(client: httpx.AsyncClient) -> None:
        for stream in ("desk", "hall"):
            assert (await join(client, "whep", stream, "viewer")).status_code == 201
            assert (await join(client, "whip", stream, "publisher")).status_code == 201
        streams = [whip_stream("hall"), *([changed] if change == "exchanged" else [])]
        write_configuration(file, streams, ROLES)
        assert await asyncio.to_thread(service.reload) == ["desk"]
        assert await until(lambda: viewers.count("desk") + publishers.count("desk") == 0)
        assert (viewers.count("hall"), publishers.count("hall")) == (1, 1)
        await viewers.end_all()
        await publishers.end_all()

    write_configuration(file, [whip_stream(), whip_stream("hall")], ROLES)
    service.reload()
    talk(service, conversation)


def test_reload_ends_previews_of_what_it_touches(service: Service, file: Path) -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        preview = asyncio.create_task(client.get("/api/v1/streams/desk/preview.mjpeg"))
        assert await until(lambda: service.context.previews.count() == 1)
        write_configuration(file, [], ROLES)
        await asyncio.to_thread(service.reload)
        assert (await asyncio.wait_for(preview, 10.0)).status_code == 200
        assert service.context.previews.count() == 0

    talk(service, conversation)


def test_reload_ends_who_watches_by_a_token_that_is_gone(service: Service, file: Path) -> None:
    viewers = service.context.viewers.sessions

    async def conversation(client: httpx.AsyncClient) -> None:
        assert (await join(client, "whep", "desk", "viewer")).status_code == 201
        assert (await join(client, "whep", "desk", "operator")).status_code == 201
        path = "/api/v1/streams/desk/preview.mjpeg"
        preview = asyncio.create_task(client.get(path, headers=bearer("viewer")))
        assert await until(lambda: service.context.previews.count() == 1)
        write_configuration(file, [whip_stream()], ["operator"])
        assert await asyncio.to_thread(service.reload) == []
        assert await until(lambda: viewers.count() == 1)
        assert (await asyncio.wait_for(preview, 10.0)).status_code == 200
        await viewers.end_all()

    with capture_logs() as told:
        talk(service, conversation, role=None)
    left = [one for one in told if one["event"] == "viewer_left"]
    assert [one["holder"] for one in left] == ["viewer", "operator"]


def test_entry_whose_name_rest_has_taken_is_told_once(service: Service, file: Path) -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        assert (await client.post("/api/v1/streams", json={"name": "hall"})).status_code == 201

    talk(service, conversation)
    hall = service.context.fleet.running("hall")
    write_configuration(file, [whip_stream(), whip_stream("hall")], ROLES)
    with capture_logs() as told:
        assert service.reload() == []
        assert service.reload() == []
    refused = [one for one in told if one["event"] == "stream_refused"]
    assert [one["stream"] for one in refused] == ["hall"]
    assert "REST" in refused[0]["reason"]
    assert service.context.fleet.running("hall") is hall


@pytest.mark.parametrize("stream", ["desk", "yard"])
def test_watcher_applies_what_changed_before_it_began_and_only_that(
    service: Service, file: Path, stream: str
) -> None:
    ended = threading.Event()
    ended.set()
    write_configuration(file, [whip_stream(stream)], ROLES, **EVERYWHERE)
    with capture_logs() as told:
        serving._reload_on_change(service, file, ended)
    assert [one.spec.name for one in service.context.fleet.members()] == [stream]
    assert ("reloaded" in [one["event"] for one in told]) is (stream == "yard")


def test_changed_file_is_seen_and_applied(
    service: Service, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "_LOOK_S", 0.01)
    ended = threading.Event()
    watcher = threading.Thread(target=serving._reload_on_change, args=(service, file, ended))
    watcher.start()
    try:
        write_configuration(file, [whip_stream("yard")], ROLES)
        names = service.context.fleet.members
        assert eventually(lambda: [one.spec.name for one in names()] == ["yard"])
    finally:
        ended.set()
        watcher.join(10.0)
