"""A loopback connection to a checked address, which any thread can cut.

The media library connects to the relay, the relay to an IP address that the gate has
admitted. So a read or write that is stuck ends when the relay is closed, certificates are
checked against the true name, and a server cannot send the library elsewhere.
"""

from __future__ import annotations

import re
import socket
import ssl
import threading
from collections.abc import Sequence
from contextlib import suppress

from stream.live.address import Address

__all__ = ["Relay"]

_CHUNK = 65536
_REDIRECT = re.compile(rb"RTSP/\d\.\d 3\d\d")
_OVERLAP = 16


class Relay:
    """Listens on loopback and carries each connection to the address.

    Args:
        address: the other end; gives port, name for TLS, and protocol.
        ips: admitted addresses, tried in order.
        timeout_s: for connecting and for the TLS handshake.
    """

    def __init__(self, address: Address, ips: Sequence[str], timeout_s: float) -> None:
        self._address = address
        self._ips = tuple(ips)
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._is_closed = False
        self.failure = ""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._start(self._accept)

    @property
    def port(self) -> int:
        """Loopback port to connect to."""
        return int(self._listener.getsockname()[1])

    def close(self) -> None:
        """Cuts every connection at once; idempotent, callable from any thread."""
        with self._lock:
            self._is_closed = True
            sockets = list(self._open)
        _hang_up(self._listener)
        for end in sockets:
            _hang_up(end)
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(self._timeout_s + 1.0)

    def _start(self, work: object, *arguments: object) -> None:
        assert callable(work)
        thread = threading.Thread(target=work, args=arguments, name="relay", daemon=True)
        self._threads = [one for one in self._threads if one.is_alive()] + [thread]
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if not self._adopt(near):
                return
            far = self._connected()
            if far is None:
                self._drop(near)
                continue
            self._start(self._carry, near, far, False)
            self._start(self._carry, far, near, self._address.kind == "rtsp")

    def _connected(self) -> socket.socket | None:
        for ip in self._ips:
            try:
                far = socket.create_connection((ip, self._address.port), self._timeout_s)
                if not self._adopt(far):
                    return None
                if self._address.is_tls:
                    far = self._secured(far)
                far.settimeout(None)
            except ssl.SSLCertVerificationError:
                self.failure = "its certificate is not valid for that name"
            except OSError as error:
                self.failure = (error.strerror or type(error).__name__).lower()
            else:
                return far
        return None

    def _secured(self, far: socket.socket) -> socket.socket:
        context = ssl.create_default_context()
        secured = context.wrap_socket(far, server_hostname=self._address.host)
        with self._lock:
            self._open.discard(far)
        self._adopt(secured)
        return secured

    def _carry(self, source: socket.socket, target: socket.socket, is_watched: bool) -> None:
        """Passes bytes on through one buffer, whose front keeps the end of what went before."""
        buffer = bytearray(_OVERLAP + _CHUNK)
        fresh, begin = memoryview(buffer)[_OVERLAP:], _OVERLAP
        try:
            while size := source.recv_into(fresh):
                end = _OVERLAP + size
                if is_watched and _REDIRECT.search(buffer, begin, end):
                    self.failure = "it redirects elsewhere, which is not allowed"
                    break
                target.sendall(fresh[:size])
                kept = min(_OVERLAP, end - begin)
                begin = _OVERLAP - kept
                buffer[begin:_OVERLAP] = buffer[end - kept : end]
        except OSError:
            pass
        finally:
            self._drop(source)
            self._drop(target)

    def _adopt(self, end: socket.socket) -> bool:
        with self._lock:
            if not self._is_closed:
                self._open.add(end)
                return True
        _hang_up(end)
        return False

    def _drop(self, end: socket.socket) -> None:
        with self._lock:
            self._open.discard(end)
        _hang_up(end)


def _hang_up(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    with suppress(OSError):
        end.close()
