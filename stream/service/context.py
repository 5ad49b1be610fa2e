"""What the routes share: the fleet, the tokens, the WebRTC sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Path, Request, params

from config.service import NAME_PATTERN, Role, ServiceSettings
from stream.service.limits import HOLDER
from stream.service.places import Places
from stream.service.tokens import Holder, TokenBook

if TYPE_CHECKING:
    from stream.files.report import EngineChoice
    from stream.scheduling.scheduler import Scheduler
    from stream.service.fleet import Fleet
    from stream.service.guests import Guests

__all__ = ["Context", "Name", "Shared", "Viewer", "allowed", "context_of"]


@dataclass(slots=True)
class Context:
    """Shared by all routes of one service.

    Attributes:
        settings: in force.
        fleet: the streams.
        tokens: in force; exchanged by a reload.
        viewers: WHEP sessions.
        publishers: WHIP sessions.
        engines: for reports.
        scheduler: runs the engines' networks.
        reload: reads the configuration again; gives the streams touched.
        previews: places of the MJPEG previews being served.
        players: places of HLS players that wait for a part.
        closing: set when the service ends, so that endless answers end too.
    """

    settings: ServiceSettings
    fleet: Fleet
    tokens: TokenBook
    viewers: Guests
    publishers: Guests
    engines: list[EngineChoice]
    scheduler: Scheduler
    reload: Callable[[], list[str]]
    previews: Places
    players: Places
    closing: asyncio.Event = field(default_factory=asyncio.Event)

    def send_away_soon(self, streams: Collection[str] = ()) -> None:
        """Ends who watches or publishes these streams or has no right any more; any thread."""
        for guests in (self.viewers, self.publishers):
            guests.end_soon(streams, self.tokens)

    async def send_strangers_away(self) -> None:
        """Ends who watches or publishes by a token that is gone or has expired."""
        for guests in (self.viewers, self.publishers):
            await guests.end_strangers(self.tokens)


def context_of(request: Request) -> Context:
    """The context of the service that answers."""
    context = request.app.state.context
    assert isinstance(context, Context)
    return context


def allowed(role: Role) -> params.Depends:
    """A route's dependency: the caller's token must allow `role`."""

    def check(request: Request) -> Holder:
        tokens = context_of(request).tokens
        address = request.client.host if request.client else ""
        holder = tokens.holder(request.headers.get("authorization"), role, address)
        setattr(request.state, HOLDER, holder.name)
        return holder

    dependency: params.Depends = Depends(check)
    return dependency


Name = Annotated[str, Path(pattern=NAME_PATTERN, max_length=48, description="Name of a stream.")]
Shared = Annotated[Context, Depends(context_of)]
Viewer = Annotated[Holder, allowed("viewer")]
