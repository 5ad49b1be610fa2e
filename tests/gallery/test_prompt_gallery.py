"""A store that hangs stops no stream: answers come from memory, newcomers wait for the store."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from engines.types import Embedding
from gallery.errors import StoreUnavailable
from gallery.gallery import Gallery
from gallery.prompt_gallery import PromptGallery
from gallery.simulation import NoiseMaker
from gallery.stores.memory import MemoryStore
from gallery.stores.store import Window
from tests.gallery.scenes import settings_of

pytestmark = [pytest.mark.unit, pytest.mark.timeout(60)]

AT_ONCE_S = 5.0
"""Far beyond any answer from memory, far below the stall, whatever else the machine does."""
STALL_S = 30.0


class StallingStore(MemoryStore):
    """Answers, unless it hangs; what hung goes on when the stall is over."""

    def __init__(self) -> None:
        super().__init__()
        self.is_free = threading.Event()
        self.is_free.set()

    def read(self, window: str, after: int, limit: int = 1000) -> list[bytes]:
        self._hang()
        return super().read(window, after, limit)

    def append(self, window: str, after: int, entry: bytes) -> bool:
        self._hang()
        return super().append(window, after, entry)

    def open(self, name: str, header: bytes) -> Window:
        self._hang()
        return super().open(name, header)

    def _hang(self) -> None:
        if not self.is_free.wait(STALL_S):
            raise StoreUnavailable("it hung for longer than the test")


def person(number: int) -> Embedding:
    made: Embedding = np.eye(1, 64, number, dtype=np.float32)[0]
    return made


@contextmanager
def prompt_gallery(store: StallingStore) -> Iterator[PromptGallery]:
    made = PromptGallery(Gallery(settings_of(), NoiseMaker(), store), patience_s=1.0)
    try:
        yield made
    finally:
        store.is_free.set()
        made.close()
        made.close()


def look(gallery: PromptGallery, stream: str, tracks: Collection[int]) -> dict[int, str]:
    """One frame of a stream: what becomes of each track in view."""
    hidden = gallery.visible(stream, tracks, 1.0)
    outcomes = {}
    for track in tracks:
        answer = gallery.assign(stream, track, person(track), None, 1.0)
        name = answer.surrogate.cluster if answer.surrogate else str(answer.cause)
        outcomes[track] = "hidden" if track in hidden else name
    return outcomes


def test_stalled_store_stops_no_stream_and_covers_newcomers() -> None:
    store = StallingStore()
    with prompt_gallery(store) as gallery:
        before = [look(gallery, name, [1]) for name in ("door", "yard")]
        assert "store_unavailable" not in str(before)
        store.is_free.clear()
        first = time.monotonic()
        look(gallery, "door", [1, 2])  # notices the stall, after its patience
        assert time.monotonic() - first < 2 * AT_ONCE_S
        begun = time.monotonic()
        for _ in range(50):
            assert look(gallery, "yard", [1]) == before[1], "who has a surrogate keeps it"
            assert look(gallery, "door", [1, 2])[1] == before[0][1]
            assert look(gallery, "door", [1, 2])[2] in ("store_unavailable", "hidden")
            gallery.report()
        assert time.monotonic() - begun < AT_ONCE_S
        store.is_free.set()
        assert until(lambda: look(gallery, "door", [1, 2])[2].startswith(before[0][1][:1]))
        assert "store_unavailable" not in str(look(gallery, "yard", [1, 3]))


def test_choice_that_waited_for_the_store_is_not_taken_from_a_later_offer() -> None:
    store = StallingStore()
    with prompt_gallery(store) as gallery:
        look(gallery, "door", [])
        tried = gallery.assign("door", 1, person(1), None, 1.0, tries_on=True)
        assert tried.offer
        store.is_free.clear()
        for _ in range(2):  # the second one waits behind the question for another surrogate
            assert gallery.settle("door", 1, tried.offer, 0).cause == "store_unavailable"
            again = gallery.assign("door", 1, person(1), None, 1.0, tries_on=True)
            assert again.face == tried.face
        store.forget()
        store.is_free.set()
        assert until(lambda: not gallery._waiting)
        offered = gallery.assign("door", 1, person(1), None, 1.0, tries_on=True)
        assert offered.face != tried.face
        assert not offered.is_settled, "it was never tried on"


def test_track_that_comes_back_during_a_stall_is_hidden_until_it_is_judged() -> None:
    store = StallingStore()
    with prompt_gallery(store) as gallery:
        look(gallery, "door", [1, 2])
        look(gallery, "door", [1])
        store.is_free.clear()
        gallery.assign("door", 9, person(9), None, 1.0)
        assert gallery.visible("door", [1, 2], 1.0) == {2}
        store.is_free.set()
        assert until(lambda: not gallery.visible("door", [1, 2], 1.0))


def test_track_covered_when_it_was_judged_is_hidden_in_a_stall_once_it_is_shown() -> None:
    store = StallingStore()
    with prompt_gallery(store) as gallery:
        look(gallery, "door", [1, 2])
        assert gallery.visible("door", [1, 2], 1.0, covered=[1]) == frozenset()
        store.is_free.clear()
        gallery.assign("door", 9, person(9), None, 1.0)
        assert gallery.visible("door", [1, 2], 1.0) == {1}, "2 may wear what 1 does"
        store.is_free.set()
        assert until(lambda: not gallery.visible("door", [1, 2], 1.0))


def test_stream_that_ended_is_forgotten_and_others_go_on() -> None:
    store = StallingStore()
    with prompt_gallery(store) as gallery:
        look(gallery, "door", [1])
        gallery.end("door")
        gallery.end("door")
        assert not gallery._streams
        assert gallery.report().people == 1
        assert look(gallery, "yard", [2])[2] != "store_unavailable"


def test_answer_that_comes_after_the_end_of_a_stream_is_not_the_next_streams() -> None:
    store = StallingStore()
    gallery = PromptGallery(Gallery(settings_of(), NoiseMaker(), store), patience_s=0.05)
    try:
        store.is_free.clear()
        assert look(gallery, "door", [1])[1] in ("store_unavailable", "hidden")
        gallery.end("door")
        assert gallery.visible("door", [1], 1.0) == {1}
        store.is_free.set()
        assert until(lambda: not gallery._waiting)
        gallery.report()
        assert gallery._known("door", 1, 1.0) is None
    finally:
        store.is_free.set()
        gallery.close()


def test_close_does_not_wait_for_a_store_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gallery.prompt_gallery._GOODBYE_S", 0.1)
    store = StallingStore()
    gallery = PromptGallery(Gallery(settings_of(), NoiseMaker(), store), patience_s=0.01)
    store.is_free.clear()
    assert look(gallery, "door", [1])[1] in ("store_unavailable", "hidden")
    begun = time.monotonic()
    gallery.close()
    assert time.monotonic() - begun < AT_ONCE_S
    store.is_free.set()
    gallery._worker.join(AT_ONCE_S)
    assert not gallery._worker.is_alive()


def test_fault_of_the_gallery_is_a_cover_and_no_dead_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with prompt_gallery(StallingStore()) as gallery:
        broken = Gallery.assign

        def fault(*_: object) -> None:
            raise RuntimeError

        monkeypatch.setattr(Gallery, "assign", fault)
        assert look(gallery, "door", [1])[1] == "store_unavailable"
        monkeypatch.setattr(Gallery, "assign", broken)
        assert look(gallery, "door", [1])[1] != "store_unavailable"


def until(holds: object, timeout_s: float = 20.0) -> bool:
    """Whether something comes to hold in time."""
    assert callable(holds)
    never, end = threading.Event(), time.monotonic() + timeout_s
    while not holds():
        if time.monotonic() > end:
            return False
        never.wait(0.01)
    return True
