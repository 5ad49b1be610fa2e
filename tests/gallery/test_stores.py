"""One contract over every store, and what only Redis can do wrong."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from gallery.errors import StoreUnavailable, WindowEnded
from gallery.stores import redis as redis_module
from gallery.stores.local_redis import INSTALL, LocalRedis
from gallery.stores.memory import MemoryStore
from gallery.stores.redis import RedisStore
from gallery.stores.store import Store

NAME, OTHER = "a" * 32, "b" * 32

with_redis = pytest.mark.skipif(
    shutil.which("redis-server") is None, reason=f"needs redis-server: {INSTALL}"
)


@pytest.fixture(scope="module")
def server() -> Iterator[LocalRedis]:
    folder = Path(tempfile.mkdtemp())
    with LocalRedis(folder) as local:
        yield local
    shutil.rmtree(folder)


@pytest.fixture(
    params=[
        pytest.param("memory", marks=pytest.mark.unit),
        pytest.param("redis", marks=[pytest.mark.redis, with_redis]),
    ]
)
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    if request.param == "memory":
        yield MemoryStore()
        return
    local: LocalRedis = request.getfixturevalue("server")
    redis_store = RedisStore(local.url, timeout_s=5.0)
    redis_store.forget()
    yield redis_store
    redis_store.close()


def test_first_to_open_chooses_the_window(store: Store) -> None:
    first = store.open(NAME, b"mine")
    second = store.open(OTHER, b"theirs")
    assert (first.id, first.header, first.is_new) == (NAME, b"mine", True)
    assert (second.id, second.header, second.is_new) == (NAME, b"mine", False)


def test_entries_are_read_back_in_order_and_in_pieces(store: Store) -> None:
    store.open(NAME, b"")
    entries = [bytes([n]) * (n + 1) for n in range(10)]
    assert all(store.append(NAME, n, entry) for n, entry in enumerate(entries))
    assert store.read(NAME, 0) == entries
    assert store.read(NAME, 3, limit=4) == entries[3:7]
    assert store.read(NAME, 10) == []


def test_a_store_that_was_given_back_still_has_what_it_held(store: Store) -> None:
    store.open(NAME, b"")
    store.append(NAME, 0, b"entry")
    store.close()
    assert store.read(NAME, 0) == [b"entry"]


@pytest.mark.parametrize("after", [0, 1, 3, 99])
def test_append_by_one_who_is_behind_or_ahead_is_refused(store: Store, after: int) -> None:
    store.open(NAME, b"")
    assert store.append(NAME, 0, b"1")
    assert store.append(NAME, 1, b"2")
    assert not store.append(NAME, after, b"late")
    assert store.read(NAME, 0) == [b"1", b"2"]


def test_other_window_is_over(store: Store) -> None:
    store.open(NAME, b"")
    with pytest.raises(WindowEnded):
        store.append(OTHER, 0, b"x")
    with pytest.raises(WindowEnded):
        store.read(OTHER, 0)


def test_store_without_a_window_says_so(store: Store) -> None:
    with pytest.raises(WindowEnded):
        store.append(NAME, 0, b"x")
    with pytest.raises(WindowEnded):
        store.read(NAME, 0)
    assert store.forget() == 0


def test_forgetting_another_window_deletes_nothing(store: Store) -> None:
    store.open(NAME, b"")
    assert store.forget(OTHER) == 0
    assert store.read(NAME, 0) == []


def test_forgotten_window_begins_anew_and_empty(store: Store) -> None:
    store.open(NAME, b"")
    store.append(NAME, 0, b"x")
    assert store.forget(NAME) == 1
    assert store.open(OTHER, b"new").is_new
    assert store.read(OTHER, 0) == []


def test_racing_appends_leave_one_winner_per_place(store: Store) -> None:
    store.open(NAME, b"")
    wins: list[tuple[int, int]] = []

    def race(worker: int) -> None:
        for _ in range(30):
            after = len(store.read(NAME, 0))
            if store.append(NAME, after, bytes([worker])):
                wins.append((after, worker))

    threads = [threading.Thread(target=race, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    entries = store.read(NAME, 0)
    assert len(entries) == len(wins)
    assert all(entries[after] == bytes([worker]) for after, worker in wins)


class FakeClock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.mark.unit
@pytest.mark.parametrize(("is_renewed", "is_there"), [(False, False), (True, True)])
def test_memory_window_ends_with_its_lifetime(is_renewed: bool, is_there: bool) -> None:
    clock = FakeClock()
    memory = MemoryStore(10.0, is_renewed, clock)
    memory.open(NAME, b"")
    clock.now_s += 9.0
    memory.append(NAME, 0, b"x")
    clock.now_s += 2.0
    assert memory.open(OTHER, b"").is_new is not is_there


@pytest.mark.unit
def test_url_that_is_none_is_told_in_one_line() -> None:
    with pytest.raises(StoreUnavailable, match="redis://"):
        RedisStore("not a url")


@pytest.mark.unit
def test_nobody_listening_is_unavailable_and_may_be_tried_again(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable) as caught:
        RedisStore(f"unix://{tmp_path}/none.sock").open(NAME, b"")
    assert caught.value.retryable


@pytest.mark.unit
@pytest.mark.parametrize(
    "error",
    [kind for kind in vars(redis.exceptions).values()
     if isinstance(kind, type) and issubclass(kind, redis.RedisError)],
    ids=lambda kind: kind.__name__,
)  # fmt: skip
def test_every_error_of_the_client_becomes_unavailable(error: type[redis.RedisError]) -> None:
    with pytest.raises(StoreUnavailable), redis_module._mapped_errors():
        raise error.__new__(error)


@pytest.mark.redis
@with_redis
@pytest.mark.parametrize("is_renewed", [False, True])
def test_redis_keys_all_carry_a_ttl(server: LocalRedis, is_renewed: bool) -> None:
    name = f"ttl{is_renewed}"
    store = RedisStore(server.url, name, lifetime_s=100.0, is_renewed=is_renewed, timeout_s=5.0)
    store.open(NAME, b"")
    with server.client() as client:
        client.pexpire(f"kveil:{name}:log", 50_000)
        store.append(NAME, 0, b"x")
        assert all(client.pttl(key) > 0 for key in client.scan_iter("*"))
        assert (client.pttl(f"kveil:{name}:log") > 50_000) is is_renewed
    store.forget()
    store.close()


@pytest.mark.redis
@with_redis
def test_purge_leaves_no_key_of_the_namespace_and_all_of_another(server: LocalRedis) -> None:
    mine, other = (RedisStore(server.url, name, timeout_s=5.0) for name in ("mine", "other"))
    for store in (mine, other):
        store.open(NAME, b"")
        store.append(NAME, 0, b"x")
    assert mine.forget() == 1
    with server.client() as client:
        assert list(client.scan_iter("kveil:mine:*")) == []
        assert list(client.scan_iter("kveil:other:*")) == [b"kveil:other:log"]
    other.forget()
    mine.close()
    other.close()


@pytest.mark.redis
@with_redis
def test_restarted_server_that_kept_its_data_is_not_trusted_with_them(short_folder: Path) -> None:
    with LocalRedis(short_folder, is_persistent=True) as local:
        store = RedisStore(local.url, timeout_s=5.0)
        store.open(NAME, b"")
        store.append(NAME, 0, b"x")
        with local.client() as client:
            client.execute_command("BGREWRITEAOF")
        local.kill()
        local.start()
        with pytest.raises((StoreUnavailable, WindowEnded)):
            store.read(NAME, 0)
        with pytest.raises(WindowEnded):
            store.read(NAME, 0)
        with pytest.raises(WindowEnded):
            store.append(NAME, 1, b"y")
        assert store.open(OTHER, b"").is_new
        store.close()


@pytest.mark.redis
@with_redis
def test_full_server_is_unavailable(short_folder: Path) -> None:
    with LocalRedis(short_folder, "--maxmemory", "2mb") as local:
        store = RedisStore(local.url, timeout_s=5.0)
        store.open(NAME, b"")

        def fill() -> None:
            for after in range(100):
                store.append(NAME, after, bytes(100_000))

        with pytest.raises(StoreUnavailable, match="memory"):
            fill()
        store.close()


@pytest.mark.redis
@with_redis
def test_server_that_hangs_is_unavailable_within_the_timeout(short_folder: Path) -> None:
    with LocalRedis(short_folder) as local:
        store = RedisStore(local.url, timeout_s=0.1)
        store.open(NAME, b"")
        with local.client() as client:
            client.execute_command("CLIENT", "PAUSE", "400", "ALL")
        with pytest.raises(StoreUnavailable, match="Timeout"):
            store.read(NAME, 0)
        store.close()


@pytest.mark.redis
@with_redis
def test_evicted_log_ends_the_window(server: LocalRedis) -> None:
    store = RedisStore(server.url, "evicted", timeout_s=5.0)
    store.open(NAME, b"")
    store.append(NAME, 0, b"x")
    with server.client() as client:
        client.delete("kveil:evicted:log")
    with pytest.raises(WindowEnded):
        store.append(NAME, 1, b"y")
    assert store.open(OTHER, b"").is_new
    store.close()


@pytest.mark.redis
@with_redis
def test_server_that_refuses_writes_is_unavailable(server: LocalRedis) -> None:
    store = RedisStore(server.url, "wrong", timeout_s=5.0)
    with server.client() as client:
        client.set("kveil:wrong:log", b"somebody else's", ex=60)
        with pytest.raises(StoreUnavailable, match="ResponseError"):
            store.open(NAME, b"")
        client.delete("kveil:wrong:log")
    store.close()
