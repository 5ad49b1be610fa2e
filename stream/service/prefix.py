"""The service behind a prefix: a reverse proxy that answers `/kveil/` with what stands at `/`."""

from __future__ import annotations

import re
from typing import Final

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["PrefixBound", "prefix_of"]

_PREFIX: Final = re.compile(r"(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*){1,16}")
_LONGEST: Final = 256
_KEY: Final = "kveil.prefix"


class PrefixBound:
    """Middleware: takes the prefix off a path, and keeps it for the addresses in answers.

    A proxy may leave the prefix in the path or take it off; both work. Where the configuration
    names no prefix, the header `X-Forwarded-Prefix` of the proxy does. It changes nothing but
    the addresses that its own sender gets, so anybody may send it.

    Args:
        app: what answers.
        root_path: prefix of the configuration; empty for none.
    """

    def __init__(self, app: ASGIApp, root_path: str) -> None:
        self._app = app
        self._root_path = root_path.rstrip("/")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hands on one request."""
        if scope["type"] == "http":
            prefix = self._root_path or _forwarded(Headers(scope=scope))
            path = scope["path"]
            if prefix and (path + "/").startswith(prefix + "/"):
                path = path[len(prefix) :] or "/"
            scope = {**scope, "path": path, "raw_path": path.encode(), _KEY: prefix}
        await self._app(scope, receive, send)


def prefix_of(request: Request) -> str:
    """The prefix under which the caller sees the service; empty, or such as `/kveil`."""
    return str(request.scope.get(_KEY, ""))


def _forwarded(headers: Headers) -> str:
    """What the nearest proxy says; anything that is no plain path counts as nothing."""
    text = headers.get("x-forwarded-prefix", "").split(",")[0].strip().rstrip("/")
    return text if len(text) <= _LONGEST and _PREFIX.fullmatch(text) else ""
