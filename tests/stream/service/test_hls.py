from __future__ import annotations

import asyncio
import itertools
import re

import httpx
import pytest

from config.service import ServiceSettings
from stream.live.address import address_from_text
from stream.live.clock import SystemClock
from stream.live.network_source import NetworkSource, SourceOptions
from stream.service import serving
from stream.service.url_guard import OpenGate
from tests.stream.service.served import served
from tests.stream.service.service_bench import (
    bearer,
    running_service,
    service_of,
    talk,
    tokens,
    whip_stream,
)
from tests.stream.service.watching import until

pytestmark = pytest.mark.unit
QUICK = {"hold_s": 0.1, "keyframe_s": 0.4, "slate_fps": 25.0}


def settings_of(**more: object) -> ServiceSettings:
    given = {"streams": (whip_stream(),), "access": tokens(), "live": QUICK, **more}
    return ServiceSettings.model_validate(given)


def test_player_waits_for_the_next_part_and_gets_it_at_once() -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        first = await client.get("/hls/desk/live.m3u8")
        assert first.headers["content-type"] == "application/vnd.apple.mpegurl"
        hints = re.findall(r'PRELOAD-HINT:TYPE=PART,URI="((\d+)\.(\d+)\.m4s)"', first.text)
        uri, segment, part = hints[0]
        asked = {"_HLS_msn": segment, "_HLS_part": part}
        playlist, data = await asyncio.gather(
            client.get("/hls/desk/live.m3u8", params=asked), client.get(f"/hls/desk/{uri}")
        )
        assert f'URI="{uri}"' in playlist.text.replace("HINT:TYPE=PART,URI", "")
        assert data.status_code == 200
        assert data.content[4:8] == b"moof"
        initial = await client.get("/hls/desk/init.mp4")
        assert initial.content[4:8] == b"ftyp"
        whole = re.findall(r"^(\d+\.m4s)$", first.text, re.MULTILINE)[-1]
        assert (await client.get(f"/hls/desk/{whole}")).content[4:8] == b"moof"

    with running_service(settings_of()) as service:
        talk(service, conversation)


def test_what_no_player_asks_is_refused() -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        at = "/hls/desk/live.m3u8"
        assert (await client.get(f"{at}?_HLS_part=1")).status_code == 400
        assert (await client.get(f"{at}?_HLS_msn=999999")).status_code == 400
        assert (await client.get("/hls/desk/999999.m4s")).status_code == 404
        assert (await client.get("/hls/desk/999999.0.m4s")).status_code == 404
        for hostile in ("/hls/desk/..%2Fkveil.yaml", "/hls/../etc/passwd", "/hls/desk/a.m4s"):
            assert (await client.get(hostile)).status_code in (404, 422)

    with running_service(settings_of()) as service:
        talk(service, conversation)


def test_playlist_and_parts_need_a_token() -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        for path in ("live.m3u8", "init.mp4", "0.m4s", "0.0.m4s"):
            assert (await client.get(f"/hls/desk/{path}")).status_code == 401

    with running_service(settings_of()) as service:
        talk(service, conversation, None)


def test_stream_that_nobody_asks_for_is_not_encoded() -> None:
    with running_service(settings_of()) as service:
        hls = service.context.fleet.running("desk").hls
        assert hls.window.playlist() == ""
        assert not hls._mailbox.dropped


def test_players_that_wait_by_one_token_leave_places_to_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(serving, "_MOST_WAITING", 4)

    async def conversation(client: httpx.AsyncClient) -> None:
        first = await client.get("/hls/desk/live.m3u8")
        newest = int(re.findall(r"^(\d+)\.m4s$", first.text, re.MULTILINE)[-1])
        asked = {"_HLS_msn": str(newest + 2)}
        waiting = [
            asyncio.create_task(client.get("/hls/desk/live.m3u8", params=asked)) for _ in range(4)
        ]
        assert await until(lambda: sum(one.done() for one in waiting) == 2)
        refused = [one.result() for one in waiting if one.done()]
        assert [one.status_code for one in refused] == [503, 503]
        assert "this token" in refused[0].text
        other = await client.get("/hls/desk/live.m3u8", headers=bearer("viewer"))
        assert other.status_code == 200
        await asyncio.gather(*waiting)

    with running_service(settings_of()) as service:
        talk(service, conversation)


def test_ordinary_player_plays_the_segments() -> None:
    settings = settings_of(access={})
    with served(service_of(settings), settings) as address:
        options = SourceOptions(timeout_s=5.0)
        url = address_from_text(f"{address}/hls/desk/live.m3u8")
        source = NetworkSource(url, OpenGate(), SystemClock(), options)
        seen = list(itertools.islice(source.frames(), 30))
        source.close()
    assert len(seen) == 30
    assert (seen[0].picture.height, seen[0].picture.width) == (720, 1280)
