"""A worker that is behind decides anew; one that cannot win or trust says so."""

from __future__ import annotations

import json

import pytest

from gallery.buffer import Buffer
from gallery.entries import Joined, encoded
from gallery.errors import BufferBroken, EmbeddingsRejected, SealBroken, StoreUnavailable
from gallery.roster import Enrolment, Roster
from gallery.secrets import SecretRing
from gallery.settings import GallerySettings
from gallery.simulation import THRESHOLDS, look
from gallery.stores.memory import MemoryStore

pytestmark = pytest.mark.unit

SETTINGS = GallerySettings(k=3, thresholds=THRESHOLDS)


def two_workers() -> tuple[Roster, Roster, MemoryStore, SecretRing]:
    store, ring = MemoryStore(), SecretRing.ephemeral()
    return Roster(SETTINGS, store, ring), Roster(SETTINGS, store, ring), store, ring


class OvertakenStore(MemoryStore):
    """Another worker is faster, so many times."""

    def __init__(self, rival: Roster | None = None, times: int = 1) -> None:
        super().__init__()
        self.rival = rival
        self.times = times

    def append(self, window: str, after: int, entry: bytes) -> bool:
        if self.times > 0:
            self.times -= 1
            if self.rival is not None:
                rival, self.rival = self.rival, None
                rival.enrol(look(2), "", ())
                return super().append(window, after, entry)
            return False
        return super().append(window, after, entry)


def test_two_workers_enrolling_the_same_newcomer_at_once_make_one_record() -> None:
    ring, store = SecretRing.ephemeral(), OvertakenStore()
    store.rival = Roster(SETTINGS, store, ring)
    mine = Roster(SETTINGS, store, ring)
    assert mine.enrol(look(2), "", ()) == Enrolment(1, is_new=False)
    assert mine.buffer.people == 1


def test_worker_that_is_always_overtaken_gives_up_retryably() -> None:
    roster = Roster(SETTINGS, OvertakenStore(times=10**6), SecretRing.ephemeral())
    with pytest.raises(StoreUnavailable, match="faster") as caught:
        roster.enrol(look(2), "", ())
    assert caught.value.retryable


def test_worker_before_its_first_catch_up_says_so() -> None:
    roster, _, _, _ = two_workers()
    assert roster.window == ""
    with pytest.raises(StoreUnavailable, match="catch up"):
        roster.sight(look(2))


def test_both_workers_hold_the_same_secret_and_clusters() -> None:
    one, other, _, _ = two_workers()
    for human in (2, 3, 4, 5):
        one.enrol(look(human), "", ())
    other.catch_up()
    assert other.secret == one.secret
    assert other.buffer.clusters == one.buffer.clusters


def test_merge_that_another_worker_made_impossible_is_refused() -> None:
    store, ring = MemoryStore(), SecretRing.ephemeral()
    cover = GallerySettings(k=3, below_k="cover", thresholds=THRESHOLDS)
    one, other = Roster(cover, store, ring), Roster(cover, store, ring)
    for human in (2, 3):
        one.enrol(look(human), "", ())
    other.catch_up()
    one.enrol(look(4), "", ())  # fills the cluster: it may be shown from now on
    assert other.buffer.may_merge(2, 1)
    assert not other.merge(2, 1)
    assert one.merges == other.merges == 0


def test_entry_that_would_split_a_person_is_not_applied() -> None:
    roster, _, store, ring = two_workers()
    roster.enrol(look(2), "", ())
    entry = Joined(1, 2, 0, False, "", "", look(3))
    store.append(roster.window, 1, ring.seal(encoded(entry), roster.window, 2))
    with pytest.raises(BufferBroken):
        roster.catch_up()


@pytest.mark.parametrize("place", [1, 3])
def test_entry_moved_to_another_place_is_not_opened(place: int) -> None:
    roster, _, store, ring = two_workers()
    roster.enrol(look(2), "", ())
    entry = Joined(2, 1, 1, False, "", "", look(3))
    store.append(roster.window, 1, ring.seal(encoded(entry), roster.window, place))
    with pytest.raises(SealBroken):
        roster.catch_up()


def test_embeddings_of_another_recogniser_in_the_store_are_refused() -> None:
    roster, _, store, ring = two_workers()
    roster.enrol(look(2), "", ())
    entry = Joined(2, 1, 1, False, "", "", look(3)[:7])
    store.append(roster.window, 1, ring.seal(encoded(entry), roster.window, 2))
    with pytest.raises(EmbeddingsRejected):
        roster.catch_up()


def test_store_holds_neither_embedding_nor_secret_in_clear() -> None:
    roster, _, store, _ = two_workers()
    roster.enrol(look(2), "hair=red", ())
    header = store.open("x" * 32, b"").header
    held = header + b"".join(store.read(roster.window, 0))
    for kind in ("<f4", "<f2"):
        clear = look(2).astype(kind).tobytes()
        assert all(clear[i : i + 8] not in held for i in range(0, len(clear) - 8, 4))
    assert roster.secret not in held
    assert roster.secret.hex().encode() not in held
    assert b"hair" not in held


def test_faulty_buffer_can_be_planted() -> None:
    roster = Roster(SETTINGS, MemoryStore(), SecretRing.ephemeral(), make_buffer=Buffer)
    roster.catch_up()
    assert json.dumps(roster.buffer.states()) == "[0, 0]"


class CountingStore(MemoryStore):
    """Counts the calls of each kind."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []

    def append(self, window: str, after: int, entry: bytes) -> bool:
        self.calls.append("append")
        return super().append(window, after, entry)

    def read(self, window: str, after: int, limit: int = 1000) -> list[bytes]:
        self.calls.append("read")
        return super().read(window, after, limit)


def test_newcomer_and_known_person_cost_one_call_of_the_store_each() -> None:
    store = CountingStore()
    roster = Roster(SETTINGS, store, SecretRing.ephemeral())
    roster.enrol(look(2), "", ())
    store.calls.clear()
    assert roster.enrol(look(3), "", ()).is_new
    assert store.calls == ["append"]
    store.calls.clear()
    assert not roster.enrol(look(3), "", ()).is_new
    assert store.calls == ["read"]


def test_worker_that_is_behind_reads_and_decides_anew() -> None:
    store, ring = MemoryStore(), SecretRing.ephemeral()
    fast, slow = Roster(SETTINGS, store, ring), Roster(SETTINGS, store, ring)
    slow.enrol(look(2), "", ())
    first = fast.enrol(look(3), "", ())
    late = slow.enrol(look(3), "", ())
    assert (first.is_new, late.is_new, late.record) == (True, False, first.record)
