"""The facade: who wears what, when a face is covered, and who was in view."""

from __future__ import annotations

import numpy as np
import pytest

from engines.types import Embedding
from gallery.assignments import Assignment
from gallery.errors import SettingsConflict
from gallery.gallery import Gallery
from gallery.secrets import SecretRing
from gallery.settings import Scope
from gallery.simulation import NoiseMaker, look
from gallery.stores.memory import MemoryStore
from tests.gallery.scenes import scene, settings_of

pytestmark = pytest.mark.unit


def test_newcomer_below_k_is_swapped_and_reported() -> None:
    here = scene()
    answer = here.passes(2)
    assert answer.surrogate is not None
    assert answer.surrogate.k_real == 1
    report = here.gallery.report()
    assert (report.swaps_below_k, report.people_below_k, report.k_real_min) == (1, 1, 1)


def test_newcomers_below_k_are_covered_until_the_cluster_is_full() -> None:
    here = scene(settings_of(below_k="cover"))
    assert [here.passes(human).cause for human in (2, 3, 4)] == ["below_k", "below_k", None]
    first = here.passes(2)
    assert first.surrogate is not None
    assert first.surrogate.k_real == 3
    assert here.gallery.report().k_joint_min == 3


def test_covered_track_is_swapped_once_its_cluster_is_full() -> None:
    here = scene(settings_of(below_k="cover"))
    waiting = here.stays(2)
    for human in (3, 4):
        here.stays(human)
    answer = here.gallery.assign("door", waiting, None, None, 1.0)
    assert answer.surrogate is not None


def test_person_who_returns_wears_the_same_face() -> None:
    here = scene()
    first = [here.passes(human).face for human in (2, 3, 4, 5)]
    again = [here.passes(human).face for human in (2, 3, 4, 5)]
    assert first == again
    assert len(set(first)) == 4


def test_decoys_and_repeats_never_raise_k() -> None:
    here = scene(settings_of(below_k="cover"))
    for _ in range(10):
        assert here.passes(2).cause == "below_k"
    assert here.gallery.report().people == 1


def test_track_keeps_its_surrogate_whatever_is_said_later() -> None:
    here = scene()
    track = here.stays(2)
    before = here.gallery.assign("door", track, None, None, 0.0)
    after = here.gallery.assign("door", track, look(7), "hair=red", 1.0)
    assert after == before
    assert here.gallery.assign("door", track, np.full(48, np.nan, np.float32), None, 2) == before


@pytest.mark.parametrize(
    ("scope", "same_track_stream", "other_stream"),
    [("track", False, False), ("camera", True, False), ("session", True, True),
     ("forever", True, True)],
)  # fmt: skip
def test_scope_says_where_a_face_stays_the_same(
    scope: Scope, same_track_stream: bool, other_stream: bool
) -> None:
    here = scene(settings_of(scope=scope))
    first = here.passes(2, "door")
    assert first.surrogate is not None
    again, elsewhere = here.passes(2, "door"), here.passes(2, "gate")
    assert (again.face == first.face) is same_track_stream
    assert (elsewhere.face == first.face) is other_stream
    assert elsewhere.surrogate is not None
    assert (elsewhere.surrogate.cluster == first.surrogate.cluster) is other_stream
    assert here.gallery.report().people == 1


def test_other_session_gives_other_faces_of_the_same_people() -> None:
    store, ring = MemoryStore(), SecretRing.ephemeral()
    faces = [scene(store=store, ring=ring, session=name).passes(2).face for name in "ab"]
    assert faces[0] != faces[1]
    assert scene(store=store, ring=ring, session="a").passes(2).face == faces[0]


def test_scope_track_links_neither_runs_of_one_session_nor_streams_of_one_name() -> None:
    store, ring, faces = MemoryStore(), SecretRing.ephemeral(), []
    for _ in range(2):
        gallery = Gallery(settings_of(scope="track"), NoiseMaker(), store, ring, session="tuesday")
        for _ in range(2):
            faces.append(gallery.assign("door", 1, look(2), None, 0.0).face)
            gallery.end("door")
    assert len(set(faces)) == 4
    assert gallery.report().people == 1


def test_run_that_is_repeated_lends_its_tracks_the_same_faces() -> None:
    store, ring = MemoryStore(), SecretRing.ephemeral()
    settings = settings_of(scope="track")
    faces = [
        scene(settings, store=store, ring=ring, run=run).passes(2).face for run in ("r", "r", "s")
    ]
    assert faces[0] == faces[1] != faces[2]


def test_stream_that_ended_is_forgotten_however_often_it_ends() -> None:
    here = scene()
    for number in range(20):
        here.passes(2, f"guest-{number}")
        here.gallery.end(f"guest-{number}")
        here.gallery.end(f"guest-{number}")
    assert list(here.gallery._presence.streams()) == []
    assert here.gallery.record_of("guest-1", 2) is None


@pytest.mark.parametrize(
    ("embedding", "cause"),
    [(None, "no_embedding"), (np.zeros(48, np.float32), "unusable_embedding"),
     (np.full(48, np.inf, np.float32), "unusable_embedding"),
     (np.ones((2, 24), np.float32), "unusable_embedding"),
     (np.ones(7, np.float32), "unusable_embedding")],
    ids=["none", "zero", "infinite", "matrix", "other size"],
)  # fmt: skip
def test_track_without_a_usable_embedding_is_covered(
    embedding: Embedding | None, cause: str
) -> None:
    here = scene()
    here.passes(2)
    assert here.gallery.assign("door", 99, embedding, None, 5.0).cause == cause
    assert here.gallery.report().people == 1


def test_worker_that_matches_otherwise_than_its_store_covers() -> None:
    store, ring = MemoryStore(), SecretRing.ephemeral()
    scene(store=store, ring=ring).passes(2)
    other = scene(settings_of(attributes="none"), store=store, ring=ring)
    with pytest.raises(SettingsConflict, match="attributes=matched"):
        other.gallery.probe()
    assert other.passes(3).cause == "store_untrusted"


def test_full_gallery_begins_a_new_window() -> None:
    here = scene(settings_of(k=3, max_people=6))
    for human in range(2, 9):
        assert here.passes(human).surrogate is not None
    report = here.gallery.report()
    assert report.windows == 2
    assert report.people <= 6


def test_purged_store_forgets_everybody_but_spares_worn_faces() -> None:
    store = MemoryStore()
    here = scene(store=store)
    track = here.stays(2)
    worn = here.gallery.assign("door", track, None, None, 0.0)
    assert store.forget() == 1
    assert here.gallery.assign("door", track, None, None, 1.0) == worn
    assert here.passes(3).surrogate is not None
    assert here.gallery.report().people == 1


def test_presence_counts_those_shown_in_the_same_period() -> None:
    here = scene(settings_of(below_k="cover"))
    tracks = [here.stays(human) for human in (2, 3, 4)]
    for track in tracks:
        here.gallery.assign("door", track, None, None, 0.0)
    here.gallery.visible("door", tracks, 1.0)
    here.gallery.visible("door", tracks[:2], 12.0)
    assert here.gallery.report().k_present_min == 3
    here.gallery.close()
    assert here.gallery._ledger.check().k_present_min == 2


def test_stream_that_began_anew_knows_no_old_track() -> None:
    here = scene()
    track = here.stays(2)
    here.gallery.visible("door", [track], 50.0)
    here.gallery.visible("door", [track], 0.0)
    assert here.gallery.assign("door", track, None, None, 0.0).cause == "no_embedding"


def test_memory_of_tracks_is_bounded() -> None:
    here = scene()
    for n in range(5000):
        here.gallery.assign("door", n, None, None, float(n) / 1000)
    assert len(here.gallery._presence._view("door").wearers) <= 4096
    here.gallery.visible("door", [4999], 100.0)
    assert len(here.gallery._presence._view("door").wearers) == 1


def test_assignment_is_a_face_or_a_cause() -> None:
    with pytest.raises(ValueError, match="either"):
        Assignment(None, None)
