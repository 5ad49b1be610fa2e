"""What the gallery does about a failing store, and what workers that share one know."""

from __future__ import annotations

import itertools

import pytest

from gallery.errors import (
    SealBroken,
    SettingsConflict,
    StoreUnavailable,
    WindowEnded,
)
from gallery.gallery import Gallery
from gallery.secrets import SecretRing
from gallery.simulation import NoiseMaker, look
from gallery.stores.memory import MemoryStore
from gallery.stores.store import Window
from tests.gallery.scenes import Clock, scene, settings_of

pytestmark = pytest.mark.unit


class FlakyStore(MemoryStore):
    """Fails on demand, at any of its calls."""

    error: Exception | None = None
    calls = 0

    def _maybe(self) -> None:
        self.calls += 1
        if self.error is not None:
            raise self.error

    def open(self, name: str, header: bytes) -> Window:
        self._maybe()
        return super().open(name, header)

    def append(self, window: str, after: int, entry: bytes) -> bool:
        self._maybe()
        return super().append(window, after, entry)

    def read(self, window: str, after: int, limit: int = 1000) -> list[bytes]:
        self._maybe()
        return super().read(window, after, limit)


def test_store_that_fails_covers_new_tracks_spares_worn_faces_and_is_asked_again() -> None:
    clock, store = Clock(), FlakyStore()
    here = scene(store=store, clock=clock)
    worn = here.stays(2)
    store.error = StoreUnavailable("gone")
    assert here.passes(3).cause == "store_unavailable"
    calls = store.calls
    assert here.passes(4).cause == "store_unavailable"
    assert store.calls == calls
    assert here.gallery.assign("door", worn, None, None, 1.0).surrogate is not None
    store.error, clock.now_s = None, 2.0
    assert here.passes(3).surrogate is not None
    report = here.gallery.report()
    assert (report.store_failures, report.covers["store_unavailable"]) == (1, 2)


def test_store_that_goes_on_failing_is_asked_ever_more_rarely() -> None:
    clock, store = Clock(), FlakyStore()
    here = scene(store=store, clock=clock)
    store.error = StoreUnavailable("gone")
    asked_at: list[float] = []
    for _ in range(4000):
        before = store.calls
        here.gallery.assign("door", 1, look(2), None, 0.0)
        asked_at += [clock.now_s] if store.calls > before else []
        clock.now_s += 0.05
    pauses = [round(b - a) for a, b in itertools.pairwise(asked_at)]
    assert pauses == [1, 2, 4, 8, 16, 32, 32, 32, 32, 32]


def test_end_of_the_window_is_noticed_without_newcomers() -> None:
    store = MemoryStore()
    here = scene(store=store)
    track = here.stays(2)
    here.gallery.visible("door", [track], 1.0)
    store.forget()
    here.gallery.visible("door", [track], 12.0)
    assert here.gallery.report().people == 0


@pytest.mark.parametrize("error", [SealBroken("changed"), WindowEnded("over")])
def test_store_that_cannot_be_trusted_or_never_settles_covers(error: Exception) -> None:
    clock, store = Clock(), FlakyStore()
    here = scene(store=store, clock=clock)
    here.passes(2)
    store.error = error
    assert here.passes(3).is_covered
    store.error, clock.now_s = None, 2.0
    assert here.passes(3).surrogate is not None


def test_store_that_restarted_empty_begins_a_window_and_the_stream_goes_on() -> None:
    store = MemoryStore()
    here = scene(store=store)
    before = here.passes(2)
    store.forget()
    after = here.passes(2)
    assert after.surrogate is not None
    assert after.face != before.face
    assert here.gallery.report().windows == 2
    assert here.gallery.report().violations == 0


def test_worker_with_a_foreign_key_covers_instead_of_guessing() -> None:
    store = MemoryStore()
    scene(store=store).passes(2)
    foreign = scene(store=store)
    assert foreign.passes(3).cause == "store_untrusted"
    with pytest.raises(SealBroken):
        foreign.gallery.probe()


def test_worker_with_other_k_is_refused_at_the_start() -> None:
    store, ring = MemoryStore(), SecretRing.ephemeral()
    scene(store=store, ring=ring).passes(2)
    with pytest.raises(SettingsConflict, match="k=3"):
        Gallery(settings_of(k=4), NoiseMaker(), store, ring).probe()


def test_two_workers_know_the_same_people_and_lend_the_same_faces() -> None:
    store, ring = MemoryStore(), SecretRing.ephemeral()
    one, other = (scene(store=store, ring=ring, session="s") for _ in range(2))
    faces = [one.passes(human).face for human in (2, 3)] + [other.passes(4).face]
    assert [other.passes(human).face for human in (2, 3)] + [one.passes(4).face] == faces
    assert one.gallery.report().people == other.gallery.report().people == 3


def test_restarted_worker_finds_everybody_again() -> None:
    store, ring = MemoryStore(), SecretRing.ephemeral()
    first = scene(store=store, ring=ring, session="s")
    faces = [first.passes(human).face for human in range(2, 9)]
    second = scene(store=store, ring=ring.rotated(), session="s")
    assert [second.passes(human).face for human in range(2, 9)] == faces
