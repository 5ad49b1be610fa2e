"""Which face a slot gets is a secret; the same face comes back for as long as its scope."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from engines.types import Latent
from gallery.donors import DonorPopulation
from gallery.errors import DonorError
from gallery.secrets import KeyedRandom
from gallery.settings import Scope
from gallery.simulation import NoiseMaker
from gallery.surrogates import (
    LONE_FACES,
    DonorMaker,
    Face,
    LoneFace,
    Made,
    Surrogates,
    scope_domain,
)

pytestmark = pytest.mark.unit

FACE = Face(b"s" * 32, cluster=5, slot=1, slots=9, domain=("session", "a"), attribute_bin="")


def test_places_of_a_cluster_are_a_permutation_of_its_slots() -> None:
    places = [dataclasses.replace(FACE, slot=slot).place for slot in range(9)]
    assert sorted(places) == list(range(9))


def test_permutation_depends_on_secret_cluster_and_domain() -> None:
    def order(**changes: object) -> list[int]:
        base = dataclasses.replace(FACE, **changes)  # type: ignore[arg-type]
        return [dataclasses.replace(base, slot=slot).place for slot in range(9)]

    orders = [order(), order(secret=b"t" * 32), order(cluster=6), order(domain=("camera", "a"))]
    assert len({tuple(places) for places in orders}) == 4


@pytest.mark.parametrize(("slot", "own"), [(0, range(5)), (6, range(5, 9))])
def test_slot_says_only_whether_the_place_is_a_spare_one(slot: int, own: range) -> None:
    faces = [dataclasses.replace(FACE, secret=bytes([n]) * 32, slot=slot) for n in range(250)]
    counts = np.bincount([face.place for face in faces], minlength=9)
    assert counts[own.start : own.stop].min() > 30
    assert counts.sum() == counts[own.start : own.stop].sum()


def test_numbers_of_filled_places_leave_no_gap_and_no_two_faces_share_one() -> None:
    numbers = [
        [dataclasses.replace(FACE, cluster=cluster, slot=slot).number for slot in range(9)]
        for cluster in range(20)
    ]
    filled = sorted(number for cluster in numbers for number in cluster[:5])
    spare = sorted(number for cluster in numbers for number in cluster[5:])
    assert filled == list(range(100))
    assert spare == list(range(-80 - LONE_FACES, -LONE_FACES))


def test_lone_faces_are_none_of_a_cluster_and_none_alike() -> None:
    lone = [LoneFace(FACE.secret, turn, FACE.slots, FACE.domain) for turn in range(LONE_FACES)]
    lent = [
        dataclasses.replace(FACE, cluster=cluster, slot=slot)
        for cluster in range(200)
        for slot in range(9)
    ]
    assert {one.number for one in lone}.isdisjoint(one.number for one in lent)
    names = {one.name for one in lone} | {one.name for one in lent}
    assert len(names) == len(lone) + len(lent)
    assert len({one.number for one in lone}) == LONE_FACES
    assert FACE.secret.hex() not in repr(lone[0])


def test_names_of_faces_and_clusters_do_not_link_domains() -> None:
    other = dataclasses.replace(FACE, domain=("session", "b"))
    assert other.name != FACE.name
    assert other.cluster_name != FACE.cluster_name
    assert FACE.secret.hex() not in repr(FACE)


def test_latent_is_the_same_again_even_after_it_was_forgotten() -> None:
    surrogates = Surrogates(NoiseMaker(), limit=2)
    first = surrogates.latent(FACE).copy()
    for slot in range(2, 6):
        surrogates.latent(dataclasses.replace(FACE, slot=slot))
    assert np.array_equal(surrogates.latent(FACE), first)


def test_latent_cannot_be_written_to() -> None:
    latent = Surrogates(NoiseMaker()).latent(FACE)
    with pytest.raises(ValueError, match="read-only"):
        latent[0, 0] = 1.0


@pytest.mark.parametrize(
    "bad",
    [np.zeros(512, np.float32), np.zeros((1, 512)), np.full((1, 512), np.inf, np.float32)],
    ids=["one axis", "float64", "infinite"],
)
def test_latent_of_another_kind_is_refused(bad: Latent) -> None:
    class Maker(NoiseMaker):
        def make(
            self, keyed: KeyedRandom, number: int, places: int, attribute_bin: str, draw: int
        ) -> Made:
            return Made(bad)

    with pytest.raises(DonorError):
        Surrogates(Maker()).latent(FACE)


def test_donor_faces_of_one_scope_are_all_different() -> None:
    dice = np.random.default_rng(0)
    population = DonorPopulation(dice.normal(size=(80 + LONE_FACES, 2, 512)).astype(np.float32))
    surrogates = Surrogates(DonorMaker(population))
    latents = [
        surrogates.latent(dataclasses.replace(FACE, cluster=cluster, slot=slot))
        for cluster in range(1, 7)
        for slot in range(9)
    ]
    latents += [
        surrogates.latent(LoneFace(FACE.secret, turn, FACE.slots, FACE.domain))
        for turn in range(LONE_FACES)
    ]
    flat = np.stack([latent.ravel() for latent in latents])
    cosines = np.asarray(np.corrcoef(flat))[np.triu_indices(len(flat), 1)]
    assert cosines.max() < 0.5


def test_faces_of_one_main_donor_have_one_look_whatever_their_scope_and_window() -> None:
    dice = np.random.default_rng(0)
    population = DonorPopulation(dice.normal(size=(20, 2, 512)).astype(np.float32))
    surrogates = Surrogates(DonorMaker(population))
    faces = [
        dataclasses.replace(FACE, secret=bytes([n]) * 32, cluster=n % 3, domain=("camera", str(n)))
        for n in range(40)
    ]
    flat = np.stack([(surrogates.latent(face) - population.mean).ravel() for face in faces])
    looks = [surrogates.look(face) for face in faces]
    is_one = np.array([[one == other for other in looks] for one in looks])
    assert np.array_equal(np.corrcoef(flat) > 0.8, is_one)
    assert 10 < len(set(looks)) < 40


def test_draws_of_one_place_have_names_and_main_donors_of_their_own() -> None:
    dice = np.random.default_rng(0)
    population = DonorPopulation(dice.normal(size=(30, 2, 512)).astype(np.float32))
    surrogates = Surrogates(DonorMaker(population))
    draws: list[Face | LoneFace] = [dataclasses.replace(FACE, draw=draw) for draw in range(12)]
    draws += [LoneFace(FACE.secret, 3, FACE.slots, FACE.domain, draw=draw) for draw in range(12)]
    assert len({face.name for face in draws}) == 24
    assert len({surrogates.look(face) for face in draws[:12]}) == 12
    assert len({surrogates.look(face) for face in draws[12:]}) == 12
    assert len({face.number for face in draws}) == 2


def test_faces_of_two_bins_have_names_of_their_own() -> None:
    bins = ("gender=female", "gender=male")
    faces = [dataclasses.replace(FACE, attribute_bin=one) for one in bins]
    assert len({face.name for face in faces}) == len({face.cluster_name for face in faces}) == 2
    assert len({LoneFace(FACE.secret, 3, 9, FACE.domain, one).name for one in bins}) == 2


def test_first_unworn_face_has_neither_name_nor_look_of_a_worn_one() -> None:
    class ByNumber(NoiseMaker):
        def make(
            self, keyed: KeyedRandom, number: int, places: int, attribute_bin: str, draw: int
        ) -> Made:
            return Made(super().make(keyed, number, places, attribute_bin, draw).latent, number)

    surrogates = Surrogates(ByNumber())
    first, second, third = (LoneFace(FACE.secret, turn, 9, FACE.domain) for turn in range(3))
    worn = {first.name, surrogates.look(second)}
    assert surrogates.first_unworn([first, second, third], worn) == third
    assert surrogates.first_unworn([first, second], worn) is None


@pytest.mark.parametrize(
    ("scope", "other_session", "other_track"),
    [("track", True, False), ("camera", True, True), ("session", False, True),
     ("forever", True, True)],
)  # fmt: skip
def test_domain_stays_the_same_as_far_as_its_scope_reaches(
    scope: Scope, other_session: bool, other_track: bool
) -> None:
    one = scope_domain(scope, "s1", "door", ("run", 1))
    assert (one == scope_domain(scope, "s2", "door", ("run", 1))) is other_session
    assert (one == scope_domain(scope, "s1", "door", ("run", 2))) is other_track


def test_what_is_forgotten_leaves_no_order_of_donors_behind() -> None:
    population = DonorPopulation(np.ones((20, 2, 512), np.float32))
    maker = DonorMaker(population)
    surrogates = Surrogates(maker)
    before = surrogates.latent(FACE)
    surrogates.forget()
    assert not maker.deals._kept
    assert np.array_equal(surrogates.latent(FACE), before)
