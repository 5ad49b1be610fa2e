"""Runs the service until it is told to end: engines, streams, web server, reload."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import structlog
from aiortc import RTCIceServer

from config.errors import ConfigError, SettingInvalid
from config.service import ServiceSettings, StreamSpec, Webrtc
from config.service_loading import load_service
from stream.live.address import Address
from stream.live.assembly import Assembly, ReplacerMaker
from stream.live.clock import SystemClock
from stream.live.h264_offers import SENT_MODES
from stream.live.rtc_sessions import RtcSessions, limit_ice_addresses
from stream.live.running_stream import RunningStream
from stream.pipeline.engine_set import EngineSet
from stream.service.allowances import StreamGate
from stream.service.app import create_app
from stream.service.context import Context
from stream.service.fleet import Fleet
from stream.service.guests import Guests
from stream.service.logs import configure_logs
from stream.service.places import VIEWER_SETTINGS, Places
from stream.service.tokens import TokenBook
from stream.service.web_server import AnnouncingServer, bound_sockets, check_tls, make_server

__all__ = ["Service", "serve_at", "serve_forever"]

_LOG = structlog.get_logger("kveil.service")
_LOOK_S = 2.0
_MOST_WAITING = 64
"""Players that may wait for a part of one stream at once."""
_APPLIED: Final[dict[str, bool | set[str]]] = {
    "streams": True,
    "access": {"tokens"},
    "sources": {"hosts", "networks", "schemes", "folders", "devices"},
}
"""What a reload applies: whole sections, or keys of them."""


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
        self._reloading = threading.Lock()
        self._gate = StreamGate(settings)
        clock = SystemClock()
        self._assembly = Assembly(settings, engines, make_replacer, self, clock)
        fleet = Fleet(self._build, settings.bounds.streams)
        limit_ice_addresses(settings.webrtc.addresses)
        webrtc = settings.webrtc
        servers = _ice_servers(webrtc)
        most_viewers = webrtc.max_viewers * settings.bounds.streams
        self.context = Context(
            settings,
            fleet,
            TokenBook(settings.access.tokens),
            Guests(
                RtcSessions(servers, webrtc.idle_s, most_viewers, SENT_MODES),
                "viewer",
                _viewer_places(webrtc, "viewers"),
                _part(webrtc.max_viewers),
            ),
            Guests(
                RtcSessions(servers, webrtc.idle_s, webrtc.max_publishers),
                "publisher",
                Places("publishers", webrtc.max_publishers, webrtc.max_publishers),
                _part(webrtc.max_publishers),
            ),
            list(engines.choices),
            engines.scheduler,
            self.reload,
            _viewer_places(webrtc, "previews"),
            Places("players that wait", _MOST_WAITING, _MOST_WAITING // 2),
        )
        self.app = create_app(self.context)

    def admit(self, address: Address) -> tuple[str, ...]:
        """The gate of all streams, by the settings in force; see `Gate`."""
        return self._gate.admit(address)

    def start(self) -> None:
        """Starts the streams of the configuration; one that is refused leaves the others."""
        self.context.fleet.apply(self.context.settings.streams)

    def reload(self) -> list[str]:
        """Reads the file again and applies streams, tokens and allowed sources.

        Who watches or publishes a stream that was touched, or by a token that is gone, is sent
        away. What needs a restart is told in the log. Blocks while streams stop and start; never
        called on the event loop.

        Returns:
            Names of the streams that were touched.

        Raises:
            FileInvalid, SettingInvalid: the file does not hold, or would open the service to
                everybody; nothing has changed.
        """
        if self._file is None:
            return []
        with self._reloading:
            settings = load_service(self._file, may_be_empty=False)
            self._refuse_to_open(settings)
            self._gate = StreamGate(settings)
            self.context.tokens = TokenBook(settings.access.tokens)
            self.context.send_away_soon()
            touched = self.context.fleet.apply(settings.streams)
            self.context.send_away_soon(touched)
        _LOG.info("reloaded", streams=touched)
        self._tell_what_waits(settings)
        return touched

    def catch_up(self) -> None:
        """Reloads where the file has changed since it was read: the engines took time to open.

        What is no regular file, such as a pipe, can be read only once.

        Raises:
            FileInvalid, SettingInvalid: see `reload`.
        """
        if self._file is None or not self._file.is_file():
            return
        if load_service(self._file) != self.context.settings:
            self.reload()

    def _build(self, spec: StreamSpec) -> RunningStream:
        self._gate.check_files(spec)
        return self._assembly.build(spec)

    def _tell_what_waits(self, settings: ServiceSettings) -> None:
        """Names the sections in which something differs that only a restart applies."""
        before = self.context.settings.model_dump(exclude=_APPLIED)
        after = settings.model_dump(exclude=_APPLIED)
        sections = [name for name in before if before[name] != after[name]]
        if sections:
            _LOG.warning("restart_needed", sections=sections)

    def _refuse_to_open(self, settings: ServiceSettings) -> None:
        """Refuses to drop the last token: a file may be half written, and a proxy may stand before.

        Where the file says to listen does not matter, as the socket stays where it was bound.
        """
        if not settings.access.tokens and not self.context.tokens.is_open:
            raise SettingInvalid(
                "access.tokens is empty now, which would let everybody in; restart for that"
            )

    def close(self) -> list[str]:
        """Stops every stream; gives the names of threads that would not leave."""
        return self.context.fleet.close()


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
        UsageRefused: the certificate, its key or the port cannot be used.
    """
    configure_logs(settings.logging)
    check_tls(settings.listen)
    sockets = bound_sockets(settings.listen)
    service = Service(settings, engines, make_replacer, file)
    server = make_server(settings.listen, service.app)
    ended = threading.Event()
    watcher = threading.Thread(
        target=_reload_on_change, args=(service, file, ended), name="reload", daemon=True
    )
    try:
        service.start()
        watcher.start()
        asyncio.run(serve_at(sockets, server, service, on_listening))
    finally:
        ended.set()
        for one in sockets:
            one.close()
        stuck = service.close()
    watcher.join(_LOOK_S + 1)
    _LOG.info("ended", threads=stuck)
    return stuck


async def serve_at(
    sockets: list[socket.socket],
    server: AnnouncingServer,
    service: Service,
    on_listening: Callable[[str], None],
) -> None:
    """Serves at sockets that are bound until the server is told to exit; closes them.

    Args:
        sockets: see `bound_sockets`.
        server: of the service's application.
        service: reloaded by SIGHUP.
        on_listening: told the address once it answers.
    """

    def announce() -> None:
        ports = [sock.getsockname()[1] for one in server.servers for sock in one.sockets]
        scheme = "https" if server.config.is_ssl else "http"
        on_listening(f"{scheme}://{server.config.host}:{ports[0]}")
        _LOG.info("listening", host=server.config.host, port=ports[0])

    server.announce = announce
    server.say_goodbye = service.context.closing.set
    loop = asyncio.get_running_loop()
    with suppress(ValueError, RuntimeError):  # not in the main thread: no signals
        loop.add_signal_handler(
            signal.SIGHUP, lambda: loop.run_in_executor(None, _reload_quietly, service)
        )
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, server.handle_exit, number, None)
    await server.serve(sockets)


def _viewer_places(webrtc: Webrtc, what: str) -> Places:
    return Places(what, webrtc.max_viewers, webrtc.viewers_per_token, VIEWER_SETTINGS)


def _part(places: int) -> int:
    """Places that one token may hold without using them: a quarter, so that others get in."""
    return max(1, places // 4)


def _reload_on_change(service: Service, file: Path | None, ended: threading.Event) -> None:
    seen = _changed_at(file)
    _quietly(service.catch_up)
    while not ended.wait(_LOOK_S):
        now = _changed_at(file)
        if now != seen:
            seen = now
            _reload_quietly(service)


def _reload_quietly(service: Service) -> None:
    _quietly(service.reload)


def _quietly(reload: Callable[[], object]) -> None:
    try:
        reload()
    except ConfigError as error:
        _LOG.error("reload_refused", reason=str(error))
    except Exception as error:  # the watcher outlives it, and the next file may do
        _LOG.error("reload_failed", error=type(error).__name__)


def _changed_at(file: Path | None) -> tuple[int, int]:
    if file is None:
        return 0, 0
    try:
        status = file.stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size
