"""A loopback connection to a checked address, which any thread can cut.

The media library connects to the relay, the relay to an IP address that the gate has
admitted. So a read or write that is stuck ends when the relay is closed, certificates are
checked against the true name, and a server cannot send the library elsewhere: replies of RTSP
servers that say so, or may be read so, do not reach it.
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
_BLANKS = b" \t"
_PACKET_HEAD = 3  # channel and length, after the dollar sign
_LONGEST_LINE = 4095  # the library drops what comes after
_STATUS = re.compile(rb"RTSP/[^ \t]*[ \t]+[1245]\d\d(?!\d)")
_LENGTH = re.compile(rb"content-length:[ \t]*(\d{1,7})(?!\d)", re.IGNORECASE)
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
        buffer = bytearray(_CHUNK)
        view, replies = memoryview(buffer), _Replies()
        try:
            while size := source.recv_into(view):
                if is_watched and not replies.admit(buffer, size):
                    self.failure = _MALFORMED
                    break
                target.sendall(view[:size])
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


class _Replies:
    """Finds the replies of an RTSP server where the media library finds them.

    The library follows a redirect while it connects. This reads as it does then: carriage
    returns count nowhere, a NUL ends a line, a line without anything ends the head, and a dollar
    sign at the start of any line begins a packet of media. Of the many ways to write a status
    that the library takes, only plain ones pass.
    """

    def __init__(self) -> None:
        self._line = bytearray()
        self._packet_head: bytearray | None = None
        self._to_skip = 0
        self._is_first = True
        self._body_size = 0

    def admit(self, data: bytearray, size: int) -> bool:
        """Whether the library may get the next bytes.

        Args:
            data: holds them at its start; not kept.
            size: how many.
        """
        at = 0
        while at < size:
            if self._to_skip:
                skipped = min(self._to_skip, size - at)
                self._to_skip -= skipped
                at += skipped
            elif self._packet_head is not None:
                at = self._read_packet_head(data, at, size)
            elif not self._line and data[at : at + 1] == b"$":
                self._packet_head = bytearray()
                at += 1
            elif not self._line and data[at : at + 1] == b"\r":
                at += 1
            else:
                end = data.find(b"\n", at, size)
                self._keep(data[at : end if end >= 0 else size])
                at = end + 1 if end >= 0 else size
                if end >= 0 and not self._end_line():
                    return False
        return True

    def _read_packet_head(self, data: bytearray, at: int, size: int) -> int:
        assert self._packet_head is not None
        end = min(size, at + _PACKET_HEAD - len(self._packet_head))
        self._packet_head += data[at:end]
        if len(self._packet_head) == _PACKET_HEAD:
            self._to_skip = int.from_bytes(self._packet_head[1:], "big")
            self._packet_head = None
        return end

    def _keep(self, piece: bytearray) -> None:
        self._line += piece.replace(b"\r", b"")
        del self._line[_LONGEST_LINE:]

    def _end_line(self) -> bool:
        line, self._line = self._line.split(b"\0")[0], bytearray()
        if not line:
            self._to_skip, self._body_size, self._is_first = self._body_size, 0, True
            return True
        is_first, self._is_first = self._is_first, False
        if line.lstrip(_BLANKS).startswith(b"RTSP/"):
            return _STATUS.match(line.lstrip(_BLANKS)) is not None
        if is_first or not line.lower().startswith(b"content-length:"):
            return True
        found = _LENGTH.match(line)
        self._body_size = int(found[1]) if found else 0
        return found is not None


def _hang_up(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    with suppress(OSError):
        end.close()
