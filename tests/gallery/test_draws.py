"""A surrogate that resembles its person is drawn again, once, and is the same ever after."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.types import Surrogate
from gallery.assignments import NO_OFFER, Assignment
from gallery.buffer import Buffer
from gallery.donors import DonorPopulation
from gallery.draws import DRAWS, draws_of, settled_place, wider_draws_of
from gallery.entries import Joined, Settled, decoded, encoded
from gallery.errors import BufferBroken
from gallery.gallery import Gallery
from gallery.secrets import SecretRing
from gallery.settings import GallerySettings, Scope
from gallery.simulation import THRESHOLDS, NoiseMaker, look
from gallery.stores.memory import MemoryStore
from gallery.surrogates import DonorMaker, Face, LoneFace, Surrogates

pytestmark = pytest.mark.unit

FACE = Face(b"s" * 32, cluster=5, slot=1, slots=9, domain=("session", "a"), attribute_bin="x=y")
DONORS = DonorMaker(
    DonorPopulation(np.random.default_rng(0).normal(size=(120, 2, 512)).astype(np.float32))
)


def gallery_of(
    scope: Scope = "session", store: MemoryStore | None = None, ring: SecretRing | None = None
) -> Gallery:
    settings = GallerySettings(k=3, scope=scope, thresholds=THRESHOLDS)
    return Gallery(settings, DONORS, store, ring, session="night", run="night")


def offered(gallery: Gallery, track: int, human: int = 2, stream: str = "door") -> Surrogate:
    """What a track is offered to try on."""
    gallery.visible(stream, [track], float(track))
    answer = gallery.assign(stream, track, look(human), None, float(track), tries_on=True)
    assert answer.surrogate is not None
    assert not answer.is_settled
    return answer.surrogate


def given(gallery: Gallery, track: int, human: int = 2, stream: str = "door") -> Surrogate:
    """What a track gets without trying on, or since it is settled."""
    gallery.visible(stream, [track], float(track))
    answer = gallery.assign(stream, track, look(human), None, float(track), tries_on=True)
    assert answer.surrogate is not None
    assert answer.is_settled
    return answer.surrogate


def settled(
    gallery: Gallery, track: int, choice: int | None, stream: str = "door"
) -> tuple[Assignment, tuple[Surrogate, ...]]:
    """What a track gets that takes one of its draws, and these."""
    offer = gallery.draws(stream, track)
    return gallery.settle(stream, track, offer.number, choice), offer.surrogates


def test_draws_of_a_place_differ_in_the_draw_alone() -> None:
    draws = draws_of(FACE)
    assert [one.draw for one in draws] == list(range(DRAWS))
    assert {dataclasses.replace(one, draw=0) for one in draws} == {FACE}
    assert draws_of(FACE, settled=3) == [dataclasses.replace(FACE, draw=3)]
    lone = LoneFace(FACE.secret, 3, 9, FACE.domain)
    assert len({one.name for one in draws_of(lone)}) == DRAWS


def test_draws_end_where_the_log_cannot_name_them_any_more() -> None:
    """The planted fault: with many wider bins a draw did not fit into its record."""
    face: Face | LoneFace = FACE
    while wider := wider_draws_of(face):
        face = wider[-1]
    assert isinstance(face, Face)
    entry = Settled(7, settled_place(face), face.draw)
    assert face.draw > DRAWS
    assert decoded(encoded(entry)) == entry


def test_place_in_the_log_tells_domains_apart_and_no_cluster_or_draw() -> None:
    other = dataclasses.replace(FACE, domain=("session", "b"))
    assert settled_place(other) != settled_place(FACE)
    assert settled_place(dataclasses.replace(FACE, cluster=6, draw=2)) == settled_place(FACE)
    assert len(settled_place(FACE)) == 8


def test_draw_that_is_taken_is_given_again_to_the_person_who_returns() -> None:
    gallery = gallery_of()
    first = offered(gallery, 1)
    taken, draws = settled(gallery, 1, 4)
    assert np.array_equal(draws[0].latent, first.latent)
    assert len({one.latent.tobytes() for one in draws}) == DRAWS
    assert taken.surrogate is not None
    assert taken.is_settled
    assert np.array_equal(taken.surrogate.latent, draws[4].latent)
    assert gallery.draws("door", 1) == NO_OFFER
    assert np.array_equal(given(gallery, 2).latent, draws[4].latent)
    assert gallery.report().redrawn == 4
    assert gallery.report().violations == 0


def test_first_draw_is_settled_as_well() -> None:
    gallery = gallery_of()
    gallery.visible("door", [1], 1.0)
    first = gallery.assign("door", 1, look(2), None, 1.0, tries_on=True)
    assert first.surrogate is not None
    assert gallery.settle("door", 1, first.offer, 0).face == first.face
    assert np.array_equal(given(gallery, 2).latent, first.surrogate.latent)
    assert gallery.report().redrawn == 0


def test_scopes_are_settled_apart() -> None:
    gallery = gallery_of("camera")
    offered(gallery, 1, stream="door")
    settled(gallery, 1, 1)
    offered(gallery, 2, stream="hall")
    settled(gallery, 2, 0, "hall")
    assert given(gallery, 3, stream="door").k_real == 1


def test_track_of_its_own_scope_keeps_its_draw_and_leaves_no_entry() -> None:
    gallery = gallery_of("track")
    offered(gallery, 1)
    settled(gallery, 1, 2)
    assert gallery.buffer.settled == {}
    kept = given(gallery, 1)
    assert not np.array_equal(offered(gallery, 2).latent, kept.latent)


def test_person_whom_every_draw_resembles_is_covered_and_asked_again_later() -> None:
    gallery = gallery_of()
    offered(gallery, 1)
    answer, _ = settled(gallery, 1, None)
    assert (answer.surrogate, answer.cause) == (None, "too_alike")
    report = gallery.report()
    assert (report.redrawn, report.covers, report.swaps_below_k) == (DRAWS, {"too_alike": 1}, 0)
    assert gallery.visible("door", [1], 1.5) == frozenset()
    offered(gallery, 1)


def test_draws_leave_out_what_somebody_in_view_has() -> None:
    gallery = gallery_of("track")
    gallery.visible("door", [1, 2], 0.0)
    for track in (1, 2):
        gallery.assign("door", track, look(10 * track), None, 0.0, tries_on=True)
        assert len(gallery.draws("door", 2).surrogates) in {0, DRAWS - 1, DRAWS}
    settled(gallery, 2, 1)
    settled(gallery, 1, -1)
    assert gallery.visible("door", [1, 2], 0.1) == frozenset()


def main_donor(surrogate: Surrogate) -> int:
    return int(np.einsum("nlc,lc->n", DONORS.population.latents, surrogate.latent).argmax())


def test_draws_leave_out_what_somebody_has_who_left_the_view() -> None:
    """The planted fault: a newcomer gets the face of somebody who comes back, and is covered."""
    gallery = gallery_of()
    offered(gallery, 1)
    settled(gallery, 1, 5)
    worn = main_donor(given(gallery, 1))
    for track in range(2, 6):
        first = main_donor(offered(gallery, track, 10 * track))
        answer, draws = settled(gallery, track, -1)
        assert len(draws) > DRAWS - 8
        assert worn not in {main_donor(one) for one in draws[1:]} - {first}
        assert answer.surrogate is not None
    assert gallery.visible("door", [1, 2], 6.0) == frozenset()


def test_worker_that_tried_on_as_well_takes_what_the_faster_one_settled() -> None:
    store, ring = MemoryStore(), SecretRing.ephemeral()
    here, there = gallery_of(store=store, ring=ring), gallery_of(store=store, ring=ring)
    offered(here, 1)
    offered(there, 1)
    mine, _ = settled(here, 1, 3)
    theirs, _ = settled(there, 1, 5)
    assert mine.surrogate is not None
    assert theirs.surrogate is not None
    assert np.array_equal(mine.surrogate.latent, theirs.surrogate.latent)
    assert mine.face == theirs.face


def test_store_that_is_lost_before_settling_covers() -> None:
    store = MemoryStore()
    gallery = gallery_of(store=store)
    offered(gallery, 1)
    store.forget()
    answer, _ = settled(gallery, 1, 0)
    assert answer.cause == "broken_promise"
    offered(gallery, 1)
    assert settled(gallery, 1, 0)[0].surrogate is not None


def test_caller_that_tries_nothing_on_gets_the_first_draw_settled() -> None:
    gallery = gallery_of()
    answer = gallery.assign("door", 1, look(2), None, 0.0)
    assert answer.is_settled
    assert list(gallery.buffer.settled.values()) == [0]


def test_face_of_no_cluster_is_drawn_again_for_its_track_alone() -> None:
    gallery = gallery_of()
    for human in (2, 3, 4):
        gallery.assign("door", human, look(human), None, 0.0)
    gallery.visible("door", [9], 1.0)
    answer = gallery.assign("door", 9, look(2, is_poor=True), None, 1.0, tries_on=True)
    assert not answer.is_settled
    assert answer.surrogate is not None
    assert gallery.report().swaps_in_doubt == 1
    taken, _ = settled(gallery, 9, 2)
    assert taken.surrogate is not None
    assert not np.array_equal(taken.surrogate.latent, answer.surrogate.latent)
    assert len(gallery.buffer.settled) == 3


def test_track_that_is_not_known_gets_nothing() -> None:
    gallery = gallery_of()
    assert gallery.draws("door", 1) == NO_OFFER
    assert gallery.settle("door", 1, 1, 0).cause == "no_surrogate"


def test_choice_from_an_earlier_offer_changes_nothing() -> None:
    gallery = gallery_of()
    offered(gallery, 1)
    old, new = gallery.draws("door", 1), gallery.draws("door", 1)
    for choice in (3, None):
        answer = gallery.settle("door", 1, old.number, choice)
        assert not answer.is_settled
        assert gallery.report().redrawn == 0
    assert gallery.buffer.settled == {}
    taken = gallery.settle("door", 1, new.number, 3)
    assert taken.is_settled
    assert gallery.settle("door", 1, new.number, 4) is taken


def test_draw_that_somebody_else_got_while_it_was_tried_on_is_not_given_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gallery = gallery_of()
    gallery.visible("door", [1, 2], 0.0)
    offers = []
    for track in (1, 2):
        gallery.assign("door", track, look(10 * track), None, 0.0, tries_on=True)
        offers.append(gallery.draws("door", track))
    monkeypatch.setattr(Surrogates, "look", lambda *_: "everybody's")
    assert gallery.settle("door", 1, offers[0].number, 0).is_settled
    assert gallery.settle("door", 2, offers[1].number, 1).cause == "shared_face"


def test_window_that_holds_too_many_settled_surrogates_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gallery.roster._PLACES", 1)
    settings = GallerySettings(k=2, scope="camera", thresholds=THRESHOLDS, max_people=4)
    gallery = Gallery(settings, NoiseMaker())
    for visit in range(4):
        assert gallery.assign(f"door {visit}", 1, look(2), None, 0.0).surrogate is not None
    assert gallery.assign("door 4", 1, look(2), None, 0.0).cause == "broken_promise"
    assert gallery.assign("door 4", 1, look(2), None, 0.0).surrogate is not None
    assert gallery.report().windows == 2


def test_settled_entry_is_read_back_as_it_was_written() -> None:
    entry = Settled(7, bytes(range(8)), 11)
    assert decoded(encoded(entry)) == entry


@pytest.mark.parametrize("record", [1, 9])
def test_entry_that_would_change_a_surrogate_is_refused(record: int) -> None:
    buffer = Buffer(GallerySettings(k=3))
    buffer.apply(1, Joined(1, 1, 0, False, "", "", np.zeros(4, np.float32)))
    buffer.apply(2, Settled(1, b"p" * 8, 2))
    assert buffer.draw_of(1, b"p" * 8) == 2
    with pytest.raises(BufferBroken, match="settles"):
        buffer.apply(3, Settled(record, b"p" * 8, 3))


VALUES = {
    "gender": np.repeat(["male", "female"], 60),
    "age": np.tile(np.repeat(["young", "old"], 30), 2),
}


def binned_gallery(
    values: dict[str, NDArray[np.str_]] = VALUES, wanted: str = "gender=male|age=old"
) -> tuple[Gallery, DonorPopulation]:
    """A gallery of two genders and two ages, and an old man to whom draws were offered."""
    latents = np.random.default_rng(1).normal(size=(120, 2, 512)).astype(np.float32)
    people = DonorPopulation(latents, values)
    gallery = Gallery(
        GallerySettings(k=3, scope="session", attributes="matched", thresholds=THRESHOLDS),
        DonorMaker(people),
        session="night",
        run="night",
    )
    gallery.visible("door", [1], 1.0)
    gallery.assign("door", 1, look(2), wanted, 1.0, tries_on=True)
    return gallery, people


def test_where_all_draws_of_a_bin_resemble_those_of_a_wider_one_are_offered() -> None:
    gallery, people = binned_gallery()
    wider, _ = settled(gallery, 1, None)
    assert wider.surrogate is not None
    assert not wider.is_settled
    offers = gallery.draws("door", 1)
    latents = np.stack([one.latent for one in offers.surrogates]).reshape(-1, 1024)
    mains = {int(row) for row in (latents @ people.latents.reshape(-1, 1024).T).argmax(axis=1)}
    assert len(mains) > 20
    assert mains <= set(range(30)), "of another age, and never of another gender"
    kept = gallery.settle("door", 1, offers.number, 2)
    assert kept.is_settled
    assert gallery.report().of_next_bin == 1
    again = gallery.assign("door", 1, look(2), "gender=male|age=old", 2.0, tries_on=True)
    assert again.face == kept.face


def test_who_resembles_all_draws_of_the_wider_bin_too_is_covered() -> None:
    gallery, _ = binned_gallery()
    settled(gallery, 1, None)
    answer, _ = settled(gallery, 1, None)
    assert (answer.surrogate, answer.cause) == (None, "too_alike")


def test_bins_are_widened_as_long_as_all_resemble() -> None:
    """The planted fault: a man whom all of his tone resemble was covered in a whole recording."""
    tones, ages = np.repeat(["dark", "light"], 60), np.tile(["old", "young", "young"], 40)
    values = {"gender": np.repeat(["male"], 120), "tone": tones, "age": ages}
    gallery, people = binned_gallery(values, "gender=male|tone=dark|age=old")
    seen = []
    for choice in (None, None, 2):
        offered = gallery.draws("door", 1).surrogates
        latents = np.stack([one.latent for one in offered]).reshape(-1, 1024)
        mains = (latents @ people.latents.reshape(-1, 1024).T).argmax(axis=1)
        seen.append({(str(tones[row]), str(ages[row])) for row in mains})
        answer, _ = settled(gallery, 1, choice)
    assert seen[:2] == [{("dark", "old")}, {("dark", "young")}]
    assert seen[2] == {("light", "old"), ("light", "young")}
    assert answer.is_settled
    assert gallery.report().of_next_bin == 1


def test_who_had_a_surrogate_of_another_bin_already_is_counted_once() -> None:
    tones = np.repeat(["dark", "light", "light"], 40)
    ages = np.array(["old"] + ["young"] * 119)
    values = {"gender": np.repeat(["male"], 120), "tone": tones, "age": ages}
    gallery, _ = binned_gallery(values, "gender=male|tone=dark|age=old")
    assert gallery.report().of_next_bin == 1, "there is one old man of dark skin"
    settled(gallery, 1, None)
    settled(gallery, 1, 2)
    assert gallery.report().of_next_bin == 1
