"""Low-latency HLS (RFC 8216bis): playlist, segments and parts of the anonymized picture."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Path, Query, Response

from stream.service.context import Name, Shared, Viewer, allowed
from stream.service.errors import PlaylistRefused, StreamUnknown

__all__ = ["router"]

router = APIRouter(prefix="/hls", tags=["hls"], dependencies=[allowed("viewer")])
Number = Annotated[int, Path(ge=0, le=10**9)]
Place = Annotated[int, Path(ge=0, le=1000)]
Awaited = Annotated[int | None, Query(ge=0, le=10**9)]
_BEGIN_S: Final = 8.0
_WAIT_S: Final = 5.0
_PLAYLIST: Final = "application/vnd.apple.mpegurl"
_MEDIA: Final = "video/mp4"
_ANSWERS: Final[dict[int | str, dict[str, object]]] = {
    400: {"description": "The segment waited for lies in a far future."},
    401: {"description": "No valid token."},
    403: {"description": "The token does not allow that."},
    404: {"description": "No such stream, or no such segment, or none any more."},
    409: {"description": "The stream is stopped."},
    429: {"description": "Too many requests."},
    503: {"description": "Too many players wait; see Retry-After."},
}
_MEDIA_ANSWERS: Final[dict[int | str, dict[str, object]]] = {
    **_ANSWERS,
    200: {"content": {_MEDIA: {}}},
}


@router.get(
    "/{name}/live.m3u8",
    response_class=Response,
    responses={**_ANSWERS, 200: {"content": {_PLAYLIST: {}}}},
)
async def read_playlist(
    name: Name,
    shared: Shared,
    holder: Viewer,
    segment: Annotated[Awaited, Query(alias="_HLS_msn")] = None,
    part: Annotated[Awaited, Query(alias="_HLS_part")] = None,
) -> Response:
    """The playlist; with `_HLS_msn` once it has that segment, or its part `_HLS_part`."""
    hls = shared.fleet.running(name).hls
    window = hls.ask()
    if part is not None and segment is None:
        raise PlaylistRefused("_HLS_part comes with _HLS_msn")
    with shared.players.take(name, holder):
        if not await hls.until(lambda: bool(window.playlist()), _BEGIN_S):
            raise StreamUnknown("there is no segment yet")
        if segment is not None:
            if window.is_far_ahead(segment):
                raise PlaylistRefused("that segment lies in a far future; read the playlist again")
            await hls.until(lambda: window.has(segment, part), _WAIT_S)
    return Response(window.playlist(), media_type=_PLAYLIST)


@router.get(
    "/{name}/init.mp4",
    response_class=Response,
    responses=_MEDIA_ANSWERS,
)
def read_initial(name: Name, shared: Shared) -> Response:
    """What a player needs before the first segment."""
    return _media(shared.fleet.running(name).hls.ask().initial)


@router.get(
    "/{name}/{number}.{place}.m4s",
    response_class=Response,
    responses=_MEDIA_ANSWERS,
)
async def read_part(
    name: Name, number: Number, place: Place, shared: Shared, holder: Viewer
) -> Response:
    """A part; the next one that the playlist hints at is waited for."""
    hls = shared.fleet.running(name).hls
    window = hls.ask()
    if not window.is_far_ahead(number):
        with shared.players.take(name, holder):
            await hls.until(lambda: window.has(number, place), _WAIT_S)
    return _media(window.part(number, place))


@router.get(
    "/{name}/{number}.m4s",
    response_class=Response,
    responses=_MEDIA_ANSWERS,
)
def read_segment(name: Name, number: Number, shared: Shared) -> Response:
    """A complete segment."""
    return _media(shared.fleet.running(name).hls.ask().segment(number))


def _media(data: bytes | None) -> Response:
    if not data:
        raise StreamUnknown("there is no such segment, or no longer; read the playlist again")
    return Response(data, media_type=_MEDIA)
