"""A loopback connection to a checked address, which any thread can cut.

The media library connects to the relay, the relay to an IP address that the gate has
admitted. So a read or write that is stuck ends when the relay is closed, certificates are
checked against the true name, and a server cannot send the library elsewhere: replies of RTSP
servers that say so, or may be read so, do not reach it.
"""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Sequence
from contextlib import suppress

from stream.live.address import Address
from stream.live.rtsp_talk import Replies, Requests, RtspTalk

__all__ = ["Relay"]

_CHUNK = 65536
_MALFORMED = "it redirects elsewhere or answers in a malformed way, which is not allowed"


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
        self._talk: RtspTalk | None = None
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._start(self._accept)

    @property
    def port(self) -> int:
        """Loopback port to connect to."""
        return int(self._listener.getsockname()[1])

    @property
    def reason(self) -> str:
        """Why there is no stream, as far as it is known here; empty if it is not."""
        return self.failure or ("" if self._talk is None else self._talk.refusal)

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
            if self._address.kind == "rtsp":
                talk = self._talk = RtspTalk(self._address)
                self._start(self._carry, near, far, Requests(talk))
                self._start(self._carry, far, near, Replies(talk))
            else:
                self._start(self._carry, near, far, None)
                self._start(self._carry, far, near, None)

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

    def _carry(
        self, source: socket.socket, target: socket.socket, watch: Requests | Replies | None
    ) -> None:
        buffer = bytearray(_CHUNK)
        view = memoryview(buffer)
        try:
            while size := source.recv_into(view):
                passed = view[:size] if watch is None else watch.passed(buffer, size)
                if passed is None:
                    self.failure = _MALFORMED
                    break
                target.sendall(passed)
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
