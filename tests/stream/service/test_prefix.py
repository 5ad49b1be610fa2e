"""The service behind a reverse proxy's prefix, and sessions as RFC 9725 wants them."""

from __future__ import annotations

import re
from urllib.parse import urljoin

import httpx
import pytest

from config.service import Listen, ServiceSettings
from stream.live.whip import WhipEntrance
from tests.stream.service.service_bench import running_service, talk, tokens, whip_stream
from tests.stream.service.watching import join, offer_of

pytestmark = [pytest.mark.unit, pytest.mark.timeout(60)]
FRAGMENT = "application/trickle-ice-sdpfrag"
FORWARDED = {"X-Forwarded-Prefix": "/kveil"}


def settings(root_path: str = "") -> ServiceSettings:
    listen = Listen(root_path=root_path)
    return ServiceSettings(access=tokens(), streams=(whip_stream(),), listen=listen)


@pytest.mark.parametrize("root_path", ["", "/kveil", "/kveil/"])
@pytest.mark.parametrize("kind", ["whip", "whep"])
def test_session_is_reached_at_its_location_behind_a_prefix(kind: str, root_path: str) -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        if not root_path:
            client.headers.update(FORWARDED)
        made = await join(client, kind, "desk", "operator")
        assert made.status_code == 201
        location = made.headers["location"]
        assert location.startswith(f"/kveil/{kind}/desk/")
        ended = await client.delete(location.removeprefix("/kveil"))
        assert ended.status_code == 200

    with running_service(settings(root_path)) as service:
        talk(service, conversation)


def test_path_that_still_has_its_prefix_is_answered() -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        for path in ("/kveil/healthz", "/healthz", "/kveil", "/kveil/", "/kveil/page/page.js"):
            assert (await client.get(path)).status_code == 200, path
        assert (await client.get("/kveilx/healthz")).status_code == 404

    with running_service(settings("/kveil")) as service:
        talk(service, conversation)


@pytest.mark.parametrize("prefix", ["", "/kveil", "/a/b-c"])
def test_addresses_of_the_page_hold_behind_a_prefix(prefix: str) -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        page = await client.get("/", headers={"X-Forwarded-Prefix": prefix} if prefix else {})
        found = re.findall(r'(?:src|href)="([^"d][^"]*)"', page.text)
        assert len(found) == 5
        for address in found:
            whole = urljoin(f"http://localhost{prefix}/", address)
            assert whole.startswith(f"http://localhost{prefix}/page/")
            name = whole.removeprefix(f"http://localhost{prefix}")
            script = await client.get(name)
            assert script.status_code == 200
            assert not re.search(r"[`\"']/(api|whip|whep|hls|page)\b", script.text), name

    with running_service(settings()) as service:
        talk(service, conversation)


@pytest.mark.parametrize("prefix", ["//evil.example", "kveil", '/a"b', "/../x", "/" + "a" * 300])
def test_header_that_is_no_plain_path_changes_nothing(prefix: str) -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        client.headers["X-Forwarded-Prefix"] = prefix
        made = await join(client, "whip", "desk", "publisher")
        location = made.headers["location"]
        assert location.startswith("/whip/desk/")
        assert (await client.delete(location)).status_code == 200

    with running_service(settings()) as service:
        talk(service, conversation)


def test_page_behind_a_proxy_that_exchanges_the_host_may_call() -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        headers = {"Origin": "https://video.example", "X-Forwarded-Host": "video.example"}
        assert (await client.get("/api/v1/streams", headers=headers)).status_code == 200
        headers["Origin"] = "https://evil.example"
        assert (await client.get("/api/v1/streams", headers=headers)).status_code == 403

    with running_service(settings()) as service:
        talk(service, conversation)


@pytest.mark.parametrize(("kind", "role"), [("whip", "publisher"), ("whep", "viewer")])
def test_session_takes_further_addresses_under_its_entity_tag(kind: str, role: str) -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        made = await join(client, kind, "desk", role)
        location, tag = made.headers["location"], made.headers["etag"]
        assert made.headers["accept-patch"] == FRAGMENT
        text = "a=mid:0\r\na=candidate:1 1 udp 1 192.0.2.7 4000 typ host\r\n"

        async def patch(content: str = text, **headers: str) -> int:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            answer = await client.patch(location, content=content, headers=named)
            return answer.status_code

        kinds = {"Content_Type": FRAGMENT}
        assert await patch(If_Match=tag, **kinds) == 204
        assert await patch(**kinds) == 428
        assert await patch(If_Match='"other"', **kinds) == 412
        assert await patch(If_Match="*", **kinds) == 422
        assert await patch("a=ice-ufrag:new\r\n", If_Match=tag, **kinds) == 422
        assert await patch("a=candidate:x\r\n", If_Match=tag, **kinds) == 400
        assert await patch(If_Match=tag, Content_Type="application/sdp") == 415
        assert await patch(text.replace(text[-2:], "\r\n") * 70, If_Match=tag, **kinds) == 400
        assert (await client.get(location)).status_code == 405
        assert (await client.delete(location)).status_code == 200
        assert await patch(If_Match=tag, **kinds) == 404
        assert (await client.delete(location)).status_code == 404

    with running_service(settings()) as service:
        talk(service, conversation)


def test_what_may_be_posted_is_told_without_a_token() -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        answer = await client.options("/whip/desk")
        assert answer.status_code == 204
        assert answer.headers["accept-post"] == "application/sdp"

    with running_service(settings()) as service:
        talk(service, conversation, role=None)


def test_patch_needs_the_role_of_its_session() -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        async with offer_of("whip") as offer:
            made = await client.post(
                "/whip/desk", content=offer, headers={"Content-Type": "application/sdp"}
            )
        location = made.headers["location"]
        headers = {"Authorization": "Bearer kv_viewer", "Content-Type": FRAGMENT, "If-Match": "*"}
        assert (await client.patch(location, content="", headers=headers)).status_code == 403
        assert (await client.delete(location)).status_code == 200

    with running_service(settings()) as service:
        talk(service, conversation)


def test_offer_that_has_not_connected_gives_way_to_the_next() -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        first, second = [await join(client, "whip", "desk", "publisher") for _ in range(2)]
        assert (first.status_code, second.status_code) == (201, 201)
        assert (await client.delete(first.headers["location"])).status_code == 404
        assert (await client.delete(second.headers["location"])).status_code == 200

    with running_service(settings()) as service:
        talk(service, conversation)


def test_publisher_that_is_connected_keeps_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        first = await join(client, "whip", "desk", "publisher")
        monkeypatch.setattr(WhipEntrance, "unconnected", None)
        assert (await join(client, "whip", "desk", "publisher")).status_code == 503
        assert (await client.delete(first.headers["location"])).status_code == 200

    with running_service(settings()) as service:
        talk(service, conversation)
