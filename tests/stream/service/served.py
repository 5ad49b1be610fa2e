"""Runs a service on a real loopback port while a test talks to it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from config.service import ServiceSettings
from stream.service.connections import ConnectionBounds
from stream.service.serving import Service, serve_at
from stream.service.web_server import bound_sockets, make_server
from tests.stream.live.rtsp_peer import eventually


@contextmanager
def served(
    service: Service, settings: ServiceSettings, bounds: ConnectionBounds | None = None
) -> Iterator[str]:
    """The address at which it answers; everything has left afterwards."""
    sockets = bound_sockets(settings.listen)
    service.start()
    server = make_server(settings.listen, service.app, bounds)
    listening: list[str] = []
    thread = threading.Thread(
        target=lambda: asyncio.run(serve_at(sockets, server, service, listening.append)), name="web"
    )
    thread.start()
    try:
        assert eventually(lambda: bool(listening))
        yield listening[0]
    finally:
        server.should_exit = True
        thread.join(20.0)
        stuck = service.close()
    assert not thread.is_alive()
    assert not stuck, stuck
