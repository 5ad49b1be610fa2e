"""Runs the service until it is told to end: engines, streams, web server, reload."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import structlog
import uvicorn
from aiortc import RTCIceServer

from config.errors import ConfigError
from config.service import ServiceSettings, Sources, StreamSpec, Webrtc
from config.service_loading import load_service
from stream.engine_set import EngineSet
from stream.live.address import Address, address_from_text
from stream.live.assembly import Assembly, ReplacerMaker
from stream.live.clock import SystemClock
from stream.live.errors import AddressRefused
from stream.live.rtc_sessions import RtcSessions, limit_ice_addresses
from stream.live.turns import Turns
from stream.service.app import create_app
from stream.service.certificates import check_tls
from stream.service.context import Context
from stream.service.fleet import Fleet
from stream.service.logs import configure_logs
from stream.service.tokens import TokenBook
from stream.service.url_guard import Allowance, UrlGuard

__all__ = ["Service", "allowance_of", "serve_forever"]

_LOG = structlog.get_logger("kveil.service")
_LOOK_S = 2.0
_GOODBYE_S = 10


class Service:
    """One service: its fleet, its application and what a reload changes.

    Args:
        settings: in force at the start.
        engines: opened by the caller, who closes them after `close`.
        make_replacer: the surrogates' side of each stream.
        file: read again by a reload; None where there is no file.
    """

    def __init__(
        self,
        settings: ServiceSettings,
        engines: EngineSet,
        make_replacer: ReplacerMaker,
        file: Path | None = None,
    ) -> None:
        self._file = file
        self._guard = UrlGuard(allowance_of(settings))
        clock = SystemClock()
        assembly = Assembly(
            settings, engines, make_replacer, self, Turns(settings.live.parallel), clock
        )
        fleet = Fleet(assembly, settings.bounds.streams)
        limit_ice_addresses(settings.webrtc.addresses)
        webrtc = settings.webrtc
        servers = _ice_servers(webrtc)
        self.context = Context(
            settings,
            fleet,
            TokenBook(settings.access.tokens),
            RtcSessions(servers, webrtc.idle_s, webrtc.max_viewers * settings.bounds.streams),
            RtcSessions(servers, webrtc.idle_s, webrtc.max_publishers),
            list(engines.choices),
            self.reload,
        )
        self.app = create_app(self.context)

    def admit(self, address: Address) -> tuple[str, ...]:
        """The gate of all streams, by the settings in force; see `Gate`."""
        return self._guard.admit(address)

    def start(self) -> None:
        """Starts the streams of the configuration; one that is refused leaves the others."""
        self.context.fleet.apply(self.context.settings.streams)

    def reload(self) -> list[str]:
        """Reads the file again and applies streams, tokens and allowed sources.

        Where it listens and how the engines run needs a restart. A file that does not hold
        changes nothing.

        Returns:
            Names of the streams that were touched.
        """
        if self._file is None:
            return []
        settings = load_service(self._file)
        self._guard = UrlGuard(allowance_of(settings))
        self.context.tokens = TokenBook(settings.access.tokens)
        touched = self.context.fleet.apply(settings.streams)
        _LOG.info("reloaded", streams=touched)
        return touched

    def close(self) -> list[str]:
        """Stops every stream; gives the names of threads that would not leave."""
        return self.context.fleet.close()


def allowance_of(settings: ServiceSettings) -> Allowance:
    """What may be reached: the allow-list, and what the configuration's own streams name.

    The metadata addresses stay refused for those as well.
    """
    wanted = settings.sources
    own = [_own_allowance(spec) for spec in settings.streams]
    listed = _listed(wanted)
    return replace(
        listed,
        endpoints=tuple(end for one in own for end in one.endpoints),
        folders=(*listed.folders, *(folder for one in own for folder in one.folders)),
        devices=(*listed.devices, *(device for one in own for device in one.devices)),
    )


def _listed(wanted: Sources) -> Allowance:
    return Allowance(
        hosts=wanted.hosts,
        networks=wanted.networks,
        schemes=wanted.schemes,
        folders=tuple(Path(folder) for folder in wanted.folders),
        devices=wanted.devices,
    )


def _own_allowance(spec: StreamSpec) -> Allowance:
    """The addresses that one entry of the configuration file names itself."""
    endpoints, folders, devices = [], [], []
    for text in filter(None, (spec.source, *spec.sinks)):
        with suppress(AddressRefused):
            address = address_from_text(text)
            if address.kind == "file":
                folders.append(Path(address.path).parent)
            elif address.kind == "camera":
                devices.append(address.path)
            else:
                endpoints.append(str(address))
    return Allowance(folders=tuple(folders), devices=tuple(devices), endpoints=tuple(endpoints))


def _ice_servers(webrtc: Webrtc) -> list[RTCIceServer]:
    servers = [RTCIceServer(urls=url) for url in webrtc.stun]
    if webrtc.turn_url:
        password = webrtc.turn_password.get_secret_value()
        servers.append(RTCIceServer(webrtc.turn_url, webrtc.turn_username, password))
    return servers


def serve_forever(
    settings: ServiceSettings,
    engines: EngineSet,
    make_replacer: ReplacerMaker,
    file: Path | None,
    on_listening: Callable[[str], None],
) -> list[str]:
    """Runs the service until SIGINT or SIGTERM; SIGHUP and a changed file reload it.

    Args:
        settings: in force.
        engines: opened by the caller.
        make_replacer: the surrogates' side of each stream.
        file: of the configuration.
        on_listening: told the address once it answers.

    Returns:
        Names of threads that would not leave; empty is the proof that all have.

    Raises:
        UsageRefused: the certificate or its key cannot be used.
    """
    configure_logs(settings.logging)
    check_tls(settings.listen)
    service = Service(settings, engines, make_replacer, file)
    server = _server(settings, service)
    ended = threading.Event()
    watcher = threading.Thread(
        target=_reload_on_change, args=(service, file, ended), name="reload", daemon=True
    )
    try:
        service.start()
        watcher.start()
        asyncio.run(_serve(server, service, on_listening))
    finally:
        ended.set()
        stuck = service.close()
    watcher.join(_LOOK_S + 1)
    _LOG.info("ended", threads=stuck)
    return stuck


class _AnnouncingServer(uvicorn.Server):
    """Says when it listens."""

    announce: Callable[[], None]

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves signals to the loop: a service that ends when told has not failed."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begins to listen."""
        await super().startup(sockets)
        if self.started:
            self.announce()


def _server(settings: ServiceSettings, service: Service) -> _AnnouncingServer:
    listen = settings.listen
    return _AnnouncingServer(
        uvicorn.Config(
            service.app,
            host=listen.host,
            port=listen.port,
            ssl_certfile=listen.tls_certificate or None,
            ssl_keyfile=listen.tls_key or None,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=10,
            timeout_graceful_shutdown=_GOODBYE_S,
            limit_concurrency=512,
            h11_max_incomplete_event_size=16_384,
        )
    )


async def _serve(
    server: _AnnouncingServer, service: Service, on_listening: Callable[[str], None]
) -> None:
    def announce() -> None:
        ports = [sock.getsockname()[1] for one in server.servers for sock in one.sockets]
        scheme = "https" if server.config.is_ssl else "http"
        on_listening(f"{scheme}://{server.config.host}:{ports[0]}")
        _LOG.info("listening", host=server.config.host, port=ports[0])

    server.announce = announce
    loop = asyncio.get_running_loop()
    with suppress(ValueError, RuntimeError):  # not in the main thread: no signals
        loop.add_signal_handler(signal.SIGHUP, lambda: _reload_quietly(service))
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, server.handle_exit, number, None)
    await server.serve()


def _reload_on_change(service: Service, file: Path | None, ended: threading.Event) -> None:
    seen = _changed_at(file)
    while not ended.wait(_LOOK_S):
        now = _changed_at(file)
        if now != seen:
            seen = now
            _reload_quietly(service)


def _reload_quietly(service: Service) -> None:
    try:
        service.reload()
    except ConfigError as error:
        _LOG.error("reload_refused", reason=str(error))


def _changed_at(file: Path | None) -> tuple[int, int]:
    if file is None:
        return 0, 0
    try:
        status = file.stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size
