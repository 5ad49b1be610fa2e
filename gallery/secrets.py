"""Keyed randomness, secrets that rotate, and sealing of whatever rests in a store.

Every draw that matters for privacy comes from `KeyedRandom`: HMAC-SHA256 in counter mode over
a secret and a context. Without the secret its output cannot be told from noise; with the secret
it can be repeated by any worker. Nothing here is ever seeded from a path, a track number or a
clock alone: those are guessable, so they may be context but never the key.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import math
import os
import secrets
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from numpy.typing import NDArray

from engines.durable import sync_handle
from gallery.errors import SealBroken, SecretMissing

__all__ = ["KEY_BYTES", "KEY_VARIABLE", "Context", "KeyedRandom", "SecretRing", "fresh_key"]

KEY_BYTES = 32
KEY_VARIABLE = "KVEIL_GALLERY_KEYS"

Context = str | int | bytes
"""One part of what a draw is for; the type is part of the value: 1, "1" and b"1" differ."""

_ID_BYTES = 4
_NONCE_BYTES = 12
_VERSION = b"\x01"


def fresh_key() -> bytes:
    """A new random 256-bit key from the operating system.

    >>> len(fresh_key())
    32
    """
    return secrets.token_bytes(KEY_BYTES)


def _encoded(context: Sequence[Context]) -> bytes:
    """Unambiguous bytes of a context: each part carries its type and its length."""
    parts: list[bytes] = []
    for part in context:
        if isinstance(part, str):
            tag, raw = b"s", part.encode()
        elif isinstance(part, int):
            tag, raw = b"i", str(int(part)).encode()
        else:
            tag, raw = b"b", part
        parts.append(tag + len(raw).to_bytes(4, "big") + raw)
    return b"".join(parts)


class KeyedRandom:
    """A stream of random values that only the holder of the key can repeat.

    Two instances with the same key and context give the same values in the same order;
    any other context gives an independent stream. Not thread-safe: make one per use.

    Args:
        key: the secret, at least 16 bytes.
        *context: what the draw is for, such as a purpose, a cluster and a slot.

    Raises:
        SecretMissing: the key is shorter than 16 bytes.

    >>> a, b = KeyedRandom(b"k" * 32, "face", 3), KeyedRandom(b"k" * 32, "face", 3)
    >>> a.integer(1000) == b.integer(1000)
    True
    """

    __slots__ = ("_buffer", "_counter", "_key")

    def __init__(self, key: bytes, *context: Context) -> None:
        if len(key) < 16:
            raise SecretMissing("a gallery secret needs at least 16 bytes; make one of 32")
        self._key = hmac.digest(key, b"kveil keyed random" + _encoded(context), "sha256")
        self._counter = 0
        self._buffer = b""

    def __repr__(self) -> str:
        return "KeyedRandom(key=hidden)"

    def child(self, *context: Context) -> KeyedRandom:
        """An independent stream for a part of this purpose; draws nothing from this one."""
        return KeyedRandom(self._key, "child", *context)

    def token(self, size: int) -> bytes:
        """The next `size` bytes of the stream.

        >>> len(KeyedRandom(b"k" * 32).token(5))
        5
        """
        missing = size - len(self._buffer)
        if missing > 0:
            blocks = [self._buffer]
            for _ in range(-(-missing // 32)):
                blocks.append(hmac.digest(self._key, self._counter.to_bytes(8, "big"), "sha256"))
                self._counter += 1
            self._buffer = b"".join(blocks)
        token, self._buffer = self._buffer[:size], self._buffer[size:]
        return token

    def integer(self, high: int) -> int:
        """A uniform integer in [0, high), without modulo bias.

        Raises:
            ValueError: `high` is not in 1…2**63.

        >>> KeyedRandom(b"k" * 32).integer(1)
        0
        """
        if not 1 <= high <= 2**63:
            raise ValueError(f"high must be in 1…2**63, got {high}")
        limit = 2**64 - 2**64 % high
        while True:
            draw = int.from_bytes(self.token(8), "big")
            if draw < limit:
                return draw % high

    def uniform(self, *shape: int) -> NDArray[np.float64]:
        """Uniform values in [0, 1) with 53 random bits each.

        Args:
            *shape: shape of the array; none gives a 0-d array.

        Returns:
            float64 array of that shape.

        >>> KeyedRandom(b"k" * 32).uniform(2, 3).shape
        (2, 3)
        """
        count = math.prod(shape)
        words = np.frombuffer(self.token(8 * count), dtype=">u8")
        return ((words >> np.uint64(11)).astype(np.float64) * 2.0**-53).reshape(shape)

    def normal(self, *shape: int) -> NDArray[np.float32]:
        """Standard normal values by Box and Muller's transform.

        Args:
            *shape: shape of the array; none gives a 0-d array.

        Returns:
            float32 array of that shape.

        >>> bool(abs(KeyedRandom(b"k" * 32).normal(10_000).mean()) < 0.05)
        True
        """
        count = math.prod(shape)
        pairs = self.uniform(2, -(-count // 2))
        radius = np.sqrt(-2.0 * np.log1p(-pairs[0]))  # 1 - u is in (0, 1]: no log of zero
        angle = 2.0 * np.pi * pairs[1]
        values = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:count]
        return values.astype(np.float32).reshape(shape)

    def permutation(self, count: int) -> NDArray[np.int64]:
        """A uniform permutation of 0…count-1 by Fisher and Yates.

        Returns:
            (count,) int64.

        >>> sorted(KeyedRandom(b"k" * 32).permutation(5).tolist())
        [0, 1, 2, 3, 4]
        """
        order = np.arange(count, dtype=np.int64)
        for last in range(count - 1, 0, -1):
            other = self.integer(last + 1)
            order[last], order[other] = order[other], order[last]
        return order

    def sample(self, population: int, count: int) -> NDArray[np.int64]:
        """`count` different integers of 0…population-1, in random order.

        Returns:
            (count,) int64.

        Raises:
            ValueError: more are wanted than there are.

        >>> len(set(KeyedRandom(b"k" * 32).sample(100, 10).tolist()))
        10
        """
        if not 0 <= count <= population:
            raise ValueError(f"cannot draw {count} different ones of {population}")
        moved: dict[int, int] = {}  # a sparse Fisher-Yates: work grows with count alone
        drawn = np.empty(count, dtype=np.int64)
        for i in range(count):
            j = i + self.integer(population - i)
            drawn[i] = moved.get(j, j)
            moved[j] = moved.get(i, i)
        return drawn


class SecretRing:
    """The keys that seal what a store holds: the first seals, all of them open.

    Rotating means putting a new key first and keeping the old ones until everything they
    sealed has expired. A key's id is derived from the key, so that ids never collide by
    naming and tell nothing about it.

    Args:
        keys: 32-byte keys, current first.

    Raises:
        SecretMissing: no key, or one that is not 32 bytes long.

    >>> ring = SecretRing([b"a" * 32])
    >>> ring.unseal(ring.seal(b"secret", "what for"), "what for")
    b'secret'
    """

    __slots__ = ("_ciphers", "_current", "_keys")

    def __init__(self, keys: Sequence[bytes]) -> None:
        if not keys or any(len(key) != KEY_BYTES for key in keys):
            raise SecretMissing(f"a secret ring needs keys of {KEY_BYTES} bytes, current first")
        self._keys = tuple(keys)
        self._ciphers = {_key_id(key): AESGCM(_sealing_key(key)) for key in reversed(keys)}
        self._current = _key_id(keys[0])

    def __repr__(self) -> str:
        return f"SecretRing(current={self.current_id}, keys={len(self._keys)})"

    @classmethod
    def ephemeral(cls) -> SecretRing:
        """A ring whose only key lives and dies with this process."""
        return cls([fresh_key()])

    @classmethod
    def from_text(cls, text: str) -> SecretRing:
        """A ring of base64 keys separated by commas, spaces or lines, current first.

        Raises:
            SecretMissing: nothing there, or not base64 of 32 bytes.
        """
        try:
            keys = [
                base64.b64decode(part, validate=True) for part in text.replace(",", " ").split()
            ]
        except (binascii.Error, ValueError):
            raise SecretMissing(
                "a gallery key is not base64; make one: head -c 32 /dev/urandom | base64"
            ) from None
        return cls(keys)

    @classmethod
    def from_environment(cls) -> SecretRing:
        """A ring from the variable `KVEIL_GALLERY_KEYS`.

        Raises:
            SecretMissing: the variable is empty or malformed.
        """
        text = os.environ.get(KEY_VARIABLE, "")
        if not text.strip():
            raise SecretMissing(
                f"set {KEY_VARIABLE} to a base64 key of 32 bytes: "
                f"export {KEY_VARIABLE}=$(head -c 32 /dev/urandom | base64)"
            )
        return cls.from_text(text)

    @classmethod
    def from_file(cls, path: Path) -> SecretRing:
        """A ring from a file of base64 keys, one a line, current first.

        Raises:
            SecretMissing: absent, malformed, or readable by others than its owner.
        """
        try:
            mode, text = path.stat().st_mode, path.read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError) as error:
            raise SecretMissing(f"cannot read the key file {path}: {error}") from error
        if mode & 0o077:
            raise SecretMissing(f"others can read the key file {path}: chmod 600 {path}")
        return cls.from_text(text)

    @property
    def current_id(self) -> str:
        """Id of the key that seals now, 8 hex digits."""
        return self._current.hex()

    def rotated(self, keep: int = 2) -> SecretRing:
        """A ring with a new current key that still opens what the last `keep` sealed."""
        return SecretRing([fresh_key(), *self._keys[:keep]])

    def write(self, path: Path) -> None:
        """Write the keys to a file that only its owner can read, replacing it at once."""
        lines = "".join(base64.b64encode(key).decode() + "\n" for key in self._keys)
        path = path.resolve()  # behind a link the old keys would stay
        beside = path.with_name(path.name + ".new")
        beside.unlink(missing_ok=True)
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(lines)
            file.flush()
            sync_handle(file.fileno())
        beside.replace(path)

    def seal(self, clear: bytes, *context: Context) -> bytes:
        """Encrypt and authenticate with AES-256-GCM under the current key.

        Args:
            clear: what to protect.
            *context: what it is and where it belongs; `unseal` needs the same, so that a
                sealed value cannot be moved to another place.

        Returns:
            version (1 byte), key id (4), nonce (12), ciphertext and tag (len + 16).
        """
        head = _VERSION + self._current
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = self._ciphers[self._current].encrypt(nonce, clear, head + _encoded(context))
        return head + nonce + sealed

    def unseal(self, sealed: bytes, *context: Context) -> bytes:
        """Check and decrypt what `seal` made with the same context.

        Raises:
            SealBroken: unknown key, wrong context, or changed in any bit.
        """
        head, body = sealed[: 1 + _ID_BYTES], sealed[1 + _ID_BYTES :]
        cipher = self._ciphers.get(head[1:]) if head[:1] == _VERSION else None
        if cipher is None:
            raise SealBroken(
                "a sealed value names a key that this ring does not hold; give the older key too"
            )
        try:
            return cipher.decrypt(
                body[:_NONCE_BYTES], body[_NONCE_BYTES:], head + _encoded(context)
            )
        except (InvalidTag, ValueError):
            raise SealBroken("a sealed value was changed or moved; purge the store") from None


def _key_id(key: bytes) -> bytes:
    return hmac.digest(key, b"kveil key id", hashlib.sha256)[:_ID_BYTES]


def _sealing_key(key: bytes) -> bytes:
    return hmac.digest(key, b"kveil sealing key", hashlib.sha256)
