"""REST: streams, their status, report and anonymized picture."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Final

import structlog
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from config.service import ServiceSettings, StreamSpec
from stream.live.latest_picture import LatestPicture, jpeg_from_composite
from stream.service.context import Context, Name, Shared, Viewer, allowed
from stream.service.errors import StreamUnknown
from stream.service.places import Place
from stream.service.tokens import Holder
from stream.service.views import ReportView, StreamView, report_of, view_of

__all__ = ["router"]

_LOG = structlog.get_logger("kveil.http")
router = APIRouter(prefix="/api/v1", tags=["streams"])
_PREVIEW_PAUSE_S: Final = 0.1
_REFUSALS: Final[dict[int | str, dict[str, object]]] = {
    401: {"description": "No valid token."},
    403: {"description": "The token does not allow that, or an address is not allowed."},
    404: {"description": "No such stream."},
    409: {"description": "The name is taken, or the stream is not in the state for that."},
    413: {"description": "The body is too large."},
    429: {"description": "Too many requests."},
}
_VIEWER = [allowed("viewer")]
Operator = Annotated[Holder, allowed("operator")]


@router.get("/streams", dependencies=_VIEWER, responses=_REFUSALS)
def list_streams(shared: Shared) -> list[StreamView]:
    """Every stream and its state."""
    return [view_of(member) for member in shared.fleet.members()]


@router.post("/streams", status_code=201, responses=_REFUSALS)
def add_stream(spec: StreamSpec, shared: Shared, holder: Operator) -> StreamView:
    """Adds a stream; the others are not touched."""
    return view_of(shared.fleet.add(spec, holder.name))


@router.get("/streams/{name}", dependencies=_VIEWER, responses=_REFUSALS)
def read_stream(name: Name, shared: Shared) -> StreamView:
    """One stream and its state."""
    return view_of(shared.fleet.find(name))


@router.delete("/streams/{name}", status_code=204, responses=_REFUSALS)
async def remove_stream(name: Name, shared: Shared, holder: Operator) -> None:
    """Stops a stream and forgets it."""
    shared.fleet.find(name)
    async with _without_guests(shared, name):
        await asyncio.to_thread(shared.fleet.remove, name, holder.name)


@router.post("/streams/{name}/start", responses=_REFUSALS)
def start_stream(name: Name, shared: Shared, holder: Operator) -> StreamView:
    """Starts a stopped stream."""
    return view_of(shared.fleet.start(name, holder.name))


@router.post("/streams/{name}/stop", responses=_REFUSALS)
async def stop_stream(name: Name, shared: Shared, holder: Operator) -> StreamView:
    """Stops a stream and keeps its entry."""
    shared.fleet.find(name)
    async with _without_guests(shared, name):
        return view_of(await asyncio.to_thread(shared.fleet.stop, name, holder.name))


@router.get("/streams/{name}/report", dependencies=_VIEWER, responses=_REFUSALS)
def read_report(name: Name, shared: Shared) -> ReportView:
    """What became of the stream's frames and faces."""
    member = shared.fleet.find(name)
    method = member.spec.method or shared.settings.anonymize.method
    return report_of(member, method, shared.engines)


@router.get(
    "/streams/{name}/snapshot.jpg",
    dependencies=_VIEWER,
    response_class=Response,
    responses={**_REFUSALS, 200: {"content": {"image/jpeg": {}}}},
)
def read_snapshot(
    name: Name, shared: Shared, width: Annotated[int, Query(ge=16, le=3840)] = 1280
) -> Response:
    """The newest anonymized picture."""
    composite = shared.fleet.running(name).latest.composite
    if composite is None:
        raise StreamUnknown("there is no picture yet")
    return Response(jpeg_from_composite(composite, width), media_type="image/jpeg")


@router.get(
    "/streams/{name}/preview.mjpeg",
    response_class=Response,
    responses={**_REFUSALS, 200: {"content": {"multipart/x-mixed-replace": {}}}},
)
async def read_preview(
    name: Name,
    request: Request,
    shared: Shared,
    holder: Viewer,
    frames: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
) -> StreamingResponse:
    """Anonymized pictures one after the other, at most ten a second; `frames` 0 is endless."""
    running = shared.fleet.running(name)
    place = shared.previews.take(name, holder)

    def goes_on() -> bool:
        is_let_in = shared.tokens.stands(holder, "viewer")
        return is_let_in and shared.fleet.has(running) and not shared.closing.is_set()

    return _Preview(_pictures(running.latest, request, frames, goes_on), place)


@router.get("/schema", dependencies=_VIEWER, responses=_REFUSALS)
def read_schema() -> dict[str, object]:
    """JSON schema of the configuration."""
    schema: dict[str, object] = ServiceSettings.model_json_schema()
    return schema


@router.post("/reload", responses={**_REFUSALS, 422: {"description": "The file does not hold."}})
async def reload_configuration(shared: Shared, holder: Operator) -> list[str]:
    """Reads the configuration file again; gives the names of the streams touched."""
    _LOG.info("reload_asked", holder=holder.name)
    return await asyncio.to_thread(shared.reload)


@asynccontextmanager
async def _without_guests(shared: Context, name: str) -> AsyncIterator[None]:
    """Sends everybody away before the block, and after it whoever came meanwhile."""
    await _send_everybody_away(shared, name)
    try:
        yield
    finally:
        await _send_everybody_away(shared, name)


async def _send_everybody_away(shared: Context, name: str) -> None:
    await shared.viewers.sessions.end_all(name)
    await shared.publishers.sessions.end_all(name)


class _Preview(StreamingResponse):
    """Gives its place back however it ends, also before its first byte.

    Args:
        pictures: parts of the answer.
        place: that the viewer has taken.
    """

    def __init__(self, pictures: AsyncIterator[bytes], place: Place) -> None:
        super().__init__(pictures, media_type="multipart/x-mixed-replace; boundary=picture")
        self._place = place

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._place.release()


async def _pictures(
    latest: LatestPicture, request: Request, frames: int, goes_on: Callable[[], bool]
) -> AsyncIterator[bytes]:
    seen, sent = 0, 0
    while goes_on() and not await request.is_disconnected():
        composite = latest.composite
        if composite is not None and latest.number > seen:
            seen = latest.number
            jpeg = await asyncio.to_thread(jpeg_from_composite, composite, 960)
            head = f"--picture\r\nContent-Type: image/jpeg\r\nContent-Length: {len(jpeg)}"
            yield head.encode() + b"\r\n\r\n" + jpeg + b"\r\n"
            sent += 1
            if sent == frames:
                break
        await asyncio.sleep(_PREVIEW_PAUSE_S)
