"""Bearer tokens: who they belong to, what they allow, until when."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

import structlog

from config.service import Role, TokenSpec
from stream.service.errors import RoleRefused, TokenRefused

__all__ = ["Holder", "TokenBook", "hash_token", "new_token"]

_LOG = structlog.get_logger("kveil.tokens")
_RANKS: Final[dict[Role, int]] = {"viewer": 0, "publisher": 1, "operator": 2}
_LONGEST: Final = 256


@dataclass(frozen=True, slots=True)
class Holder:
    """Who asks.

    Attributes:
        name: of the token.
        role: what it allows.
        sha256: of the token; empty where none was asked for.
        address: of the client where no token was asked for; else empty. Never written down.
    """

    name: str
    role: Role
    sha256: str = field(default="", repr=False)
    address: str = field(default="", repr=False)

    @property
    def key(self) -> str:
        """What tells holders apart."""
        return self.sha256 or self.address


class TokenBook:
    """The tokens in force.

    Args:
        tokens: with hashes only; none lets everybody do everything, which the configuration
            allows on loopback alone.
        wall: present time.
    """

    def __init__(
        self, tokens: Sequence[TokenSpec], wall: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._tokens = tuple(tokens)
        self._wall = wall
        self._told_expired: set[str] = set()

    @property
    def is_open(self) -> bool:
        """No token is asked for."""
        return not self._tokens

    def holder(self, authorization: str | None, needed: Role, address: str = "") -> Holder:
        """Who sent this `Authorization` header.

        Every hash is compared, in constant time, so that timing tells nothing.

        Args:
            authorization: the header; None where there is none.
            needed: what the token has to allow.
            address: of the client.

        Raises:
            TokenRefused: missing, malformed, wrong, or expired.
            RoleRefused: it does not allow `needed`.
        """
        if self.is_open:
            return Holder("everyone", "operator", address=address)
        scheme, _, token = (authorization or "").partition(" ")
        if scheme.lower() != "bearer" or not token or len(token) > _LONGEST:
            raise TokenRefused("send a header Authorization: Bearer TOKEN")
        digest = hash_token(token.strip())
        matching = [one for one in self._tokens if hmac.compare_digest(one.sha256, digest)]
        if not matching or self._has_expired(matching[0]):
            self._tell_expired(matching)
            raise TokenRefused("that token is not valid, or no longer")
        found = matching[0]
        if _RANKS[found.role] < _RANKS[needed]:
            raise RoleRefused(f"this needs a token of the role {needed}")
        return Holder(found.name, found.role, found.sha256)

    def stands(self, holder: Holder, needed: Role) -> bool:
        """Whether who was let in before would be let in now: for what lasts after its request."""
        if self.is_open:
            return True
        return any(
            one.sha256 == holder.sha256
            and _RANKS[one.role] >= _RANKS[needed]
            and not self._has_expired(one)
            for one in self._tokens
        )

    def _tell_expired(self, matching: Sequence[TokenSpec]) -> None:
        """Logs the first use of a token that has expired; its holder may not know."""
        for one in matching[:1]:
            if one.name not in self._told_expired:
                self._told_expired.add(one.name)
                _LOG.warning("token_expired", holder=one.name)

    def _has_expired(self, token: TokenSpec) -> bool:
        if token.expires is None:
            return False
        expires = token.expires
        if expires.tzinfo is None:
            expires = expires.replace(tzinfo=UTC)
        return self._wall() >= expires


def hash_token(token: str) -> str:
    """SHA-256 of a token, hexadecimal; tokens are random, so no slow hash is needed.

    >>> hash_token("example")[:8]
    '50d858e0'
    """
    return hashlib.sha256(token.encode("utf-8", errors="surrogatepass")).hexdigest()


def new_token() -> str:
    """A fresh token of 256 random bits."""
    return "kv_" + secrets.token_urlsafe(32)
