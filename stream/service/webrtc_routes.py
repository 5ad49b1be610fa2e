"""WHIP (RFC 9725) and WHEP (draft-ietf-wish-whep): browsers publish and watch.

A session has an entity tag and takes further addresses by PATCH (trickle ICE). ICE is never
restarted: a client that lost its path begins a new session.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Final

from fastapi import APIRouter, Path, Request, Response

from stream.live.errors import OfferRefused, ViewerRefused
from stream.live.rtc_sessions import RtcSession
from stream.live.running_stream import RunningStream
from stream.live.whep import codec_of_offer, send_sound_to, send_to
from stream.service.context import Context, Name, Shared, Viewer, allowed
from stream.service.errors import StreamConflict, StreamUnknown
from stream.service.guests import TAKEN_AWAY, Guests
from stream.service.prefix import prefix_of
from stream.service.tokens import Holder

__all__ = ["router"]

router = APIRouter(tags=["webrtc"])
SessionId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
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
_FRAGMENT_TYPE: Final = "application/trickle-ice-sdpfrag"
_FRAGMENT: Final[dict[str, object]] = {
    "requestBody": {"required": True, "content": {_FRAGMENT_TYPE: {"schema": {"type": "string"}}}}
}
_PATCH_ANSWERS: Final[dict[int | str, dict[str, object]]] = {
    **{number: _ANSWERS[number] for number in (400, 401, 403, 404, 413, 415, 429)},
    204: {"description": "The addresses are taken."},
    412: {"description": "If-Match has another entity tag."},
    422: {"description": "ICE is not restarted; begin a new session."},
    428: {"description": "If-Match is missing."},
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
        before = entrance.unconnected
        if before is not None:
            await shared.publishers.sessions.end(before)
        if _is_wanted(shared, running, session):
            await entrance.receive_from(session)

    session, answer = await shared.publishers.begin(name, offer, prepare, holder)
    await _end_unless_runs(shared, running, shared.publishers, session)
    return _created(request, "whip", session, answer)


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
    codec, offer = codec_of_offer(await _offer(request, shared))

    async def prepare(session: RtcSession) -> None:
        if not _is_wanted(shared, running, session):
            return
        await send_to(session, running.live.encoders.stage(codec))
        if running.spec.audio == "pass":
            send_sound_to(session, running.live.output)

    try:
        session, answer = await shared.viewers.begin(name, offer, prepare, holder)
    except ViewerRefused:
        running.live.counters.add("viewers_refused")
        raise
    await _end_unless_runs(shared, running, shared.viewers, session)
    return _created(request, "whep", session, answer)


@router.delete("/whip/{name}/{session_id}", dependencies=[allowed("publisher")], responses=_ANSWERS)
async def unpublish(name: Name, session_id: SessionId, shared: Shared) -> None:
    """Ends a publication."""
    await shared.publishers.sessions.end(_session(shared.publishers, name, session_id))


@router.delete("/whep/{name}/{session_id}", dependencies=[allowed("viewer")], responses=_ANSWERS)
async def leave(name: Name, session_id: SessionId, shared: Shared) -> None:
    """Ends watching."""
    await shared.viewers.sessions.end(_session(shared.viewers, name, session_id))


@router.patch(
    "/whip/{name}/{session_id}",
    status_code=204,
    openapi_extra=_FRAGMENT,
    responses=_PATCH_ANSWERS,
    dependencies=[allowed("publisher")],
)
async def add_publisher_address(
    name: Name, session_id: SessionId, request: Request, shared: Shared
) -> Response:
    """Takes further addresses of who publishes (trickle ICE)."""
    return await _patched(shared.publishers, name, session_id, request)


@router.patch(
    "/whep/{name}/{session_id}",
    status_code=204,
    openapi_extra=_FRAGMENT,
    responses=_PATCH_ANSWERS,
    dependencies=[allowed("viewer")],
)
async def add_viewer_address(
    name: Name, session_id: SessionId, request: Request, shared: Shared
) -> Response:
    """Takes further addresses of who watches (trickle ICE)."""
    return await _patched(shared.viewers, name, session_id, request)


@router.options("/whip/{name}", status_code=204, include_in_schema=False)
@router.options("/whep/{name}", status_code=204, include_in_schema=False)
def tell_what_is_taken(name: Name) -> Response:
    """What may be posted; needs no token, as browsers ask without one."""
    del name
    return Response(None, 204, {"Accept-Post": _SDP, "Allow": "POST, OPTIONS"})


async def _offer(request: Request, shared: Context) -> str:
    if not shared.settings.webrtc.is_enabled:
        raise StreamConflict("WebRTC is turned off; see webrtc.is_enabled")
    if _body_type(request) != _SDP:
        raise _Refused(415, "send an SDP offer with Content-Type application/sdp")
    return await _text_of(request)


def _body_type(request: Request) -> str:
    return request.headers.get("content-type", "").split(";")[0].strip().lower()


async def _text_of(request: Request) -> str:
    try:
        return (await request.body()).decode("utf-8")
    except UnicodeDecodeError:
        raise OfferRefused("the body is not UTF-8 text") from None


def _created(request: Request, kind: str, session: RtcSession, answer: str) -> Response:
    headers = {
        "Location": f"{prefix_of(request)}/{kind}/{session.stream}/{session.id}",
        "ETag": _tag_of(session),
        "Accept-Patch": _FRAGMENT_TYPE,
    }
    return Response(answer, 201, headers, media_type=_SDP)


def _tag_of(session: RtcSession) -> str:
    """The entity tag of a session's only ICE session; tells nothing of the session's id."""
    return '"' + hashlib.sha256(session.id.encode()).hexdigest()[:16] + '"'


async def _patched(guests: Guests, name: str, session_id: str, request: Request) -> Response:
    session = _session(guests, name, session_id)
    if _body_type(request) != _FRAGMENT_TYPE:
        raise _Refused(415, f"send a fragment with Content-Type {_FRAGMENT_TYPE}")
    wanted = request.headers.get("if-match", "")
    if not wanted:
        raise _Refused(428, "send the ETag of the session in If-Match")
    if wanted != "*" and _tag_of(session) not in [tag.strip() for tag in wanted.split(",")]:
        raise _Refused(412, "the session has another ETag")
    if wanted == "*" or not await guests.sessions.add_candidates(session, await _text_of(request)):
        raise _Refused(422, "ICE is not restarted; begin a new session")
    return Response(None, 204, {"ETag": _tag_of(session)})


def _is_wanted(shared: Context, running: RunningStream, session: RtcSession) -> bool:
    """Whether there is still something to join; a stopped stream would keep what joins it."""
    return not session.is_ended and shared.fleet.has(running)


async def _end_unless_runs(
    shared: Context, running: RunningStream, guests: Guests, session: RtcSession
) -> None:
    """Ends a session whose stream was taken away while its offer was being answered."""
    if not shared.fleet.has(running):
        await guests.sessions.end(session)
        raise StreamConflict(TAKEN_AWAY)


def _session(guests: Guests, name: str, session_id: str) -> RtcSession:
    session = guests.sessions.find(session_id)
    if session is None or session.stream != name:
        raise StreamUnknown("there is no such session")
    return session


class _Refused(OfferRefused):
    """What was sent is refused, with another status than a malformed offer."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
