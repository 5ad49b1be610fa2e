"""Runs a service on a real loopback port while a test talks to it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from config.service import ServiceSettings
from stream.service import serving
from stream.service.serving import Service
from tests.stream.live.rtsp_peer import eventually


@contextmanager
def served(service: Service, settings: ServiceSettings) -> Iterator[str]:
    """The address at which it answers; everything has left afterwards."""
    service.start()
    server = serving._server(settings, service)
    listening: list[str] = []
    thread = threading.Thread(
        target=lambda: asyncio.run(serving._serve(server, service, listening.append)), name="web"
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
