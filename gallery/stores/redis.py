"""A store in Redis, shared by workers on one or several machines.

One key holds a window: a stream whose entry n has the id ``n-0`` and whose first entry, ``1-0``,
names the window, the header and the run id of the server. Each call is one Lua script, so it is
atomic. A script that meets another window or another run id says that the window is over: a server
that restarted may have lost the last entries, whose effects were already shown, so its memory of
this window is never trusted again. The stream has a TTL, renewed or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, Self, cast

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from gallery.errors import StoreUnavailable, WindowEnded
from gallery.stores.store import Window

__all__ = ["Contents", "RedisStore"]

_PRELUDE = """
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
local first = redis.call('XRANGE', KEYS[1], '1-0', '1-0')[1]
local window = nil
if first and first[2][6] == run then window = first[2][2] end
"""

_OPEN = (
    _PRELUDE
    + """
if window then return {window, first[2][4], '0'} end
redis.call('DEL', KEYS[1])
redis.call('XADD', KEYS[1], '1-0', 'window', ARGV[1], 'header', ARGV[2], 'run', run)
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {ARGV[1], ARGV[2], '1'}
"""
)

_APPEND = (
    _PRELUDE
    + """
if window ~= ARGV[1] then return 'over' end
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1][1]
if last ~= ARGV[2] .. '-0' then return 'behind' end
redis.call('XADD', KEYS[1], string.format('%.0f', ARGV[2] + 1) .. '-0', 'e', ARGV[3])
if ARGV[4] ~= '0' then redis.call('PEXPIRE', KEYS[1], ARGV[4]) end
return 'done'
"""
)

_READ = (
    _PRELUDE
    + """
if window ~= ARGV[1] then return false end
local found = redis.call('XRANGE', KEYS[1], ARGV[2] .. '-0', '+', 'COUNT', ARGV[3])
local entries = {}
for i, entry in ipairs(found) do entries[i] = entry[2][2] end
return entries
"""
)

_FORGET = (
    _PRELUDE
    + """
if ARGV[1] ~= '' and window ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
"""
)


@dataclass(frozen=True, slots=True)
class Contents:
    """What a gallery keeps in Redis.

    Attributes:
        keys: keys of its namespace.
        window: id of the window; "" for none.
        entries: of the log.
        ends_in_s: time until the key expires.
        bytes: that its keys take.
    """

    keys: int
    window: str
    entries: int
    ends_in_s: float
    bytes: int


_Entries = list[tuple[bytes, dict[bytes, bytes]]]


class _Script(Protocol):
    """A registered Lua script."""

    def __call__(self, keys: list[str], args: list[str | int | bytes]) -> object: ...


@contextmanager
def _mapped_errors() -> Iterator[None]:
    """Whatever the client or the server reports, the store was not to be had."""
    try:
        yield
    except (redis.RedisError, OSError) as error:
        kind = type(error).__name__
        raise StoreUnavailable(
            f"Redis does not serve the gallery ({kind}); faces are covered until it does: "
            "check that it runs, has memory left and accepts writes"
        ) from error


class RedisStore:
    """Keeps the log in a Redis stream.

    Args:
        url: ``redis://host:port/db``, ``rediss://…`` or ``unix:///path?db=0``.
        namespace: galleries with different names do not see each other.
        lifetime_s: a window ends this long after it began.
        is_renewed: count the lifetime from the last entry instead.
        timeout_s: a call that takes longer fails. When it grows, a slow server holds faces
            covered for longer before the caller knows.

    Raises:
        StoreUnavailable: the URL is malformed.
    """

    def __init__(
        self,
        url: str,
        namespace: str = "default",
        lifetime_s: float = 86_400.0,
        is_renewed: bool = False,
        timeout_s: float = 0.25,
    ) -> None:
        if lifetime_s <= 0 or timeout_s <= 0:
            raise ValueError("lifetime_s and timeout_s must be positive")
        self._prefix = f"kveil:{namespace}:"
        self._key = f"{self._prefix}log"
        self._lifetime_ms = max(1, round(lifetime_s * 1000))
        self._is_renewed = is_renewed
        try:
            self._client = redis.Redis.from_url(
                url,
                socket_timeout=timeout_s,
                socket_connect_timeout=timeout_s,
                retry=Retry(NoBackoff(), 0),
                decode_responses=False,
            )
        except ValueError:  # whose text may quote a part of the password
            raise StoreUnavailable(
                "not a Redis URL: use redis://[user:password@]host:6379/0, with special "
                "characters of the password percent-encoded"
            ) from None
        self._open = self._registered(_OPEN)
        self._append = self._registered(_APPEND)
        self._read = self._registered(_READ)
        self._forget = self._registered(_FORGET)

    def open(self, name: str, header: bytes) -> Window:
        """See `Store.open`."""
        with _mapped_errors():
            answer = self._open([self._key], [name, header, self._lifetime_ms])
        window, kept, is_new = cast("list[bytes]", answer)
        return Window(window.decode(), kept, is_new == b"1")

    def append(self, window: str, after: int, entry: bytes) -> bool:
        """See `Store.append`."""
        renewed_ms = self._lifetime_ms if self._is_renewed else 0
        with _mapped_errors():
            answer = self._append([self._key], [window, after + 1, entry, renewed_ms])
        if answer == b"over":
            raise WindowEnded("the gallery's window in Redis is over; open the store again")
        return answer == b"done"

    def read(self, window: str, after: int, limit: int = 1000) -> list[bytes]:
        """See `Store.read`."""
        with _mapped_errors():
            answer = self._read([self._key], [window, after + 2, limit])
        if answer is None:
            raise WindowEnded("the gallery's window in Redis is over; open the store again")
        return cast("list[bytes]", answer)

    def forget(self, window: str | None = None) -> int:
        """See `Store.forget`."""
        with _mapped_errors():
            return cast("int", self._forget([self._key], [window or ""]))

    def contents(self) -> Contents:
        """What is there, as far as it can be seen without the key.

        Raises:
            StoreUnavailable: lost, slow or failing.
        """
        with _mapped_errors():
            keys = list(self._client.scan_iter(f"{self._prefix}*"))
            first = cast("_Entries", self._client.xrange(self._key, "1-0", "1-0"))
            return Contents(
                keys=len(keys),
                window=first[0][1][b"window"].decode() if first else "",
                entries=max(0, self._client.xlen(self._key) - 1),
                ends_in_s=max(0.0, self._client.pttl(self._key) / 1000),
                bytes=sum(self._client.memory_usage(key) or 0 for key in keys),
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """See `Store.close`: later calls connect again."""
        self._client.close()

    def _registered(self, script: str) -> _Script:
        return cast("_Script", self._client.register_script(script))
