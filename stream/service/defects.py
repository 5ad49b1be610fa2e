"""What no route foresaw: an answer of 500 and one line in the log, never a traceback."""

from __future__ import annotations

from typing import Final

import structlog
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Defects"]

_LOG = structlog.get_logger("kveil.http")
_TEXT: Final = "the service failed at this; its log names the error"


class Defects:
    """The outermost middleware.

    A handler of the framework would raise the exception once more, for the server to print.

    Args:
        app: what answers.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request, whatever happens."""
        has_begun = False

        async def seen(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            await self._app(scope, receive, seen)
        except Exception as error:
            route = getattr(scope.get("route"), "path", "unknown")
            name = type(error).__name__
            _LOG.error("internal_error", method=scope["method"], route=route, error=name)
            if not has_begun:  # an answer that was begun is cut off by the server
                await JSONResponse({"detail": _TEXT}, 500)(scope, receive, send)
