"""WHIP (RFC 9725) and WHEP (draft-ietf-wish-whep): browsers publish and watch."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Depends, Path, Request, Response

from config.service import NAME_PATTERN
from stream.live.assembly import RunningStream
from stream.live.errors import OfferRefused, ViewerRefused
from stream.live.rtc_sessions import RtcSession
from stream.live.whep import codec_of_offer, send_sound_to, send_to
from stream.service.context import Context, allowed, context_of
from stream.service.errors import StreamConflict, StreamUnknown
from stream.service.guests import TAKEN_AWAY, Guests
from stream.service.tokens import Holder

__all__ = ["router"]

router = APIRouter(tags=["webrtc"])
Name = Annotated[str, Path(pattern=NAME_PATTERN, max_length=48, description="Name of a stream.")]
SessionId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Shared = Annotated[Context, Depends(context_of)]
Viewer = Annotated[Holder, allowed("viewer")]
Publisher = Annotated[Holder, allowed("publisher")]
_SDP: Final = "application/sdp"
_OFFER: Final[dict[str, object]] = {
    "requestBody": {"required": True, "content": {_SDP: {"schema": {"type": "string"}}}}
}
_ANSWERS: Final[dict[int | str, dict[str, object]]] = {
    201: {"description": "The answer.", "content": {_SDP: {"schema": {"type": "string"}}}},
    400: {"description": "The offer is malformed or has nothing in common with the service."},
    401: {"description": "No valid token."},
    403: {"description": "The token does not allow that."},
    404: {"description": "No such stream or session."},
    409: {"description": "The stream is stopped, or is not fed by browsers."},
    413: {"description": "The offer is too large."},
    415: {"description": "The body is not application/sdp."},
    429: {"description": "Too many requests."},
    503: {"description": "Every place is taken; see Retry-After."},
}


@router.post(
    "/whip/{name}",
    status_code=201,
    openapi_extra=_OFFER,
    responses=_ANSWERS,
    response_class=Response,
)
async def publish(name: Name, request: Request, shared: Shared, holder: Publisher) -> Response:
    """Publishes a browser's camera as the source of a stream."""
    running = shared.fleet.running(name)
    entrance = running.entrance
    if entrance is None:
        raise StreamConflict("this stream has a source of its own")
    offer = await _offer(request, shared)

    async def prepare(session: RtcSession) -> None:
        if _is_wanted(shared, running, session):
            await entrance.receive_from(session)

    session, answer = await shared.publishers.begin(name, offer, prepare, holder)
    await _end_unless_runs(shared, running, shared.publishers, session)
    return _created("whip", session, answer)


@router.post(
    "/whep/{name}",
    status_code=201,
    openapi_extra=_OFFER,
    responses=_ANSWERS,
    response_class=Response,
)
async def watch(name: Name, request: Request, shared: Shared, holder: Viewer) -> Response:
    """Sends the anonymized pictures of a stream to a browser."""
    running = shared.fleet.running(name)
    offer = await _offer(request, shared)
    codec = codec_of_offer(offer)
    if shared.viewers.count(name) >= shared.settings.webrtc.max_viewers:
        running.live.counters.add("viewers_refused")
        raise ViewerRefused("every place for viewers is taken; try again in a moment")

    async def prepare(session: RtcSession) -> None:
        if not _is_wanted(shared, running, session):
            return
        await send_to(session, running.encoder(codec), codec)
        if running.spec.audio == "pass":
            send_sound_to(session, running.live.output)

    session, answer = await shared.viewers.begin(name, offer, prepare, holder)
    await _end_unless_runs(shared, running, shared.viewers, session)
    return _created("whep", session, answer)


@router.delete("/whip/{name}/{session_id}", dependencies=[allowed("publisher")], responses=_ANSWERS)
async def unpublish(name: Name, session_id: SessionId, shared: Shared) -> None:
    """Ends a publication."""
    await _end(shared.publishers, name, session_id)


@router.delete("/whep/{name}/{session_id}", dependencies=[allowed("viewer")], responses=_ANSWERS)
async def leave(name: Name, session_id: SessionId, shared: Shared) -> None:
    """Ends watching."""
    await _end(shared.viewers, name, session_id)


async def _offer(request: Request, shared: Context) -> str:
    if not shared.settings.webrtc.is_enabled:
        raise StreamConflict("WebRTC is turned off; see webrtc.is_enabled")
    if request.headers.get("content-type", "").split(";")[0].strip().lower() != _SDP:
        raise _UnsupportedBody("send an SDP offer with Content-Type application/sdp")
    try:
        return (await request.body()).decode("utf-8")
    except UnicodeDecodeError:
        raise OfferRefused("the offer is not UTF-8 text") from None


def _created(kind: str, session: RtcSession, answer: str) -> Response:
    headers = {"Location": f"/{kind}/{session.stream}/{session.id}"}
    return Response(answer, 201, headers, media_type=_SDP)


def _is_wanted(shared: Context, running: RunningStream, session: RtcSession) -> bool:
    """Whether there is still something to join; a stopped stream would keep what joins it."""
    return not session.is_ended and shared.fleet.has(running)


async def _end_unless_runs(
    shared: Context, running: RunningStream, guests: Guests, session: RtcSession
) -> None:
    """Ends a session whose stream was taken away while its offer was being answered."""
    if not shared.fleet.has(running):
        await guests.end(session)
        raise StreamConflict(TAKEN_AWAY)


async def _end(sessions: Guests, name: str, session_id: str) -> None:
    session = sessions.find(session_id)
    if session is None or session.stream != name:
        raise StreamUnknown("there is no such session")
    await sessions.end(session)


class _UnsupportedBody(OfferRefused):
    """The body has another media type."""

    status = 415
