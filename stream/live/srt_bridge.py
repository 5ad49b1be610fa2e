"""A process that carries bytes between SRT and a pipe: `python -m stream.live.srt_bridge`.

Standard input: one line of JSON (`host`, an IP address; `port`; `goes_out`; `query`, the options
of the URL), then the bytes to send. The passphrase comes this way because arguments and
environment can be read by others on the machine. Standard output: the bytes received. The
process ends when its standard input or its parent does. It imports nothing of ours, so that it
stays small.
"""

from __future__ import annotations

import ctypes
import ipaddress
import json
import os
import select
import socket
import struct
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, Literal
from urllib.parse import parse_qsl

from stream.memory_dumps import forbid_memory_dumps

__all__ = ["FAILURES", "MODES", "OPTIONS", "main", "options_of", "srt_library"]

Kind = Literal["text", "int", "long"]
OPTIONS: Final[dict[str, tuple[int, Kind]]] = {
    "conntimeo": (36, "int"),
    "inputbw": (24, "long"),
    "latency": (23, "int"),
    "lossmaxttl": (42, "int"),
    "maxbw": (16, "long"),
    "oheadbw": (25, "int"),
    "passphrase": (26, "text"),
    "pbkeylen": (27, "int"),
    "peerlatency": (44, "int"),
    "rcvlatency": (43, "int"),
    "streamid": (46, "text"),
}
"""Options of an SRT URL, by the library's names and numbers; times in ms."""
MODES: Final = ("caller", "listener", "rendezvous")
FAILURES: Final = {
    3: "SRT needs its library; apt-get install libsrt1.5-gnutls (or 1.4)",
    4: "an option of the SRT address has a value that SRT refuses",
    5: "nobody answers",
    6: "it refuses; check the passphrase and the stream id",
}
"""What an exit status says."""
_LIBRARIES: Final = (
    "libsrt-gnutls.so.1.5",
    "libsrt-openssl.so.1.5",
    "libsrt-gnutls.so.1.4",
    "libsrt-openssl.so.1.4",
    "libsrt.so.1.5",
    "libsrt.so.1",
)
_RENDEZVOUS: Final = 12
_REJECTED: Final = 1002
_PACKET: Final = 1316  # seven packets of MPEG-TS, the library's own payload
_LARGEST: Final = 1456
_TS: Final = 188
_LOOK_S: Final = 0.25
_LOOKS: Final = 40  # longer than kveil waits for the last bytes to leave


class _Failed(Exception):
    def __init__(self, status: int) -> None:
        super().__init__(FAILURES.get(status, ""))
        self.status = status


def options_of(query: str) -> dict[str, str]:
    """Options and mode of an SRT URL.

    >>> options_of("mode=listener&latency=200")
    {'mode': 'listener', 'latency': '200'}

    Raises:
        ValueError: an unknown option, or a number that is none; its value is not told.
    """
    options = dict(parse_qsl(query, keep_blank_values=True))
    if options.get("mode", "caller") not in MODES:
        raise ValueError(f"mode is one of {', '.join(MODES)}")
    for name, text in options.items():
        if name != "mode" and name not in OPTIONS:
            raise ValueError(f"options are mode, {', '.join(OPTIONS)}")
        is_number = text.lstrip("-").isascii() and text.lstrip("-").isdigit()
        if name != "mode" and OPTIONS[name][1] != "text" and not is_number:
            raise ValueError(f"{name} is a whole number")
    return options


def srt_library() -> ctypes.CDLL | None:
    """The SRT library of this machine; None where there is none."""
    for name in _LIBRARIES:
        with suppress(OSError):
            return ctypes.CDLL(name)
    return None


class _Connection:
    """One SRT connection, in live mode.

    Args:
        library: of SRT.
        host: IP address of the peer, or to listen on.
        port: UDP port.
        options: as of `options_of`.
    """

    def __init__(
        self, library: ctypes.CDLL, host: str, port: int, options: Mapping[str, str]
    ) -> None:
        self._srt = library
        library.srt_startup()
        library.srt_setloglevel(2)  # critical alone: its lines name addresses
        self._end = library.srt_create_socket()
        self._configure(options)
        where, size = _socket_address(host, port)
        mode = options.get("mode", "caller")
        if mode == "caller":
            self._check(library.srt_connect(self._end, where, size))
        elif mode == "rendezvous":
            here, _ = _socket_address("::" if ":" in host else "0.0.0.0", port)  # noqa: S104
            self._check(library.srt_bind(self._end, here, size))
            self._check(library.srt_connect(self._end, where, size))
        else:
            self._check(library.srt_bind(self._end, where, size))
            self._check(library.srt_listen(self._end, 1))
            self._end = self._check(library.srt_accept(self._end, None, None))

    def send(self, packet: bytes) -> None:
        """Sends at most one packet's payload."""
        self._check(self._srt.srt_send(self._end, packet, len(packet)))

    def receive(self) -> bytes:
        """One packet's payload; empty once the peer has left."""
        buffer = ctypes.create_string_buffer(_LARGEST)
        size = self._srt.srt_recv(self._end, buffer, _LARGEST)
        return buffer.raw[: max(0, size)]

    def close(self) -> None:
        """Sends what waits and says goodbye."""
        self._srt.srt_close(self._end)
        self._srt.srt_cleanup()

    def _configure(self, options: Mapping[str, str]) -> None:
        if options.get("mode") == "rendezvous":
            self._set(_RENDEZVOUS, struct.pack("i", 1))
        for name, text in options.items():
            if name in OPTIONS:
                number, kind = OPTIONS[name]
                packed = text.encode() if kind == "text" else _packed(kind, int(text))
                self._set(number, packed)

    def _set(self, number: int, value: bytes) -> None:
        if self._srt.srt_setsockflag(self._end, number, value, len(value)) < 0:
            raise _Failed(4)

    def _check(self, result: int) -> int:
        if result < 0:
            is_refused = self._srt.srt_getlasterror(None) == _REJECTED
            raise _Failed(6 if is_refused else 5)
        return result


def _packed(kind: Kind, number: int) -> bytes:
    return struct.pack("q" if kind == "long" else "i", number)


def _socket_address(host: str, port: int) -> tuple[bytes, int]:
    """The C library's form of an address, and its length."""
    ip = ipaddress.ip_address(host)
    if ip.version == 4:
        packed = struct.pack("=H", socket.AF_INET) + struct.pack("!H", port) + ip.packed + bytes(8)
    else:
        packed = struct.pack("=H", socket.AF_INET6) + struct.pack("!HI", port, 0)
        packed += ip.packed + bytes(4)
    return packed, len(packed)


def _send_all(connection: _Connection) -> None:
    """Sends standard input, in whole packets of MPEG-TS, as it comes."""
    waiting = b""
    while chunk := os.read(0, 65536):
        waiting += chunk
        whole = len(waiting) // _TS * _TS
        for at in range(0, whole, _PACKET):
            connection.send(waiting[at : min(at + _PACKET, whole)])
        waiting = waiting[whole:]


def _receive_all(connection: _Connection) -> None:
    while data := connection.receive():
        view = memoryview(data)
        while view:
            view = view[os.write(1, view) :]


def _end_with_parent() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)


def _end_if_left(parent: int, has_peer: threading.Event) -> None:
    """Ends the process where kveil ends before a peer has come: a listener would keep the port.

    Closed input alone does not say so: kveil closes it as well when it has no more to send, and
    the peer is then waited for a little.

    Args:
        parent: id of the process that started this one.
        has_peer: set once there is a peer; from then on the end of the input is noticed.
    """
    hang_up, closed = select.poll(), 0
    hang_up.register(0, select.POLLHUP)
    while not has_peer.wait(_LOOK_S):
        closed += bool(hang_up.poll(0))
        if os.getppid() != parent or closed > _LOOKS:
            os._exit(5)


def _read_line() -> bytes:
    """The first line of standard input, and not a byte more."""
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(0, 1)):
        line += byte
    return line


def main() -> int:
    """Entry of the process; see `FAILURES` for what its status says."""
    forbid_memory_dumps()
    parent, has_peer = os.getppid(), threading.Event()
    order = json.loads(_read_line())
    library = srt_library()
    if library is None:
        return 3
    if order["goes_out"]:
        threading.Thread(target=_end_if_left, args=(parent, has_peer), daemon=True).start()
    else:
        threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        connection = _Connection(library, order["host"], order["port"], options_of(order["query"]))
        has_peer.set()
        (_send_all if order["goes_out"] else _receive_all)(connection)
        connection.close()
    except _Failed as failed:
        return failed.status
    except OSError:
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
