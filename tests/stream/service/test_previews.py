from __future__ import annotations

import asyncio
from collections import Counter

import httpx
import pytest
from starlette.types import Message, Scope
from structlog.testing import capture_logs

from config.service import ServiceSettings
from stream.live.errors import ViewerRefused
from stream.service.places import Places
from stream.service.serving import Service
from stream.service.tokens import Holder
from tests.stream.service.service_bench import bearer, running_service, talk, tokens, whip_stream
from tests.stream.service.watching import until

pytestmark = pytest.mark.unit
DESK = "/api/v1/streams/desk/preview.mjpeg"
HALL = "/api/v1/streams/hall/preview.mjpeg"


def settings_of(most: int, per_token: int = 0) -> ServiceSettings:
    given = {
        "access": tokens(),
        "streams": (whip_stream(), whip_stream("hall")),
        "webrtc": {"max_viewers": most, "max_viewers_per_token": per_token or most},
        "live": {"hold_s": 0.1},
    }
    return ServiceSettings.model_validate(given)


def scope_of_preview() -> Scope:
    token = bearer("viewer")["Authorization"].encode()
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": DESK,
        "raw_path": DESK.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"localhost"), (b"authorization", token)],
        "client": ("127.0.0.1", 1),
        "server": ("localhost", 80),
    }


def test_previews_asked_for_at_once_are_as_many_as_there_are_places() -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        previews = service.context.previews
        asked = [asyncio.create_task(client.get(DESK)) for _ in range(20)]
        assert await until(lambda: sum(one.done() for one in asked) == 18)
        assert previews.count("desk") == 2
        await asyncio.to_thread(service.context.fleet.remove, "desk")
        answers = Counter([answer.status_code for answer in await asyncio.gather(*asked)])
        assert answers == {200: 2, 503: 18}
        assert previews.count() == 0

    with running_service(settings_of(most=2)) as service:
        talk(service, conversation)


def test_previews_of_one_stream_take_no_place_of_another() -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        watching = asyncio.create_task(client.get(DESK))
        assert await until(lambda: service.context.previews.count() == 1)
        assert (await client.get(DESK)).status_code == 503
        assert (await client.get(f"{HALL}?frames=1")).status_code == 200
        assert service.context.previews.count("desk") == 1
        service.context.closing.set()
        assert (await watching).status_code == 200

    with running_service(settings_of(most=1)) as service:
        talk(service, conversation)


def test_previews_of_one_token_leave_places_to_others() -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        watching = asyncio.create_task(client.get(DESK))
        assert await until(lambda: service.context.previews.count() == 1)
        refused = await client.get(DESK)
        assert refused.status_code == 503
        assert "webrtc.max_viewers_per_token" in refused.text
        seen = await client.get(f"{DESK}?frames=1", headers=bearer("viewer"))
        assert seen.status_code == 200
        service.context.closing.set()
        assert (await watching).status_code == 200

    with running_service(settings_of(most=2, per_token=1)) as service:
        talk(service, conversation)


@pytest.mark.parametrize("spec_version", ["2.3", "2.4"])
def test_viewer_who_leaves_before_the_first_byte_gives_the_place_back(spec_version: str) -> None:
    """Servers tell of it by a message, since 2.4 also by an error."""
    taken: list[int] = []

    async def ask(service: Service) -> None:
        sending = asyncio.Event()
        coming: list[Message] = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive() -> Message:
            if coming:
                return coming.pop()
            await sending.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            taken.append(service.context.previews.count())
            sending.set()
            if spec_version == "2.4":
                raise ConnectionResetError
            await asyncio.Event().wait()

        scope = scope_of_preview()
        scope["asgi"]["spec_version"] = spec_version
        await asyncio.wait_for(service.app(scope, receive, send), 10.0)
        assert service.context.previews.count() == 0

    with running_service(settings_of(most=1)) as service, capture_logs():
        asyncio.run(ask(service))
    assert taken == [1]


def test_place_given_back_twice_frees_one() -> None:
    places, anna = Places("previews", 2, 2), Holder("anna", "viewer", "5e88")
    first, _ = places.take("desk", anna), places.take("desk", anna)
    with pytest.raises(ViewerRefused):
        places.take("desk", anna)
    first.release()
    first.release()
    assert places.count("desk") == 1
