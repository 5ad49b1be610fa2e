"""Whose track it is: records that turn out to be one person, in time and too late."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from engines.types import Embedding
from gallery.identifier import Identifier
from gallery.secrets import SecretRing
from gallery.simulation import look
from gallery.stores.memory import MemoryStore
from tests.gallery.scenes import scene, settings_of

pytestmark = pytest.mark.unit


def test_merge_of_a_stranger_with_a_known_person_before_any_release() -> None:
    here = scene(settings_of(below_k="cover"))
    for human in (2, 3, 4):
        here.passes(human)
    track = here.stays(7)
    answer = here.gallery.assign("door", track, look(2), None, 5.0)
    assert answer.surrogate is not None
    assert here.gallery.report().merges == 1
    assert here.gallery.report().people == 3


class EndingStore(MemoryStore):
    """Ends the window between a read and the next append, once it is told to."""

    meanwhile: Callable[[], object] | None = None

    def append(self, window: str, after: int, entry: bytes) -> bool:
        if self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            self.forget()
            meanwhile()
        return super().append(window, after, entry)


def test_window_that_ends_during_a_merge_makes_the_track_a_newcomer_of_the_next() -> None:
    store, ring = EndingStore(), SecretRing.ephemeral()
    covering = settings_of(below_k="cover")
    here, others = (scene(covering, store=store, ring=ring) for _ in range(2))
    here.passes(2)
    track = here.stays(7)

    def fill() -> None:
        for human in (12, 13, 14, 15):
            others.passes(human, "gate")

    store.meanwhile = fill
    answer = here.gallery.assign("door", track, look(2), None, 5.0)
    assert store.meanwhile is None
    assert answer.cause == "below_k"
    assert here.gallery.record_of("door", track) == (others.gallery.window, 6)
    assert here.gallery.report().people == 5


def test_window_that_ends_during_a_merge_in_which_nobody_is_yet_harms_nothing() -> None:
    store = EndingStore()
    here = scene(settings_of(below_k="cover"), store=store)
    here.passes(2)
    track = here.stays(7)
    store.meanwhile = lambda: None
    assert here.gallery.assign("door", track, look(2), None, 5.0).cause == "below_k"
    assert here.gallery.record_of("door", track) == (here.gallery.window, 1)


def test_record_of_another_window_is_never_released(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    here = scene(settings_of(below_k="cover"), store=store)
    track = here.stays(2)
    store.forget()
    for human in (3, 4, 5):
        here.passes(human, "gate")
    monkeypatch.setattr(Identifier, "identify", lambda *_: None)
    assert here.gallery.assign("door", track, look(2), None, 1.0).cause == "broken_promise"
    assert here.gallery.report().releases == 1


def test_somebody_likest_to_a_person_in_view_wears_the_face_of_no_weaker_match() -> None:
    def turned(degrees: float) -> Embedding:
        angle = np.radians(degrees)
        return np.array([np.cos(angle), np.sin(angle)] + [0.0] * 46, np.float32)

    gallery = scene(settings_of(k=2)).gallery
    for number, one in enumerate((turned(0), look(4), turned(53), look(5))):
        gallery.assign("gate", number, one, None, 10.0 * number)
    weaker = gallery.record_of("gate", 2)
    gallery.visible("door", [1, 2], 0.0)
    gallery.assign("door", 1, turned(0), None, 0.0)
    answer = gallery.assign("door", 2, turned(26), None, 0.0)
    assert answer.surrogate is not None
    assert answer.surrogate.k_real == 0
    assert gallery.record_of("door", 2) is None
    gallery.visible("door", [3], 1.0)
    gallery.assign("door", 3, turned(27), None, 1.0)
    assert gallery.record_of("door", 3) == weaker


def test_late_found_duplicate_is_reported_and_changes_nothing() -> None:
    here = scene()
    here.passes(2)
    track = here.stays(7)
    worn = here.gallery.assign("door", track, None, None, 0.0)
    for _ in range(2):
        assert here.gallery.assign("door", track, look(2), None, 5.0) == worn
    report = here.gallery.report()
    assert (report.suspected, report.merges, report.violations) == (1, 0, 0)
