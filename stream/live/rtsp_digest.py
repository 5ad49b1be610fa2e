"""Digest sign-in (RFC 7616) with the algorithms that the media library does not speak.

The library knows MD5 alone. A challenge in SHA-256 is shown to it without its algorithm, and
the answer that it gives, computed with MD5, is computed anew before it leaves.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Final

__all__ = ["DigestTranslation"]

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
        given["response"] = self._response(given, method, digest, name.endswith(_SESSION))
        told = ", ".join(
            f"{key}={value}" if key in _BARE else f'{key}="{value}"' for key, value in given.items()
        )
        return f"Authorization: Digest {told}"

    def _response(
        self, given: dict[str, str], method: str, digest: Callable[[str], str], has_session: bool
    ) -> str:
        of = given.get
        secret = digest(f"{of('username', '')}:{of('realm', '')}:{self._password}")
        if has_session:
            secret = digest(f"{secret}:{of('nonce', '')}:{of('cnonce', '')}")
        request = digest(f"{method}:{of('uri', '')}")
        if "qop" not in given:
            return digest(f"{secret}:{of('nonce', '')}:{request}")
        once = f"{of('nonce', '')}:{of('nc', '')}:{of('cnonce', '')}:{given['qop']}"
        return digest(f"{secret}:{once}:{request}")

    _is_chosen = False


def _hash_of(name: str) -> Callable[[str], str] | None:
    """The hash of that name in Digest, if it is known."""
    known = _HASHES.get(name)
    if known is None or known not in hashlib.algorithms_available:
        return None
    return lambda text: hashlib.new(known, text.encode()).hexdigest()
