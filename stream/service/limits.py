"""Bounds and safety of every request, before any route sees it."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import urlsplit

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["HOLDER", "Buckets", "RequestBounds"]

HOLDER: Final = "holder"
"""Where a request's state keeps the name of its token, for the log."""

_LOG = structlog.get_logger("kveil.http")
_BODY_S: Final = 10.0
_MOST_CLIENTS: Final = 4096
_MOST_REQUESTS: Final = 512
"""Under way at once; probes are answered all the same."""
_MOST_DIGITS: Final = 12
_ALIVE: Final = "/healthz"
_PROBES: Final = {_ALIVE, "/readyz"}
"""Asked by supervisors, which share an address with whoever sends wrong tokens."""
_LOOPBACK_HOSTS: Final = {"localhost", "127.0.0.1", "::1"}
_SAFETY: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
        "media-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
}


class Buckets:
    """One token bucket per client; memory is bounded, the longest silent client goes first.

    Args:
        per_minute: refill and size of a bucket.
        now: monotonic seconds.

    >>> buckets = Buckets(2, now=lambda: 0.0)
    >>> [buckets.take("10.0.0.1") for _ in range(3)]
    [True, True, False]
    """

    def __init__(self, per_minute: int, now: Callable[[], float] = time.monotonic) -> None:
        self._size = float(per_minute)
        self._now = now
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, client: str) -> bool:
        """Takes one; false if the bucket is empty."""
        level = self._level(client)
        is_allowed = level >= 1.0
        self._levels[client] = (level - 1.0 if is_allowed else level, self._now())
        self._levels.move_to_end(client)
        while len(self._levels) > _MOST_CLIENTS:
            self._levels.popitem(last=False)
        return is_allowed

    def has_any(self, client: str) -> bool:
        """Whether one could be taken."""
        return self._level(client) >= 1.0

    def _level(self, client: str) -> float:
        level, then = self._levels.get(client, (self._size, self._now()))
        return min(self._size, level + (self._now() - then) * self._size / 60.0)


class RequestBounds:
    """Middleware: sizes, rates, origins, and headers that keep browsers safe.

    Args:
        app: what answers.
        body_bytes: largest body, also where no length is announced.
        requests: bucket of each client address.
        failures: bucket of refused tokens; when it is empty the client is not heard. A
            request without a token takes nothing from it.
        origins: other origins whose pages may call.
        is_open: no token is asked for: then only loopback names are answered, so that a web
            page elsewhere cannot reach the service by a name that it controls.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        body_bytes: int,
        requests: Buckets,
        failures: Buckets,
        origins: Sequence[str],
        is_open: Callable[[], bool],
    ) -> None:
        self._app = app
        self._body_bytes = body_bytes
        self._requests = requests
        self._failures = failures
        self._origins = set(origins)
        self._is_open = is_open
        self._tellings = Buckets(1)
        self._under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        client = scope["client"][0] if scope.get("client") else "unknown"
        refusal = self._refusal(Headers(scope=scope), client, scope["path"])
        if refusal is not None:
            status, text = refusal
            answer = JSONResponse({"detail": text}, status, headers=_after(status))
            await answer(scope, receive, _safely(send))
            return
        self._under_way += 1
        try:
            await self._bounded(scope, receive, self._counting(client, scope, _safely(send)))
        finally:
            self._under_way -= 1

    def _refusal(self, headers: Headers, client: str, path: str) -> tuple[int, str] | None:
        if path not in _PROBES and self._under_way >= _MOST_REQUESTS:
            return 503, "too many requests are under way; try again in a moment"
        if path != _ALIVE and not self._requests.take(client):
            return 429, "too many requests; slow down"
        if path not in _PROBES and not self._failures.has_any(client):
            return 429, "too many refused tokens; wait a minute"
        if self._is_open() and _host_of(headers.get("host", "")) not in _LOOPBACK_HOSTS:
            return 403, "without tokens only localhost is answered"
        if not self._is_own_origin(headers):
            return 403, "that origin may not call; see listen.cors_origins"
        length = headers.get("content-length", "0")
        is_number = length.isdecimal() and len(length) <= _MOST_DIGITS
        if not is_number or int(length) > self._body_bytes:
            return 413, f"a request has at most {self._body_bytes} bytes"
        return None

    def _is_own_origin(self, headers: Headers) -> bool:
        origin = headers.get("origin")
        if origin is None or origin in self._origins:
            return True
        # A page elsewhere cannot make a browser send the second header with its first request.
        hosts = [headers.get(name, "") for name in ("host", "x-forwarded-host")]
        try:
            return urlsplit(origin).netloc.lower() in [one.lower() for one in hosts if one]
        except ValueError:
            return False

    async def _bounded(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reads the whole body, which is small, before anything parses it."""
        body = b""
        try:
            async with asyncio.timeout(_BODY_S):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        return
                    body += message.get("body", b"")
                    if len(body) > self._body_bytes or not message.get("more_body", False):
                        break
        except TimeoutError:
            await JSONResponse({"detail": "the body is too slow"}, 408)(scope, receive, send)
            return
        if len(body) > self._body_bytes:
            text = f"a request has at most {self._body_bytes} bytes"
            await JSONResponse({"detail": text}, 413)(scope, receive, send)
            return
        await self._app(scope, _replayed(body, receive), send)

    def _counting(self, client: str, scope: Scope, send: Send) -> Send:
        start = time.monotonic()

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                if message["status"] == 401 and Headers(scope=scope).get("authorization"):
                    self._count_failure(client)
                _log(scope, message["status"], time.monotonic() - start)
            await send(message)

        return counted

    def _count_failure(self, client: str) -> None:
        """Counts a wrong token; sending none is how a page finds out that it needs one."""
        self._failures.take(client)
        if self._tellings.take(client):  # addresses follow people, so the log does without
            _LOG.warning("token_refused", status=401)


def _log(scope: Scope, status: int, seconds: float) -> None:
    """Logs the route's pattern, never its values: a path may hold a session's id."""
    told = {
        "method": scope["method"],
        "route": getattr(scope.get("route"), "path", "unknown"),
        "status": status,
        "duration_ms": seconds * 1e3,
    }
    holder = scope.get("state", {}).get(HOLDER)
    _LOG.debug("request", **told, **({"holder": holder} if holder else {}))


def _replayed(body: bytes, receive: Receive) -> Receive:
    is_given = False

    async def replay() -> Message:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _after(status: int) -> dict[str, str]:
    return {"Retry-After": "10"} if status in (429, 503) else {}


def _safely(send: Send) -> Send:
    async def safe(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _SAFETY.items():
                headers.setdefault(name, value)
        await send(message)

    return safe


def _host_of(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""
