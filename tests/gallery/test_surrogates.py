"""Which face a slot gets is a secret; the same face comes back for as long as its scope."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from engines.types import Latent
from gallery.donors import DonorPopulation
from gallery.errors import DonorError
from gallery.secrets import KeyedRandom
from gallery.simulation import NoiseMaker
from gallery.surrogates import (
    LONE_FACES,
    DonorMaker,
    Face,
    LoneFace,
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
        def make(self, keyed: KeyedRandom, number: int, places: int, attribute_bin: str) -> Latent:
            return bad

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


@pytest.mark.parametrize(
    ("scope", "same"),
    [("track", False), ("camera", True), ("session", False), ("forever", True)],
)
def test_other_session_changes_track_and_session_domains(scope: str, same: bool) -> None:
    one = scope_domain(scope, "s1", "door", 1)  # type: ignore[arg-type]
    other = scope_domain(scope, "s2", "door", 1)  # type: ignore[arg-type]
    assert (one == other) is same
