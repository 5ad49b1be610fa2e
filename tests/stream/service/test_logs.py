from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator

import httpx
import pytest
import structlog
from starlette.types import Message, Receive, Scope, Send
from structlog.testing import capture_logs

from config.service import Logging, ServiceSettings
from stream.service.defects import Defects
from stream.service.logs import configure_logs
from tests.stream.service.served import served
from tests.stream.service.service_bench import service_of, whip_stream

pytestmark = pytest.mark.unit
SECRET = "rtsp://user:s3cret@camera/live"


@pytest.fixture
def logs() -> Iterator[None]:
    """Logs as the service writes them, until the test ends."""
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    kept = structlog.get_config()
    configure_logs(Logging())
    yield
    structlog.configure(**kept)
    root.handlers[:] = before
    root.setLevel(level)


def lines_of(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    said = capsys.readouterr()
    assert "Traceback" not in said.out + said.err
    assert SECRET not in said.out + said.err
    return [json.loads(line) for line in (said.out + said.err).splitlines()]


def test_error_of_a_library_is_one_line_without_its_values(
    logs: None, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        raise ConnectionError(SECRET)
    except ConnectionError:
        logging.getLogger("uvicorn.error").exception("Exception in\nsomething %s", SECRET)
    logging.getLogger("asyncio").error(ConnectionError(SECRET))
    logging.getLogger("asyncio").warning("not important")
    first, second = lines_of(capsys)
    assert (first["event"], first["logger"]) == ("library_error", "uvicorn.error")
    assert (first["reason"], first["error"]) == ("Exception in", "ConnectionError")
    assert second["reason"] == "ConnectionError"


def test_defect_in_a_route_is_one_line_and_500(
    logs: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ServiceSettings(streams=(whip_stream(),), listen={"port": 0})  # type: ignore[arg-type]

    def broken(name: str) -> None:
        raise ConnectionError(SECRET)

    service = service_of(settings)
    with served(service, settings) as address:
        monkeypatch.setattr(service.context.fleet, "find", broken)
        capsys.readouterr()
        answer = httpx.get(f"{address}/api/v1/streams/desk")
        told = lines_of(capsys)
    assert answer.status_code == 500
    assert SECRET not in answer.text
    assert [(one["event"], one.get("error")) for one in told] == [
        ("internal_error", "ConnectionError")
    ]


def test_answer_that_was_begun_is_not_answered_again() -> None:
    sent: list[str] = []

    async def breaks_off(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise RuntimeError(SECRET)

    async def nothing() -> Message:
        return {"type": "http.disconnect"}

    async def keep(message: Message) -> None:
        sent.append(message["type"])

    with capture_logs() as told:
        asyncio.run(Defects(breaks_off)({"type": "http", "method": "GET"}, nothing, keep))
    assert sent == ["http.response.start"]
    assert [one["error"] for one in told] == ["RuntimeError"]
