"""The web application: routes, bounds, and errors in one line."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from fastapi.staticfiles import StaticFiles

from config.errors import ConfigError
from engines.errors import KveilError
from stream.live.errors import AddressRefused, OfferRefused, ViewerRefused
from stream.service import hls_routes, stream_routes, webrtc_routes
from stream.service.context import Context, context_of
from stream.service.defects import Defects
from stream.service.errors import ServiceRefusal
from stream.service.limits import Buckets, RequestBounds
from stream.service.metrics import metrics_text
from stream.service.prefix import PrefixBound, prefix_of
from stream.service.views import Health

__all__ = ["create_app"]

_LOG = structlog.get_logger("kveil.app")
_LOOK_S: Final = 1.0
_PAGE: Final = Path(__file__).with_name("page")
_METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


def create_app(context: Context) -> FastAPI:
    """The application for a context; the context's fleet is stopped when it ends."""
    app = FastAPI(
        title="kveil",
        version="1",
        description="Anonymizes faces in live video, fail-closed.",
        lifespan=_lifespan,
        docs_url=None,
        redoc_url=None,
    )
    app.state.context = context
    app.include_router(stream_routes.router)
    app.include_router(webrtc_routes.router)
    app.include_router(hls_routes.router)
    _add_own_routes(app)
    _add_refusals(app)
    bounds = context.settings.bounds
    origins = list(context.settings.listen.cors_origins)
    if origins:
        from fastapi.middleware.cors import CORSMiddleware

        app.add_middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_methods=["GET", "POST", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "If-Match"],
            expose_headers=["Location", "ETag", "Accept-Patch"],
        )
    app.add_middleware(
        RequestBounds,
        body_bytes=bounds.body_bytes,
        requests=Buckets(bounds.requests_per_minute),
        failures=Buckets(bounds.failures_per_minute),
        origins=origins,
        is_open=lambda: context.tokens.is_open,
    )
    app.add_middleware(Defects)
    app.add_middleware(PrefixBound, root_path=context.settings.listen.root_path)
    app.mount("/page", StaticFiles(directory=_PAGE), name="page")
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    context: Context = app.state.context
    attendance = asyncio.create_task(_attend(context))
    yield
    attendance.cancel()
    context.closing.set()
    await context.viewers.sessions.end_all()
    await context.publishers.sessions.end_all()


async def _attend(context: Context) -> None:
    """Sends away whose token expires while they watch or publish."""
    while True:
        await asyncio.sleep(_LOOK_S)
        try:
            await context.send_strangers_away()
        except Exception as error:  # the next look is worth trying
            _LOG.error("look_failed", error=type(error).__name__)


def _add_own_routes(app: FastAPI) -> None:
    @app.get("/healthz", tags=["health"])
    async def healthz() -> Health:  # answers also while every thread for requests waits
        """Whether the process answers."""
        return Health(status="ok")

    @app.get("/readyz", tags=["health"], responses={503: {"model": Health}})
    def readyz(request: Request, response: Response) -> Health:
        """Whether streams can be run as promised."""
        reasons = _reasons_against(context_of(request))
        if reasons:
            response.status_code = 503
            return Health(status="not ready", reasons=reasons)
        return Health(status="ok")

    @app.get("/metrics", tags=["health"], response_class=Response)
    def metrics(request: Request) -> Response:
        """Metrics for Prometheus."""
        context = context_of(request)
        if context.settings.access.metrics_need_token:
            context.tokens.holder(request.headers.get("authorization"), "viewer")
        return Response(metrics_text(context.fleet, context.scheduler), media_type=_METRICS_TYPE)

    @app.get("/", include_in_schema=False)
    def page(request: Request) -> HTMLResponse:
        """The page for people; its addresses hold under any prefix, with or without a slash."""
        text = (_PAGE / "index.html").read_text(encoding="utf-8")
        return HTMLResponse(text.replace('="page/', f'="{prefix_of(request)}/page/'))


def _reasons_against(context: Context) -> list[str]:
    """Why streams cannot be run as promised."""
    reasons, fleet = list[str](), context.fleet
    if fleet.stuck:
        reasons.append(f"{len(fleet.stuck)} threads did not leave")
    running = [member.running for member in fleet.members() if member.running is not None]
    hung = context.scheduler.hung + sum(one.live.status().hung_calls for one in running)
    if hung:
        reasons.append(f"{hung} calls into the engines hang")
    return reasons


def _add_refusals(app: FastAPI) -> None:
    @app.exception_handler(KveilError)
    async def refused(request: Request, error: Exception) -> JSONResponse:
        del request
        status = _status_of(error)
        headers = {}
        if status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        if status == 503:
            headers["Retry-After"] = "5"
        return JSONResponse({"detail": str(error)}, status, headers)

    @app.exception_handler(ConfigError)
    async def does_not_hold(request: Request, error: Exception) -> JSONResponse:
        del request
        return JSONResponse({"detail": str(error)}, 422)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: Exception) -> JSONResponse:
        """Says what is wrong without repeating what was sent, which may hold a password."""
        del request
        assert isinstance(error, RequestValidationError)
        told = [
            {"at": ".".join(str(part) for part in one["loc"])[:200], "problem": one["msg"][:200]}
            for one in error.errors()[:10]
        ]
        return JSONResponse({"detail": told}, 422)


def _status_of(error: Exception) -> int:
    if isinstance(error, ServiceRefusal):
        return error.status
    if isinstance(error, OfferRefused):
        return int(getattr(error, "status", 400))
    if isinstance(error, ViewerRefused):
        return 503
    return 403 if isinstance(error, AddressRefused) else 422
