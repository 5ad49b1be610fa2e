from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
import yaml
from structlog.testing import capture_logs

from config.service import Access, Bounds, Listen, ServiceSettings, Sources, StreamSpec, TokenSpec
from stream.scheduling.scheduler import Scheduler
from tests.stream.service.service_bench import (
    TOKENS,
    bearer,
    running_service,
    talk,
    tokens,
    whip_stream,
)

pytestmark = pytest.mark.unit


def settings(**more: object) -> ServiceSettings:
    given = {"access": tokens(), "streams": (whip_stream(),), **more}
    return ServiceSettings.model_validate(given)


@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        "Basic kv_operator",
        "Bearer " + "x" * 5000,
        "Bearer kv_operator\x00",
    ],
)
def test_missing_or_wrong_token_is_401_everywhere(authorization: str | None) -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        headers = {} if authorization is None else {"Authorization": authorization}
        for method, path in [
            ("GET", "/api/v1/streams"),
            ("POST", "/api/v1/streams"),
            ("DELETE", "/api/v1/streams/desk"),
            ("GET", "/api/v1/streams/desk/snapshot.jpg"),
            ("GET", "/api/v1/streams/desk/preview.mjpeg"),
            ("POST", "/whip/desk"),
            ("POST", "/whep/desk"),
            ("GET", "/metrics"),
            ("POST", "/api/v1/reload"),
        ]:
            answer = await client.request(method, path, headers=headers)
            assert answer.status_code == 401, (method, path)
            assert answer.headers["www-authenticate"] == "Bearer"

    with running_service(settings()) as service:
        talk(service, conversation, role=None)


def test_expired_token_is_401() -> None:
    spec = tokens().tokens[2].model_dump() | {"expires": "2020-01-01T00:00:00Z"}
    access = Access(tokens=(TokenSpec.model_validate(spec),))

    async def conversation(client: httpx.AsyncClient) -> None:
        assert (await client.get("/api/v1/streams")).status_code == 401

    with running_service(settings(access=access)) as service:
        talk(service, conversation)


def test_viewer_may_watch_but_not_change() -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        assert (await client.get("/api/v1/streams")).status_code == 200
        assert (await client.post("/api/v1/streams", json={"name": "new"})).status_code == 403
        assert (await client.delete("/api/v1/streams/desk")).status_code == 403
        sdp = {"Content-Type": "application/sdp"}
        assert (await client.post("/whip/desk", content="v=0", headers=sdp)).status_code == 403

    with running_service(settings()) as service:
        talk(service, conversation, role="viewer")


@pytest.mark.parametrize(
    "source",
    [
        "file:///etc/passwd",
        "/etc/passwd",
        "../../etc/passwd",
        "http://169.254.169.254/latest/meta-data/",
        "http://[::ffff:169.254.169.254]/",
        "http://[fd00:ec2::254]/",
        "rtsp://127.0.0.1/cam",
        "rtsp://localhost/cam",
        "rtsp://0.0.0.0/cam",
        "rtsp://[::1]/cam",
        "http://2130706433/",
        "http://0x7f.1/",
        "rtsp://10.0.0.1/cam",
        "/dev/video0",
        "gopher://example.com/",
        "concat:/etc/passwd",
        "rtsp://example.com/\r\nX: y",
        "rtsp://user@evil@127.0.0.1/",
    ],
)
def test_hostile_source_is_refused_and_nothing_is_added(source: str) -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        answer = await client.post("/api/v1/streams", json={"name": "bad", "source": source})
        assert answer.status_code in (403, 422), answer.text
        names = [one["name"] for one in (await client.get("/api/v1/streams")).json()]
        assert names == ["desk"]

    open_hosts = Sources(hosts=("*",))
    with running_service(settings(sources=open_hosts)) as service:
        talk(service, conversation)


@pytest.mark.parametrize("sink", ["/etc/cron.d/x.m3u8", "../x.m3u8", "rtsp://127.0.0.1/out"])
def test_hostile_sink_is_refused(sink: str) -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        answer = await client.post("/api/v1/streams", json={"name": "bad", "sinks": [sink]})
        assert answer.status_code in (403, 422)

    with running_service(settings()) as service:
        talk(service, conversation)


@pytest.mark.parametrize(
    "name",
    ["../up", "a/b", "A", "", "x" * 60, "a\r\nSet-Cookie: x", "a%0d%0ab", ".hidden", "a\x00"],
)
def test_name_that_could_lead_elsewhere_is_refused(name: str) -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        answer = await client.post("/api/v1/streams", json={"name": name})
        assert answer.status_code == 422
        assert "set-cookie" not in answer.headers

    with running_service(settings()) as service:
        talk(service, conversation)


def test_refused_body_is_not_repeated() -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        secret = {"name": "BAD", "source": "rtsp://user:s3cret@host/x"}
        answer = await client.post("/api/v1/streams", json=secret)
        assert answer.status_code == 422
        assert "s3cret" not in answer.text

    with running_service(settings()) as service:
        talk(service, conversation)


def test_large_body_is_413_with_and_without_a_length() -> None:
    async def pieces() -> object:
        for _ in range(100):
            yield b"x" * 1024

    async def conversation(client: httpx.AsyncClient) -> None:
        sdp = {"Content-Type": "application/sdp"}
        announced = await client.post("/whip/desk", content=b"x" * 99_000, headers=sdp)
        streamed = await client.post("/whip/desk", content=pieces(), headers=sdp)  # type: ignore[arg-type]
        assert (announced.status_code, streamed.status_code) == (413, 413)

    with running_service(settings()) as service:
        talk(service, conversation)


@pytest.mark.parametrize(
    "offer",
    [
        b"",
        b"v=0",
        b"hello",
        b"\xff\xfe\x00",
        b"v=0\r\nm=video 9 UDP/TLS/RTP/SAVPF 96\r\n",
        b"v=0\r\nm=video 9 UDP/TLS/RTP/SAVPF 96\r\na=fingerprint:sha-256 zz\r\n",
        b"v=0\r\nm=video 99999999999 X 96\r\na=fingerprint:sha-256 00\r\na=rtpmap:96 VP8/90000\r\n",
        b"v=0\r\no=- 1 1 IN IP4 0\r\ns=-\r\nt=0 0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 0\r\n",
        b"v=0\r\n" + b"a=candidate:x\r\n" * 100,
        b"v=0\r\n" + b"m=video 9 UDP/TLS/RTP/SAVPF 96\r\n" * 50,
    ],
    ids=range(10),
)
def test_malformed_offer_is_400(offer: bytes) -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        for path in ("/whip/desk", "/whep/desk"):
            headers = {"Content-Type": "application/sdp"}
            answer = await client.post(path, content=offer, headers=headers)
            assert answer.status_code == 400, answer.text

    with running_service(settings()) as service:
        talk(service, conversation)


def test_offer_of_another_media_type_is_415() -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        assert (await client.post("/whep/desk", json={})).status_code == 415

    with running_service(settings()) as service:
        talk(service, conversation)


@pytest.mark.parametrize("length", ["9" * 5000, "9" * 12, "-1", "1e3", "\u00b2"])
def test_length_that_no_body_has_is_413(length: str) -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        headers = {b"Content-Length": length.encode("latin-1")}
        answer = await client.get("/healthz", headers=headers)
        assert answer.status_code == 413

    with running_service(settings()) as service:
        talk(service, conversation)


def test_too_many_wrong_tokens_are_not_heard_any_more() -> None:
    bounds = Bounds(failures_per_minute=5)
    wrong = {"Authorization": "Bearer wrong"}

    async def conversation(client: httpx.AsyncClient) -> None:
        asked = [await client.get("/api/v1/streams", headers=wrong) for _ in range(8)]
        assert [one.status_code for one in asked] == [401] * 5 + [429] * 3
        good = await client.get("/api/v1/streams", headers=bearer("operator"))
        assert good.status_code == 429
        for probe in ("/healthz", "/readyz"):
            assert (await client.get(probe)).status_code == 200

    with running_service(settings(bounds=bounds)) as service, capture_logs() as told:
        talk(service, conversation, role=None)
    assert [one["event"] for one in told].count("token_refused") == 1


def test_page_without_a_token_does_not_lock_its_neighbours_out() -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        codes = [(await client.get("/api/v1/streams")).status_code for _ in range(8)]
        assert codes == [401] * 8
        good = await client.get("/api/v1/streams", headers=bearer("viewer"))
        assert good.status_code == 200

    with running_service(settings(bounds=Bounds(failures_per_minute=5))) as service:
        talk(service, conversation, role=None)


def test_request_storm_is_429_but_health_answers() -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        codes = [(await client.get("/api/v1/streams")).status_code for _ in range(12)]
        assert codes.count(200) == 10
        assert (await client.get("/healthz")).status_code == 200

    with running_service(settings(bounds=Bounds(requests_per_minute=10))) as service:
        talk(service, conversation)


def test_page_of_another_origin_is_refused() -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        evil = await client.get("/api/v1/streams", headers={"Origin": "http://evil.example"})
        assert evil.status_code == 403
        assert "access-control-allow-origin" not in evil.headers
        own = await client.get("/api/v1/streams", headers={"Origin": "http://localhost"})
        assert own.status_code == 200

    with running_service(settings()) as service:
        talk(service, conversation)


@pytest.mark.parametrize("origin", ["http://[", "http://[::", "//[", "null", "\x00"])
def test_malformed_origin_is_refused_like_any_other(origin: str) -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        for path in ("/", "/healthz", "/api/v1/streams"):
            assert (await client.get(path, headers={"Origin": origin})).status_code == 403

    with running_service(settings()) as service:
        talk(service, conversation)


def test_what_operators_do_is_logged_with_their_name() -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        assert (await client.post("/api/v1/streams", json={"name": "hall"})).status_code == 201
        for action in ("start", "stop", "stop", "start"):
            assert (await client.post(f"/api/v1/streams/hall/{action}")).status_code == 200
        assert (await client.delete("/api/v1/streams/hall")).status_code == 204

    with running_service(settings()) as service, capture_logs() as told:
        talk(service, conversation)
    events = [one["event"] for one in told if one.get("stream") == "hall"]
    assert events == ["stream_added", "stream_stopped", "stream_started", "stream_removed"]
    assert {one["holder"] for one in told if one.get("stream") == "hall"} == {"operator"}


def test_stream_that_is_not_to_start_leaves_no_thread() -> None:
    spec = StreamSpec(name="desk", start=False, sinks=("rtsp://10.0.0.1/out",))
    local = Sources(networks=("10.0.0.0/8",))
    with running_service(settings(streams=(spec,), sources=local)):
        pass  # the service looks for threads that were left


def test_service_without_tokens_answers_loopback_names_alone() -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        assert (await client.get("/api/v1/streams")).status_code == 200
        rebound = await client.get("/api/v1/streams", headers={"Host": "rebound.example"})
        assert rebound.status_code == 403

    with running_service(settings(access=Access())) as service:
        talk(service, conversation, role=None)


def test_listening_everywhere_without_tokens_does_not_validate() -> None:
    with pytest.raises(ValueError, match="tokens"):
        ServiceSettings(listen=Listen(host="0.0.0.0"))


def test_added_stream_is_listed_without_its_password_and_others_go_on() -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        source = "rtsp://user:s3cret@127.0.0.1:9/private"
        made = await client.post("/api/v1/streams", json={"name": "cam", "source": source})
        assert made.status_code == 201
        again = await client.post("/api/v1/streams", json={"name": "cam", "source": source})
        assert again.status_code == 409
        listed = (await client.get("/api/v1/streams")).text
        assert "s3cret" not in listed
        assert "private" not in listed
        assert "rtsp://127.0.0.1:9" in listed
        metrics = (await client.get("/metrics")).text
        assert 'kveil_fps{direction="in",stream="cam"}' in metrics
        assert "s3cret" not in metrics
        assert (await client.delete("/api/v1/streams/cam")).status_code == 204
        assert (await client.get("/api/v1/streams/cam")).status_code == 404

    local = Sources(networks=("127.0.0.0/8",))
    with running_service(settings(sources=local)) as service:
        desk = service.context.fleet.running("desk")
        talk(service, conversation)
        assert service.context.fleet.running("desk") is desk


def test_snapshot_before_the_first_picture_is_404_and_then_a_jpeg() -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        for _ in range(100):
            answer = await client.get("/api/v1/streams/desk/snapshot.jpg")
            if answer.status_code == 200:
                break
            assert answer.status_code == 404
            await asyncio.sleep(0.05)
        assert answer.content.startswith(b"\xff\xd8")
        preview = await client.get("/api/v1/streams/desk/preview.mjpeg?frames=2")
        assert preview.content.count(b"--picture") == 2

    with running_service(settings(live={"hold_s": 0.1})) as service:
        talk(service, conversation)


def test_stopped_stream_starts_again() -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        stopped = await client.post("/api/v1/streams/desk/stop")
        assert stopped.json()["state"] == "stopped"
        assert (await client.get("/api/v1/streams/desk/snapshot.jpg")).status_code == 409
        started = await client.post("/api/v1/streams/desk/start")
        assert started.json()["state"] != "stopped"
        assert (await client.get("/api/v1/streams/desk/report")).json()["frames"]["uncovered"] == 0

    with running_service(settings()) as service:
        talk(service, conversation)


def test_reload_changes_what_changed_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "kveil.yaml"
    access = tokens().model_dump(mode="json")

    def write(*streams: StreamSpec) -> None:
        entries = [one.model_dump(mode="json") for one in streams]
        file.write_text(yaml.safe_dump({"access": access, "streams": entries}))

    write(whip_stream(), whip_stream("hall"))
    from config.service_loading import load_service

    with running_service(load_service(file, {}), file) as service:
        desk = service.context.fleet.running("desk")
        write(whip_stream(), whip_stream("yard"))
        assert service.reload() == ["hall", "yard"]
        assert service.context.fleet.running("desk") is desk
        names = [member.spec.name for member in service.context.fleet.members()]
        assert names == ["desk", "yard"]


def test_answers_carry_headers_that_keep_browsers_safe() -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        page = await client.get("/")
        assert page.status_code == 200
        assert "script-src 'self'" in page.headers["content-security-policy"]
        assert page.headers["x-content-type-options"] == "nosniff"
        for path in ("/page/../app.py", "/page/%2e%2e/app.py", "/page/..%2fapp.py"):
            assert (await client.get(path)).status_code in (404, 400)

    with running_service(settings()) as service:
        talk(service, conversation, role=None)
    assert TOKENS


def test_service_whose_engines_hang_is_not_ready_but_lives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def conversation(client: httpx.AsyncClient) -> None:
        assert (await client.get("/readyz")).json() == {"status": "ok", "reasons": []}
        live = service.context.fleet.running("desk").live
        hung = replace(live.status(), hung_calls=2)
        monkeypatch.setattr(live, "status", lambda: hung)
        answer = await client.get("/readyz")
        assert answer.status_code == 503
        assert answer.json()["reasons"] == ["2 calls into the engines hang"]
        monkeypatch.setattr(Scheduler, "hung", 1)
        answer = await client.get("/readyz")
        assert answer.json()["reasons"] == ["3 calls into the engines hang"]
        assert "kveil_hung_runs 1.0" in (await client.get("/metrics")).text
        assert (await client.get("/healthz")).status_code == 200

    with running_service(settings()) as service:
        talk(service, conversation)
