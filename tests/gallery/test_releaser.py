"""Which surrogate a track gets: faces of clusters and of none, and what keeps them apart."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from gallery.assignments import Assignment
from gallery.donors import DonorPopulation
from gallery.errors import TooFewDonors
from gallery.gallery import Gallery
from gallery.ledger import Ledger, check_folder
from gallery.secrets import KeyedRandom
from gallery.settings import Attributes, BelowK
from gallery.simulation import NoiseMaker, look
from gallery.stores.memory import MemoryStore
from gallery.surrogates import DonorMaker, Made
from tests.gallery.scenes import Scene, scene, settings_of

pytestmark = pytest.mark.unit


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
    monkeypatch.setattr("gallery.releaser.LONE_FACES", 2)
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
    monkeypatch.setattr("gallery.releaser.LONE_FACES", 3)
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


class OneClusterDonor(NoiseMaker):
    """Everybody of a cluster has one main donor; each face of none has its own."""

    def make(
        self, keyed: KeyedRandom, number: int, places: int, attribute_bin: str, draw: int
    ) -> Made:
        latent = super().make(keyed, number, places, attribute_bin, draw).latent
        return Made(latent, 7 if number >= 0 else 100 - number)


@pytest.mark.parametrize("below_k", ["swap", "cover"])
def test_who_returns_while_the_own_face_is_worn_gets_one_of_no_cluster_where_k_need_not_hold(
    below_k: BelowK,
) -> None:
    here = Scene(Gallery(settings_of(k=2, below_k=below_k), OneClusterDonor()))
    for human in (2, 3, 2):
        here.passes(human)
    staying = here.stays(3)
    assert here.gallery.assign("door", staying, None, None, here.time_s).surrogate is not None
    back = here.stays(2)
    answer = here.gallery.assign("door", back, None, None, here.time_s)
    if below_k == "cover":
        assert answer.cause == "shared_face"
    else:
        assert answer.surrogate is not None
        assert answer.surrogate.k_real == 0
    assert here.gallery.visible("door", [staying, back], here.time_s) == frozenset()
    report = here.gallery.report()
    assert (report.people, report.records, report.violations) == (2, 2, 0)


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


class AskedMaker(NoiseMaker):
    """Writes down which bins it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def make(
        self, keyed: KeyedRandom, number: int, places: int, attribute_bin: str, draw: int
    ) -> Made:
        self.asked.append(attribute_bin)
        return super().make(keyed, number, places, attribute_bin, draw)


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
    maker = AskedMaker()
    here = Scene(Gallery(settings_of(k=3, attributes=attributes), maker))
    for human in (2, 3, 4, 5):
        here.passes(human, attributes="hair=red")
    here.passes(6, attributes="hair=blue")
    assert maker.asked == expected


@pytest.mark.parametrize(("attributes", "expected"), [("matched", "hair=red"), ("none", "")])
def test_face_of_no_cluster_matches_its_own_bin_where_others_do(
    attributes: Attributes, expected: str
) -> None:
    maker = AskedMaker()
    here = Scene(Gallery(settings_of(attributes=attributes), maker))
    for human in (2, 3, 4):
        here.passes(human, attributes="hair=blue")
    answer = here.gallery.assign("door", 99, look(2, is_poor=True), "hair=red", here.time_s)
    assert answer.surrogate is not None
    assert here.gallery.report().swaps_in_doubt == 1
    assert maker.asked[-1] == expected


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


def test_faces_of_another_bin_are_counted() -> None:
    """Five faces are needed of a bin that has one donor: others come from the next bin."""
    latents = np.random.default_rng(0).normal(size=(30, 2, 512)).astype(np.float32)
    ages = np.array(["old"] + ["young"] * 29)
    maker = DonorMaker(DonorPopulation(latents, {"age": ages}))
    here = Scene(Gallery(settings_of(), maker, MemoryStore()))
    for human in (2, 3, 4):
        assert here.passes(human, attributes="age=young").surrogate is not None
    assert here.gallery.report().of_next_bin == 0
    for human in (5, 6, 7):
        assert here.passes(human, attributes="age=old").surrogate is not None
    assert here.gallery.report().of_next_bin >= 2
