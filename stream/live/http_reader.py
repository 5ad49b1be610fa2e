"""Reads media over HTTP through the gate: each hop, playlist and segment is admitted anew."""

from __future__ import annotations

import http.client
import socket
import ssl
from contextlib import suppress
from urllib.parse import urljoin, urlsplit

from stream.live.address import Address, Gate, address_from_text
from stream.live.digest_sign_in import digest_authorization
from stream.live.errors import AddressRefused, SourceLost

__all__ = ["HttpOpener", "HttpReader"]

_MOST_REDIRECTS = 4
_UNAUTHORIZED = 401
_REASONS = {
    403: "it forbids that to this user; check the user's rights (status 403)",
    404: "there is nothing; check the path of the address (status 404)",
    429: "it gets too many requests; ask it less often (status 429)",
    503: "it is busy or has too many viewers; try later (status 503)",
}
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
            connection, response = self._answer_of(address)
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
        kind = http.client.HTTPSConnection if address.is_tls else http.client.HTTPConnection
        connection = kind(address.host, address.port, timeout=self._timeout_s)
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

    def _answer_of(
        self, address: Address
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """The answer of a server, which may ask for a digest in place of the password."""
        may_sign_in = bool(self._address.username) and _end(address) == _end(self._address)
        connection = self._connected(address)
        response = self._asked(connection, address, _basic(self._address) if may_sign_in else "")
        if response.status != _UNAUTHORIZED or not may_sign_in:
            return connection, response
        challenges = response.headers.get_all("WWW-Authenticate") or []
        own = self._address
        digest = digest_authorization(
            challenges, own.username, own.password, "GET", _target(address)
        )
        if not digest:
            return connection, response
        connection.close()
        response.close()
        connection = self._connected(address)
        return connection, self._asked(connection, address, digest)

    def _asked(
        self, connection: http.client.HTTPConnection, address: Address, authorization: str
    ) -> http.client.HTTPResponse:
        headers = {"User-Agent": "kveil", "Accept": "*/*"}
        if authorization:
            headers["Authorization"] = authorization
        try:
            connection.request("GET", _target(address), headers=headers)
            return connection.getresponse()
        except (OSError, http.client.HTTPException):
            connection.close()
            raise SourceLost(f"{address} closed the connection") from None

    def _reason_of(self, status: int) -> str:
        if status == _UNAUTHORIZED:
            if not self._address.username:
                return "it wants a user name and password in the address"
            return "it wants other credentials"
        return _REASONS.get(status, f"it answers with status {status}")

    def _reader(
        self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse
    ) -> HttpReader:
        if response.status != 200 or self._is_closed:
            connection.close()
            response.close()
            raise SourceLost(f"{self._address}: {self._reason_of(response.status)}")
        reader = HttpReader(connection, response)
        for old in self._readers[:-7]:
            old.close()
        self._readers = [*self._readers[-7:], reader]
        return reader


def _target(address: Address) -> str:
    parts = urlsplit(address.url())
    return (parts.path or "/") + _query(parts.query)


def _end(address: Address) -> tuple[str, str, int]:
    return address.scheme, address.host, address.port


def _query(query: str) -> str:
    return f"?{query}" if query else ""


def _basic(address: Address) -> str:
    import base64

    pair = f"{address.username}:{address.password}".encode()
    return "Basic " + base64.b64encode(pair).decode("ascii")
