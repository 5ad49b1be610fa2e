"""Digest sign-in (RFC 7616), also with the algorithms that the media library does not speak.

The library knows MD5 alone. A challenge in SHA-256 is shown to it without its algorithm, and
the answer that it gives, computed with MD5, is computed anew before it leaves.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Final

__all__ = ["DigestTranslation", "digest_authorization"]

_ALGORITHM: Final = re.compile(r'algorithm\s*=\s*"?([A-Za-z0-9-]+)"?\s*,?\s*', re.IGNORECASE)
_PARAMETER: Final = re.compile(r'(\w+)\s*=\s*(?:"([^"]*)"|([^\s,]+))')
_SESSION: Final = "-sess"
_PLAIN: Final = "md5"
_HASHES: Final = {"sha-256": "sha256", "sha-512-256": "sha512_256"}
_BARE: Final = frozenset({"algorithm", "qop", "nc"})
"""Parameters of an answer that are written without quotes."""


class DigestTranslation:
    """Between a library that knows MD5 and a camera that wants more.

    Args:
        password: of the address.

    Attributes:
        unknown: an algorithm that was asked for and is not known here; empty for none.
    """

    def __init__(self, password: str) -> None:
        self._password = password
        self._algorithm = ""
        self.unknown = ""

    def begin(self) -> None:
        """A new reply begins, whose challenges replace those before."""
        self._is_chosen = False

    def challenge(self, line: str) -> str:
        """A challenge as the library is to see it; empty where it must not.

        The strongest of several is kept: after one that is translated, MD5 is left out.

        Args:
            line: header with its name, without its end.
        """
        found = _ALGORITHM.search(line)
        name = found[1].lower() if found else _PLAIN
        kind = name.removesuffix(_SESSION)
        if kind == _PLAIN:
            if self._is_chosen:
                return ""
            self._algorithm = ""
            return line
        if _hash_of(kind) is None:
            self.unknown = found[1] if found else ""
            return ""
        self._is_chosen, self._algorithm, self.unknown = True, found[1] if found else "", ""
        return _ALGORITHM.sub("", line).rstrip(" ,")

    def answer(self, line: str, method: str) -> str:
        """An answer as the camera is to see it.

        Args:
            line: header with its name, without its end, as the library wrote it.
            method: of the request.
        """
        name = self._algorithm.lower()
        digest = _hash_of(name.removesuffix(_SESSION)) if name else None
        if digest is None:
            return line
        given = {key: quoted or bare for key, quoted, bare in _PARAMETER.findall(line)}
        given["algorithm"] = self._algorithm
        has_session = name.endswith(_SESSION)
        given["response"] = _response(given, self._password, method, digest, has_session)
        return f"Authorization: Digest {_written(given)}"

    _is_chosen = False


def digest_authorization(
    challenges: Sequence[str], username: str, password: str, method: str, uri: str
) -> str:
    """The value of the header that answers a server, by the strongest of its digests.

    Args:
        challenges: values of `WWW-Authenticate`.
        username: of the user.
        password: likewise; only hashes of it are in the answer.
        method: of the request.
        uri: as in the request's first line.

    Returns:
        An empty string where no challenge is a digest that is known here.
    """
    for kind in (*_HASHES, _PLAIN):
        for challenge in challenges:
            found = _ALGORITHM.search(challenge)
            name = found[1] if found else _PLAIN
            digest = _hash_of(kind)
            if digest is None or name.lower().removesuffix(_SESSION) != kind:
                continue
            if not challenge.lower().startswith("digest "):
                continue
            asked = {key: quoted or bare for key, quoted, bare in _PARAMETER.findall(challenge)}
            given = {"username": username, "uri": uri}
            given |= {key: asked[key] for key in ("realm", "nonce", "opaque") if key in asked}
            if found:
                given["algorithm"] = name
            if "auth" in [one.strip() for one in asked.get("qop", "").split(",")]:
                given |= {"qop": "auth", "nc": "00000001"}
            given["cnonce"] = secrets.token_hex(8)
            has_session = name.lower().endswith(_SESSION)
            given["response"] = _response(given, password, method, digest, has_session)
            return f"Digest {_written(given)}"
    return ""


def _response(
    given: Mapping[str, str],
    password: str,
    method: str,
    digest: Callable[[str], str],
    has_session: bool,
) -> str:
    of = given.get
    secret = digest(f"{of('username', '')}:{of('realm', '')}:{password}")
    if has_session:
        secret = digest(f"{secret}:{of('nonce', '')}:{of('cnonce', '')}")
    request = digest(f"{method}:{of('uri', '')}")
    if "qop" not in given:
        return digest(f"{secret}:{of('nonce', '')}:{request}")
    once = f"{of('nonce', '')}:{of('nc', '')}:{of('cnonce', '')}:{given['qop']}"
    return digest(f"{secret}:{once}:{request}")


def _written(given: Mapping[str, str]) -> str:
    return ", ".join(
        f"{key}={value}" if key in _BARE else f'{key}="{value}"' for key, value in given.items()
    )


def _hash_of(name: str) -> Callable[[str], str] | None:
    """The hash of that name in Digest, if it is known."""
    known = "md5" if name == _PLAIN else _HASHES.get(name)
    if known is None or known not in hashlib.algorithms_available:
        return None
    return lambda text: hashlib.new(known, text.encode(), usedforsecurity=False).hexdigest()
