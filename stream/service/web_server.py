"""The web server: certificate and sockets, tried before anything is started, and its bounds."""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from config.service import Listen
from stream.errors import UsageRefused
from stream.service.connections import ConnectionBounds, bounded_protocol

__all__ = ["AnnouncingServer", "bound_sockets", "check_tls", "make_server"]

_GOODBYE_S: Final = 10
_BACKLOG: Final = 512
_ADVICE: Final = {
    errno.EADDRINUSE: "something listens there already; end it, or choose another listen.port",
    errno.EADDRNOTAVAIL: "this machine has no such address; change listen.host",
    errno.EACCES: "permission denied; choose a listen.port above 1023",
}


def check_tls(listen: Listen) -> None:
    """Tries the certificate and its key, if there are any, before anything is started.

    Raises:
        UsageRefused: they cannot be read, or do not belong together.
    """
    if not listen.tls_certificate:
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(
            listen.tls_certificate, listen.tls_key, password=lambda: ""
        )
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise UsageRefused(
            f"listen.tls_certificate and listen.tls_key cannot be used ({reason}); give PEM files "
            "of a chain and its key without a passphrase"
        ) from None


def bound_sockets(listen: Listen) -> list[socket.socket]:
    """Sockets that listen at every address of the host; the caller closes them.

    Raises:
        UsageRefused: the host does not resolve, or the port cannot be had.
    """
    opened: list[socket.socket] = []
    try:
        found = socket.getaddrinfo(
            listen.host or None, listen.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        for family, where in dict.fromkeys((entry[0], entry[4]) for entry in found):
            opened.append(socket.socket(family, socket.SOCK_STREAM))
            opened[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:  # IPv4 has a socket of its own
                opened[-1].setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            opened[-1].bind(where)
            opened[-1].listen(_BACKLOG)
    except (OSError, UnicodeError) as error:
        for one in opened:
            one.close()
        raise UsageRefused(_told(listen, error)) from None
    return opened


def _told(listen: Listen, error: OSError | UnicodeError) -> str:
    if isinstance(error, socket.gaierror | UnicodeError):
        return f"listen.host {listen.host} does not resolve; give an address of this machine"
    reason = _ADVICE.get(error.errno or 0, (error.strerror or type(error).__name__).lower())
    return f"cannot listen at {listen.host}, port {listen.port}: {reason}"


class AnnouncingServer(uvicorn.Server):
    """Says when it listens, and before it waits for answers to end.

    Attributes:
        announce: called when it listens.
        say_goodbye: called when it is about to wait; ends the answers that have no end.
    """

    announce: Callable[[], None]
    say_goodbye: Callable[[], None]

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves signals to the loop: a service that ends when told has not failed."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begins to listen."""
        await super().startup(sockets)
        if self.started:
            self.announce()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Waits for answers to end; the application's own end comes after that."""
        self.say_goodbye()
        await super().shutdown(sockets)


def make_server(
    listen: Listen, app: ASGIApp, bounds: ConnectionBounds | None = None
) -> AnnouncingServer:
    """The server of an application; `serve` takes the sockets that `bound_sockets` gave."""
    return AnnouncingServer(
        uvicorn.Config(
            app,
            http=bounded_protocol(bounds),
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
            h11_max_incomplete_event_size=16_384,
        )
    )
