"""Where a stream comes from or goes to, with its secrets kept apart from its name."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol
from urllib.parse import quote, unquote, urlsplit

from stream.live.errors import AddressRefused

__all__ = ["Address", "Gate", "Kind", "address_from_text"]

Kind = Literal["rtsp", "rtmp", "srt", "http", "file", "camera"]

_SCHEMES: dict[str, tuple[Kind, bool, int]] = {
    "rtsp": ("rtsp", False, 554),
    "rtsps": ("rtsp", True, 322),
    "rtmp": ("rtmp", False, 1935),
    "rtmps": ("rtmp", True, 443),
    "srt": ("srt", False, 0),
    "http": ("http", False, 80),
    "https": ("http", True, 443),
}
_CONTROL = re.compile(r"[\x00-\x20\x7f]")
_HOST_LIKE = re.compile(r"([\w-]+(\.[\w-]+)+|\[[0-9A-Fa-f:]+\])(:\d+)?(/|$)")
_LONGEST = 2048


@dataclass(frozen=True, slots=True)
class Address:
    """One end of a stream.

    Attributes:
        kind: how to speak to it.
        host: name or IP literal, lower case; empty for files and cameras.
        port: TCP or UDP port; 0 for files and cameras.
        is_tls: the connection is encrypted and the certificate must match `host`.
        path: path and query as written, or the file or device. Not shown: it may hold a key.
        username: empty where none is given. Not shown.
        password: empty where none is given. Not shown.

    >>> address = address_from_text("rtsp://me:secret@Camera.local/live?key=1")
    >>> print(address)
    rtsp://camera.local:554
    >>> "secret" in repr(address)
    False
    """

    kind: Kind
    host: str
    port: int
    is_tls: bool
    path: str = field(repr=False)
    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    def __str__(self) -> str:
        if self.kind == "file":
            return Path(self.path).name
        if self.kind == "camera":
            return self.path
        return f"{self.scheme}://{_bracketed(self.host)}:{self.port}"

    @property
    def scheme(self) -> str:
        """URL scheme, such as `rtsps`."""
        if self.kind in ("file", "camera"):
            return self.kind
        return self.kind + ("s" if self.is_tls else "")

    @property
    def is_network(self) -> bool:
        """A host stands at the other end."""
        return self.kind not in ("file", "camera")

    def url(self, host: str | None = None, port: int | None = None, scheme: str = "") -> str:
        """The full URL, secrets included; for the library that connects and for nothing else.

        Args:
            host: replaces the host, such as by the IP address that was checked.
            port: replaces the port.
            scheme: replaces the scheme.
        """
        if not self.is_network:
            return self.path
        user = quote(self.username, safe="")
        if self.password:
            user += ":" + quote(self.password, safe="")
        where = f"{_bracketed(host or self.host)}:{port or self.port}"
        return f"{scheme or self.scheme}://{user + '@' if user else ''}{where}{self.path}"


class Gate(Protocol):
    """Decides whether an address may be reached, and at which IP addresses."""

    def admit(self, address: Address) -> tuple[str, ...]:
        """IP addresses to connect to, resolved once; connecting by name again is a mistake.

        Raises:
            AddressRefused: not allowed.
            SourceLost: the name does not resolve.
        """


def address_from_text(text: str) -> Address:
    """Reads a URL, a file path or `/dev/videoN`.

    >>> address_from_text("/dev/video0").kind
    'camera'
    >>> address_from_text("srt://host:9000?streamid=x").port
    9000

    Raises:
        AddressRefused: malformed, too long, or of an unknown scheme.
    """
    if not text or len(text) > _LONGEST or _CONTROL.search(text):
        message = f"an address has 1 to {_LONGEST} characters and no blanks; quote them as %20"
        raise AddressRefused(message)
    if "://" not in text:
        return _local(text)
    scheme = text.split("://", 1)[0].lower()
    if scheme not in _SCHEMES:
        message = f"scheme not supported; use one of {', '.join(_SCHEMES)}, a file or /dev/videoN"
        raise AddressRefused(message)
    return _remote(text, scheme)


def _local(text: str) -> Address:
    kind: Kind = "camera" if re.fullmatch(r"/dev/video\d{1,3}", text) else "file"
    return Address(kind, "", 0, False, text)


def _remote(text: str, scheme: str) -> Address:
    kind, is_tls, port = _SCHEMES[scheme]
    _refuse_raw_signs(text, scheme)
    try:
        parts = urlsplit(text)
        host, port = (parts.hostname or "").lower().rstrip("."), parts.port or port
    except ValueError:
        raise AddressRefused(f"the {scheme} address has a malformed host or port") from None
    if not host or not port or "\\" in parts.netloc or "%" in host:
        raise AddressRefused(f"the {scheme} address needs a host and a port")
    if parts.fragment:
        raise AddressRefused(f"the {scheme} address has a # in it; write it as %23")
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    user, password = (_unquoted(word or "", scheme) for word in (parts.username, parts.password))
    return Address(kind, host, port, is_tls, path, user, password)


def _unquoted(word: str, scheme: str) -> str:
    """A user name or password as it was before it was quoted.

    Raises:
        AddressRefused: it is no UTF-8, or has signs that end a line of a request.
    """
    try:
        plain = unquote(word, errors="strict")
    except UnicodeDecodeError:
        raise AddressRefused(
            f"the {scheme} address has a user name or password that is not quoted as UTF-8; "
            "write é as %C3%A9"
        ) from None
    if not plain.isprintable():
        raise AddressRefused(f"the {scheme} address has control signs in its user name or password")
    return plain


def _refuse_raw_signs(text: str, scheme: str) -> None:
    """Names the cause where a password has signs in it that end the host part of a URL.

    Raises:
        AddressRefused: such signs stand before the `@`.
    """
    rest = text.split("://", 1)[1]
    before, at, after = rest.rpartition("@")
    found = re.search(r"[#/?\[\]\\]", before)
    if not at or found is None or re.match(r"[\w.\[:-]+", after) is None:
        return
    start = before[: found.start()]
    name, colon, port = start.partition(":")
    is_known_host = "." in name or name == "localhost" or _HOST_LIKE.match(after) is None
    is_host = not colon or (port.isdecimal() and is_known_host)
    if found[0] in "/?" and (is_host or start.count("@")):
        return  # the host stands before; an @ in a path or query is no fault
    if found[0] in "[]" and not start.strip("[]"):
        return  # an IPv6 address
    raise AddressRefused(
        f"the {scheme} address has # / ? [ ] or \\ in its user name or password; write them as "
        "%23 %2F %3F %5B %5D %5C"
    )


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
