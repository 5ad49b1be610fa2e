from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from config.service import ServiceSettings, StreamSpec
from config.service_loading import load_service
from stream.live.address import address_from_text
from stream.live.errors import AddressRefused
from stream.service.allowances import StreamGate
from tests.stream.service.service_bench import running_service, talk, tokens
from tests.stream.service.watching import write_configuration

pytestmark = pytest.mark.unit


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("clip.mp4", "other.mp4"):
        (tmp_path / name).touch()
    (tmp_path / "clips").mkdir()
    return tmp_path


def settings_of(folder: Path) -> ServiceSettings:
    """One stream plays a file, and another writes HLS; neither runs."""
    plays = {"name": "plays", "source": f"{folder}/clip.mp4", "start": False}
    writes = {"name": "writes", "sinks": [f"{folder}/out/live.m3u8"], "start": False}
    sources = {"folders": [f"{folder}/clips"]}
    given = {"access": tokens(), "streams": [plays, writes], "sources": sources}
    return ServiceSettings.model_validate(given)


def is_admitted(folder: Path, **entry: object) -> bool:
    spec = StreamSpec.model_validate({"name": "new", **entry})
    try:
        StreamGate(settings_of(folder)).check_files(spec)
    except AddressRefused:
        return False
    return True


@pytest.mark.parametrize(
    ("source", "is_allowed"),
    [
        ("clip.mp4", True),
        ("clips/../clip.mp4", True),
        ("clips/any.mp4", True),
        ("other.mp4", False),
        ("clip.mp4/x", False),
        ("out/live.m3u8", False),
        ("out/live-00001.m4s", False),
        ("/etc/passwd", False),
        (".", False),
    ],
)
def test_source_is_the_file_that_is_named_as_one_alone(
    folder: Path, source: str, is_allowed: bool
) -> None:
    assert is_admitted(folder, source=str(folder / source)) is is_allowed


@pytest.mark.parametrize(
    ("sink", "is_allowed"),
    [
        ("out/live.m3u8", True),
        ("clips/../out/live.m3u8", True),
        ("out/other.m3u8", False),
        ("out/live.m3u8/x.m3u8", False),
        ("live.m3u8", False),
        ("clip.mp4", False),
        ("clips/x.m3u8", False),
        ("/root/.ssh/x.m3u8", False),
    ],
)
def test_sink_is_the_file_that_is_named_as_one_alone(
    folder: Path, sink: str, is_allowed: bool
) -> None:
    assert is_admitted(folder, sinks=[str(folder / sink)]) is is_allowed


def test_link_to_a_sink_is_another_place(folder: Path) -> None:
    (folder / "link.m3u8").symlink_to(folder / "out" / "live.m3u8")
    (folder / "same").symlink_to(folder / "out")
    assert not is_admitted(folder, sinks=[f"{folder}/link.m3u8"])
    assert is_admitted(folder, sinks=[f"{folder}/same/live.m3u8"])


def test_file_named_relative_to_the_working_folder_admits_no_neighbour(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    gate = StreamGate(ServiceSettings(streams=(StreamSpec(name="a", sinks=("out.m3u8",)),)))
    gate.check_files(StreamSpec(name="b", sinks=(f"{folder}/out.m3u8",)))
    for spec in (StreamSpec(name="b", sinks=("x.m3u8",)), StreamSpec(name="b", source="clip.mp4")):
        with pytest.raises(AddressRefused):
            gate.check_files(spec)


def test_who_connects_gets_what_the_streams_name_and_nothing_else(folder: Path) -> None:
    gate = StreamGate(settings_of(folder))
    for named in ("clip.mp4", "out/live.m3u8", "clips/any.mp4"):
        assert gate.admit(address_from_text(f"{folder}/{named}")) == ()
    for other in ("other.mp4", "out/x.m3u8", "out"):
        with pytest.raises(AddressRefused):
            gate.admit(address_from_text(f"{folder}/{other}"))


def test_operator_reaches_the_named_files_and_no_other(folder: Path) -> None:
    async def status(client: httpx.AsyncClient, **entry: object) -> int:
        made = await client.post("/api/v1/streams", json={"name": "new", "start": False, **entry})
        if made.status_code == 201:
            assert (await client.delete("/api/v1/streams/new")).status_code == 204
        return made.status_code

    async def conversation(client: httpx.AsyncClient) -> None:
        assert await status(client, source=f"{folder}/clip.mp4") == 201
        assert await status(client, sinks=[f"{folder}/out/live.m3u8"]) == 201
        assert await status(client, source=f"{folder}/other.mp4") == 403
        assert await status(client, source="/etc/passwd") == 403
        assert await status(client, sinks=[f"{folder}/out/x.m3u8"]) == 403
        assert await status(client, sinks=[f"{folder}/clip.mp4"]) == 403
        assert await status(client, sinks=["/root/.ssh/x.m3u8"]) == 403

    with running_service(settings_of(folder)) as service:
        talk(service, conversation)


def test_file_that_a_reload_takes_out_is_refused_at_the_next_start(tmp_path: Path) -> None:
    """The entry of an added stream outlives what once admitted it."""
    file = tmp_path / "kveil.yaml"
    sink = f"{tmp_path}/out/live.m3u8"

    async def conversation(client: httpx.AsyncClient) -> None:
        added = {"name": "new", "start": False, "sinks": [sink]}
        assert (await client.post("/api/v1/streams", json=added)).status_code == 201
        write_configuration(file, [], ("operator",))
        assert service.reload() == ["writes"]
        assert (await client.post("/api/v1/streams/new/start")).status_code == 403

    writes = StreamSpec(name="writes", sinks=(sink,), start=False)
    write_configuration(file, [writes], ("operator",))
    with running_service(load_service(file, {}), file) as service:
        talk(service, conversation)
