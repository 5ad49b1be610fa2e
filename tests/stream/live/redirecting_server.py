"""A hostile server: it answers every request by sending the client elsewhere."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class RedirectingServer:
    def __init__(self, reply: str) -> None:
        self._trap = socket.create_server(("127.0.0.1", 0))
        self._elsewhere = socket.create_server(("127.0.0.2", 0))
        self.port = self._trap.getsockname()[1]
        scheme = "rtsp" if reply.startswith("RTSP") else "http"
        self._reply = reply
        self._target = f"{scheme}://127.0.0.2:{self._elsewhere.getsockname()[1]}/metadata"
        self.visits_elsewhere = 0
        self._threads = [
            threading.Thread(target=self._serve_trap),
            threading.Thread(target=self._count_elsewhere),
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        for server in (self._trap, self._elsewhere):
            with suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)
            server.close()
        for thread in self._threads:
            thread.join(5.0)

    def _serve_trap(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._trap.accept()
                with client, suppress(OSError):
                    client.settimeout(3.0)
                    while request := client.recv(4096).decode(errors="replace"):
                        found = re.search(r"CSeq: *(\d+)", request)
                        cseq = found.group(1) if found else "1"
                        text = self._reply.format(cseq=cseq, elsewhere=self._target)
                        client.sendall(f"{text}\r\nContent-Length: 0\r\n\r\n".encode())

    def _count_elsewhere(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._elsewhere.accept()
                self.visits_elsewhere += 1
                client.close()


@contextmanager
def redirecting_server(reply: str) -> Iterator[RedirectingServer]:
    server = RedirectingServer(reply)
    try:
        yield server
    finally:
        server.close()
