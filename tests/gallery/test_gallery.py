"""The facade: who wears what, when a face is covered, and what is done about a failing store."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from engines.types import Embedding
from gallery.assignments import Assignment
from gallery.donors import DonorPopulation
from gallery.errors import (
    SealBroken,
    SecretMissing,
    SettingsConflict,
    StoreUnavailable,
    TooFewDonors,
    WindowEnded,
)
from gallery.gallery import Gallery, open_gallery
from gallery.ledger import Ledger, check_folder
from gallery.secrets import KEY_VARIABLE, KeyedRandom, SecretRing
from gallery.settings import Attributes, BelowK, GallerySettings, Scope
from gallery.simulation import THRESHOLDS, NoiseMaker, look
from gallery.stores.local_redis import INSTALL, LocalRedis
from gallery.stores.memory import MemoryStore
from gallery.stores.store import Window
from gallery.surrogates import DonorMaker, Made

pytestmark = pytest.mark.unit

with_redis = pytest.mark.skipif(
    shutil.which("redis-server") is None, reason=f"needs redis-server: {INSTALL}"
)


def settings_of(
    k: int = 3,
    below_k: BelowK = "swap",
    scope: Scope = "session",
    max_people: int = 1000,
    attributes: Attributes = "matched",
) -> GallerySettings:
    return GallerySettings(
        k=k, below_k=below_k, scope=scope, attributes=attributes, thresholds=THRESHOLDS,
        max_people=max_people,
        period_s=10.0, forget_track_s=30.0, retry_s=1.0,
    )  # fmt: skip


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class Scene:
    """One gallery, and tracks counted up."""

    def __init__(self, gallery: Gallery) -> None:
        self.gallery = gallery
        self.time_s = 0.0
        self.track = 0

    def passes(self, human: int, stream: str = "door", attributes: str | None = None) -> Assignment:
        """A human comes, is seen, and goes."""
        self.track += 1
        answer = self.gallery.assign(stream, self.track, look(human), attributes, self.time_s)
        self.gallery.visible(stream, [self.track], self.time_s)
        self.time_s += 0.5
        self.gallery.visible(stream, [], self.time_s)
        return answer

    def stays(self, human: int, stream: str = "door", *, is_poor: bool = False) -> int:
        """A human comes and stays in view with whoever is there; the track."""
        self.track += 1
        view = {*getattr(self, "view", set()), self.track}
        self.view = view
        self.gallery.visible(stream, view, self.time_s)
        self.gallery.assign(stream, self.track, look(human, is_poor), None, self.time_s)
        return self.track


def scene(settings: GallerySettings | None = None, **named: object) -> Scene:
    return Scene(Gallery(settings or settings_of(), NoiseMaker(), **named))  # type: ignore[arg-type]


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


def test_face_cannot_be_told_from_the_person_alone() -> None:
    faces = {scene().passes(2).face for _ in range(4)}
    assert len(faces) == 4


def test_people_in_view_together_wear_different_faces_even_if_they_look_alike() -> None:
    here = scene(settings_of(k=3))
    tracks = [here.stays(human) for human in (2, 2, 10, 11)]
    answers = [here.gallery.assign("door", track, None, None, 0.0) for track in tracks]
    worn = [answer.face for answer in answers if answer.surrogate is not None]
    assert len(worn) == len(set(worn)) >= 3
    assert here.gallery.report().people == 2


def test_somebody_seen_twice_at_once_counts_once() -> None:
    here = scene(settings_of(k=3, below_k="cover"))
    for human in (2, 2, 3):
        here.stays(human)
    assert here.gallery.report().people == 2
    assert here.gallery.report().records == 3
    assert here.gallery.report().covers["below_k"] == 3


def test_person_in_doubt_about_a_full_cluster_is_covered_where_k_must_hold() -> None:
    here = scene(settings_of(below_k="cover"))
    for human in (2, 3, 4):
        here.passes(human)
    track = here.stays(2, is_poor=True)
    answer = here.gallery.assign("door", track, None, None, here.time_s)
    assert answer.cause == "no_embedding"
    answer = here.gallery.assign("door", track, look(2, is_poor=True), None, here.time_s)
    assert answer.cause == "doubtful_person"
    assert here.gallery.assign("door", track, look(2), None, here.time_s).surrogate is not None


def test_person_in_doubt_wears_a_face_of_no_cluster_and_counts_for_nobody() -> None:
    here = scene()
    lent = {here.passes(human).face for human in (2, 3, 4)}
    before = here.gallery.report()
    first, second = here.stays(2, is_poor=True), here.stays(3, is_poor=True)
    answers = [
        here.gallery.assign("door", track, look(2, is_poor=True), None, here.time_s)
        for track in (first, second)
    ]
    assert all(answer.surrogate is not None and answer.surrogate.k_real == 0 for answer in answers)
    assert len(lent | {answer.face for answer in answers}) == 5
    assert here.gallery.record_of("door", first) is None
    after = here.gallery.report()
    assert (after.swaps_in_doubt, after.covers) == (2, {})
    assert (after.people, after.releases) == (before.people, before.releases)
    assert (after.k_real_min, after.k_joint_min) == (before.k_real_min, before.k_joint_min)


def test_face_of_no_cluster_stays_when_the_person_is_known_after_all() -> None:
    here = scene()
    for human in (2, 3, 4):
        here.passes(human)
    track = here.stays(2, is_poor=True)
    worn = here.gallery.assign("door", track, look(2, is_poor=True), None, here.time_s)
    later = here.gallery.assign("door", track, look(2), None, here.time_s)
    assert later.face == worn.face
    here.gallery.visible("door", [track], 100.0)
    here.gallery.end("door")
    assert here.gallery.report().suspected == 0


def test_face_of_no_cluster_has_its_turn_again_and_never_twice_in_one_picture(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gallery.gallery.LONE_FACES", 2)
    here = scene()
    for human in (2, 3, 4):
        here.passes(human)
    first, second, third = (here.stays(2, is_poor=True) for _ in range(3))

    def worn(track: int, view: set[int], time_s: float) -> Assignment:
        here.gallery.visible("door", view, time_s)
        return here.gallery.assign("door", track, look(2, is_poor=True), None, time_s)

    begun = worn(first, {first, second, third}, 3.0)
    other = worn(second, {first, second, third}, 3.0)
    assert worn(third, {first, second, third}, 3.0).cause == "shared_face"
    assert worn(third, {first, third}, 4.0).face == other.face != begun.face
    assert here.gallery.visible("door", {first, second, third}, 5.0) == {third}


def test_turn_of_a_face_of_no_cluster_is_skipped_while_its_wearer_is_in_view(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gallery.gallery.LONE_FACES", 3)
    here = scene()
    for human in (2, 3, 4):
        here.passes(human)
    first = here.stays(2, is_poor=True)
    lent = [here.gallery.assign("door", first, None, None, 3.0).face]
    for track in range(100, 105):
        here.gallery.visible("door", {first, track}, float(track))
        answer = here.gallery.assign("door", track, look(2, is_poor=True), None, float(track))
        lent.append(answer.face)
        assert here.gallery.visible("door", {first, track}, track + 0.04) == frozenset()
    assert lent[0] not in lent[1:]
    assert len(set(lent)) == 3


def test_hundreds_of_people_have_a_main_donor_each() -> None:
    class Counting(NoiseMaker):
        numbers: list[int] = []  # noqa: RUF012

        def make(
            self, keyed: KeyedRandom, number: int, places: int, attribute_bin: str, draw: int
        ) -> Made:
            self.numbers.append(number)
            return super().make(keyed, number, places, attribute_bin, draw)

    maker = Counting()
    here = Scene(Gallery(settings_of(k=5), maker))
    for human in range(300):
        here.passes(10 * human)
    assert sorted(maker.numbers) == list(range(300))


FEW_DONORS = DonorMaker(
    DonorPopulation(np.random.default_rng(0).normal(size=(16, 2, 512)).astype(np.float32))
)


def are_practically_one(one: Assignment, other: Assignment) -> bool:
    """Whether two faces have one main donor."""
    assert one.surrogate is not None
    assert other.surrogate is not None
    mean = FEW_DONORS.population.mean
    rows = [(answer.surrogate.latent - mean).ravel() for answer in (one, other) if answer.surrogate]
    return bool(np.corrcoef(np.stack(rows))[0, 1] > 0.7)


def lent_in_one_picture(here: Scene, humans: range) -> list[Assignment]:
    """What people wear who come to stay."""
    tracks = [here.stays(10 * human + 2) for human in humans]
    answers = [here.gallery.assign("door", track, None, None, here.time_s) for track in tracks]
    assert here.gallery.visible("door", tracks, here.time_s) == frozenset()
    return [answer for answer in answers if answer.surrogate is not None]


def pairs_of(lent: list[Assignment]) -> list[tuple[Assignment, Assignment]]:
    return list(itertools.combinations(lent, 2))


def test_tracks_of_their_own_scope_in_one_picture_have_main_donors_of_their_own() -> None:
    for _ in range(5):
        here = Scene(Gallery(settings_of(scope="track"), FEW_DONORS))
        lent = lent_in_one_picture(here, range(10))
        assert len(lent) >= 9
        assert not any(are_practically_one(*pair) for pair in pairs_of(lent))


def test_newcomer_of_a_new_window_shares_no_main_donor_with_one_of_the_last_in_view() -> None:
    for _ in range(5):
        store = MemoryStore()
        here = Scene(Gallery(settings_of(), FEW_DONORS, store))
        lent = lent_in_one_picture(here, range(6))
        store.forget()
        lent += lent_in_one_picture(here, range(6, 12))
        assert here.gallery.report().windows == 2
        assert len(lent) >= 11
        assert not any(are_practically_one(*pair) for pair in pairs_of(lent))


class OneDonor(NoiseMaker):
    """Everybody has one main donor."""

    def make(
        self, keyed: KeyedRandom, number: int, places: int, attribute_bin: str, draw: int
    ) -> Made:
        return Made(super().make(keyed, number, places, attribute_bin, draw).latent, 7)


def test_face_like_one_in_view_is_lent_to_nobody_and_when_both_come_the_later_is_hidden() -> None:
    here = Scene(Gallery(settings_of(), OneDonor()))
    first, second = here.stays(2), here.stays(3)
    assert here.gallery.assign("door", second, None, None, 0.0).cause == "shared_face"
    assert here.gallery.report().releases == 1
    here.gallery.visible("door", [second], 1.0)
    assert here.gallery.assign("door", second, None, None, 1.0).surrogate is not None
    assert here.gallery.visible("door", [first, second], 2.0) == {second}


def test_tracks_that_come_to_share_a_face_are_covered_but_the_first() -> None:
    here = scene()
    first = here.stays(2)
    here.gallery.visible("door", [], 1.0)
    second, here.track = here.track + 1, here.track + 1
    here.gallery.visible("door", [second], 2.0)
    here.gallery.assign("door", second, look(2), None, 2.0)
    assert here.gallery.visible("door", [second], 2.1) == frozenset()
    assert here.gallery.visible("door", [first, second], 2.2) == {second}
    assert here.gallery.report().covers == {"shared_face": 1}


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


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ("matched", ["hair=red"] * 4 + ["hair=blue"]),
        ("coarse", ["", "", "hair=red", "hair=red", ""]),
        ("none", [""] * 5),
    ],
)
def test_attributes_reach_the_maker_as_the_settings_say(
    attributes: Attributes, expected: list[str]
) -> None:
    asked: list[str] = []

    class Maker(NoiseMaker):
        def make(
            self, keyed: KeyedRandom, number: int, places: int, attribute_bin: str, draw: int
        ) -> Made:
            asked.append(attribute_bin)
            return super().make(keyed, number, places, attribute_bin, draw)

    here = Scene(Gallery(settings_of(k=3, attributes=attributes), Maker()))
    for human in (2, 3, 4, 5):
        here.passes(human, attributes="hair=red")
    here.passes(6, attributes="hair=blue")
    assert asked == expected


@pytest.mark.parametrize(("attributes", "expected"), [("matched", "hair=red"), ("none", "")])
def test_face_of_no_cluster_matches_its_own_bin_where_others_do(
    attributes: Attributes, expected: str
) -> None:
    asked: list[str] = []

    class Maker(NoiseMaker):
        def make(
            self, keyed: KeyedRandom, number: int, places: int, attribute_bin: str, draw: int
        ) -> Made:
            asked.append(attribute_bin)
            return super().make(keyed, number, places, attribute_bin, draw)

    here = Scene(Gallery(settings_of(attributes=attributes), Maker()))
    for human in (2, 3, 4):
        here.passes(human, attributes="hair=blue")
    answer = here.gallery.assign("door", 99, look(2, is_poor=True), "hair=red", here.time_s)
    assert answer.surrogate is not None
    assert here.gallery.report().swaps_in_doubt == 1
    assert asked[-1] == expected


def test_worker_that_matches_otherwise_than_its_store_covers() -> None:
    store, ring = MemoryStore(), SecretRing.ephemeral()
    scene(store=store, ring=ring).passes(2)
    other = scene(settings_of(attributes="none"), store=store, ring=ring)
    with pytest.raises(SettingsConflict, match="attributes=matched"):
        other.gallery.probe()
    assert other.passes(3).cause == "store_untrusted"


class FailingMaker(NoiseMaker):
    def make(
        self, keyed: KeyedRandom, number: int, places: int, attribute_bin: str, draw: int
    ) -> Made:
        raise TooFewDonors("none left")


class NanMaker(NoiseMaker):
    def make(
        self, keyed: KeyedRandom, number: int, places: int, attribute_bin: str, draw: int
    ) -> Made:
        return Made(np.full((1, 512), np.nan, np.float32))


@pytest.mark.parametrize("maker", [FailingMaker(), NanMaker()])
def test_no_usable_latent_covers_and_records_no_release(maker: NoiseMaker) -> None:
    here = Scene(Gallery(settings_of(), maker))
    assert here.passes(2).cause == "no_surrogate"
    assert here.gallery.report().releases == 0


def test_release_that_cannot_be_recorded_is_not_made(tmp_path: Path) -> None:
    ledger = Ledger(3, "swap", tmp_path)
    here = scene(ledger=ledger)
    assert here.passes(2).surrogate is not None
    ledger.close()
    assert here.passes(3).cause == "ledger_unavailable"
    assert check_folder(tmp_path).people == 1


def test_face_of_no_cluster_that_cannot_be_made_or_recorded_covers(tmp_path: Path) -> None:
    class NoneForDoubt(NoiseMaker):
        def make(
            self, keyed: KeyedRandom, number: int, places: int, attribute_bin: str, draw: int
        ) -> Made:
            if number < 0:
                raise TooFewDonors("none left")
            return super().make(keyed, number, places, attribute_bin, draw)

    def asked(here: Scene) -> Assignment:
        track = here.stays(2, is_poor=True)
        return here.gallery.assign("door", track, look(2, is_poor=True), None, here.time_s)

    ledger = Ledger(3, "swap", tmp_path)
    failing, unrecorded = Scene(Gallery(settings_of(), NoneForDoubt())), scene(ledger=ledger)
    for human in (2, 3, 4):
        failing.passes(human)
        unrecorded.passes(human)
    assert asked(failing).cause == "no_surrogate"
    ledger.close()
    assert asked(unrecorded).cause == "ledger_unavailable"
    assert check_folder(tmp_path).lone_releases == 0
    assert {here.gallery.report().swaps_in_doubt for here in (failing, unrecorded)} == {0}


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


def test_full_gallery_begins_a_new_window() -> None:
    here = scene(settings_of(k=3, max_people=6))
    for human in range(2, 9):
        assert here.passes(human).surrogate is not None
    report = here.gallery.report()
    assert report.windows == 2
    assert report.people <= 6


def test_purge_forgets_everybody_but_spares_worn_faces() -> None:
    here = scene()
    track = here.stays(2)
    worn = here.gallery.assign("door", track, None, None, 0.0)
    assert here.gallery.purge() == 1
    assert here.gallery.report().people == 0
    assert here.gallery.assign("door", track, None, None, 1.0) == worn
    assert here.passes(3).surrogate is not None


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
    monkeypatch.setattr(Gallery, "_identify", lambda *_: None)
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


def test_gallery_in_memory_opens_without_a_key(tmp_path: Path) -> None:
    gallery = open_gallery(settings_of(), NoiseMaker(), ledger_folder=tmp_path)
    assert Scene(gallery).passes(2).surrogate is not None
    gallery.close()
    assert check_folder(tmp_path).people == 1


def test_gallery_in_redis_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    with pytest.raises(SecretMissing, match=KEY_VARIABLE):
        open_gallery(settings_of(), NoiseMaker(), redis_url="redis://127.0.0.1:1")


@pytest.fixture
def short_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp())
    yield folder
    shutil.rmtree(folder)


@pytest.mark.redis
@with_redis
@pytest.mark.parametrize("scope", ["session", "forever"])
def test_stream_outlives_a_redis_that_dies_and_returns_empty(
    short_folder: Path, scope: Scope
) -> None:
    keys = short_folder / "keys"
    SecretRing.ephemeral().write(keys)
    with LocalRedis(short_folder) as server:
        gallery = open_gallery(
            GallerySettings(k=3, scope=scope, thresholds=THRESHOLDS, retry_s=0.0),
            NoiseMaker(), server.url, key_file=keys, ledger_folder=short_folder / "ledger",
        )  # fmt: skip
        here = Scene(gallery)
        before = here.passes(2)
        server.kill()
        assert here.passes(3).cause == "store_unavailable"
        server.start()
        after = here.passes(2)
        assert after.surrogate is not None
        assert after.face != before.face
        report = gallery.report()
        assert (report.windows, report.store_failures, report.violations) == (2, 1, 0)
        gallery.purge()
        with server.client() as client:
            assert list(client.scan_iter("*")) == []
        gallery.close()
    assert check_folder(short_folder / "ledger").is_ok


@pytest.mark.redis
@with_redis
def test_closed_gallery_leaves_redis_no_connection(short_folder: Path) -> None:
    keys = short_folder / "keys"
    SecretRing.ephemeral().write(keys)
    with LocalRedis(short_folder) as server, server.client() as client:
        alone = len(client.client_list())
        gallery = open_gallery(settings_of(), NoiseMaker(), server.url, key_file=keys)
        assert Scene(gallery).passes(2).surrogate is not None
        assert len(client.client_list()) > alone
        gallery.close()
        assert len(client.client_list()) == alone
