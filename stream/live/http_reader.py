"""Reads media over HTTP through the gate: each hop, playlist and segment is admitted anew."""

from __future__ import annotations

import http.client
import socket
import ssl
from contextlib import suppress
from urllib.parse import urljoin, urlsplit

from stream.live.address import Address, Gate, address_from_text
from stream.live.errors import AddressRefused, SourceLost

__all__ = ["HttpOpener", "HttpReader"]

_MOST_REDIRECTS = 4
_REDIRECTS = {301, 302, 303, 307, 308}


class HttpReader:
    """A response body as the file that the media library reads; not seekable."""

    def __init__(
        self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse
    ) -> None:
        self._connection = connection
        self._response = response
        self.name = "http"

    def read(self, size: int) -> bytes:
        """At most `size` bytes; empty at the end."""
        try:
            return self._response.read1(size)
        except (OSError, ValueError, http.client.HTTPException):
            return b""

    def close(self) -> None:
        """Ends the connection, also under a read in another thread; idempotent."""
        with suppress(OSError, AttributeError):
            if self._connection.sock is not None:
                self._connection.sock.shutdown(socket.SHUT_RDWR)
        with suppress(OSError):
            self._connection.close()
            self._response.close()


class HttpOpener:
    """Opens URLs for the media library.

    Credentials go only to the scheme, host and port that the first URL names: another port is
    another service, and plain HTTP shows them to everybody on the way.

    Args:
        address: the first URL.
        gate: decides about it and about everything it leads to.
        timeout_s: for connecting and for each read.
    """

    def __init__(self, address: Address, gate: Gate, timeout_s: float) -> None:
        self._address = address
        self._gate = gate
        self._timeout_s = timeout_s
        self._readers: list[HttpReader] = []
        self._is_closed = False

    def __call__(self, url: str, _flags: int = 1, _options: object = None) -> HttpReader:
        """Opens one URL, following a few redirects; the library's flags and options are moot.

        Raises:
            AddressRefused: a hop leads where the gate does not let it.
            SourceLost: the server is unreachable or refuses.
        """
        for _ in range(_MOST_REDIRECTS):
            address = address_from_text(url)
            if address.kind != "http":
                raise AddressRefused(f"{self._address} leads to something that is not HTTP")
            connection = self._connected(address)
            response = self._asked(connection, address)
            if response.status not in _REDIRECTS:
                return self._reader(connection, response)
            url = urljoin(url, response.getheader("Location", ""))
            connection.close()
            response.close()
        raise SourceLost(f"{self._address} redirects too often")

    def close(self) -> None:
        """Ends every connection; idempotent, callable from any thread."""
        self._is_closed = True
        for reader in self._readers:
            reader.close()

    def _connected(self, address: Address) -> http.client.HTTPConnection:
        ips = self._gate.admit(address)
        connection: http.client.HTTPConnection
        if address.is_tls:
            connection = http.client.HTTPSConnection(
                address.host, address.port, timeout=self._timeout_s
            )
        else:
            connection = http.client.HTTPConnection(
                address.host, address.port, timeout=self._timeout_s
            )
        try:
            sock = socket.create_connection((ips[0], address.port), self._timeout_s)
            if address.is_tls:
                context = ssl.create_default_context()
                sock = context.wrap_socket(sock, server_hostname=address.host)
        except ssl.SSLCertVerificationError:
            raise SourceLost(f"{address}: its certificate is not valid for that name") from None
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            raise SourceLost(f"{address} is not reachable: {reason}") from None
        connection.sock = sock
        return connection

    def _asked(
        self, connection: http.client.HTTPConnection, address: Address
    ) -> http.client.HTTPResponse:
        headers = {"User-Agent": "kveil", "Accept": "*/*"}
        if self._address.username and _end(address) == _end(self._address):
            headers["Authorization"] = _basic(self._address)
        target = urlsplit(address.url())
        try:
            connection.request("GET", (target.path or "/") + _query(target.query), headers=headers)
            return connection.getresponse()
        except (OSError, http.client.HTTPException):
            connection.close()
            raise SourceLost(f"{address} closed the connection") from None

    def _reader(
        self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse
    ) -> HttpReader:
        if response.status != 200 or self._is_closed:
            connection.close()
            response.close()
            raise SourceLost(f"{self._address} answers with status {response.status}")
        reader = HttpReader(connection, response)
        for old in self._readers[:-7]:
            old.close()
        self._readers = [*self._readers[-7:], reader]
        return reader


def _end(address: Address) -> tuple[str, str, int]:
    return address.scheme, address.host, address.port


def _query(query: str) -> str:
    return f"?{query}" if query else ""


def _basic(address: Address) -> str:
    import base64

    pair = f"{address.username}:{address.password}".encode()
    return "Basic " + base64.b64encode(pair).decode("ascii")
