"""Every attack finds what is planted for it, and nothing where there is nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from evaluation.attacks.adaptive import AdaptiveRecognition
from evaluation.attacks.attack import Attack, Bench, Finding, Judge, Subjects
from evaluation.attacks.candidates import Duplicates, Intersection, KnownWeights, candidate_sets
from evaluation.attacks.inversion import Inversion
from evaluation.attacks.learners import ridge_map
from evaluation.attacks.linkage import Linkage
from evaluation.attacks.membership import (
    MemberDisclosure,
    MembershipInference,
    expected_centroid_cosine,
)
from evaluation.attacks.parrot import ParrotRecognition
from evaluation.attacks.recognition import NaiveRecognition, ReverseRecognition
from evaluation.attacks.side_channels import SideChannels
from evaluation.attacks.templates import WholeTrack
from evaluation.faces import Faces
from evaluation.methods.ksame import KSamePixel
from evaluation.methods.method import Kind, Method, Release
from evaluation.methods.registry import fitted_maker
from evaluation.metrics.intervals import Z999, wilson
from evaluation.protocol import judge_from_recogniser
from tests.evaluation.fakes import PixelJudge, painted_people

pytestmark = pytest.mark.unit

SUBJECTS = Subjects(
    probes=painted_people(0, people=30, pictures=2, start=1),
    gallery=painted_people(0, people=30).joined(painted_people(200, people=10)),
    donors=painted_people(300, people=30),
    outsiders=painted_people(400, people=40),
)
JUDGE = judge_from_recogniser(PixelJudge(), SUBJECTS)
SECRET = b"s" * 32


def bench_of(make: Callable[[], Method]) -> Bench:
    method = make()
    release = method.anonymize(SUBJECTS.probes, SECRET)
    return Bench(SUBJECTS, make, method, release, SECRET)


BENCHES = {
    name: bench_of(fitted_maker(name, 5, SUBJECTS.donors))
    for name in ("none", "random stranger", "k-Same-Pixel", "kveil", "negative")
}


FOUND: dict[tuple[str, str], list[Finding]] = {}


def findings_of(attack: Attack, bench: str) -> list[Finding]:
    """What an attack achieves on one of the benches; run once."""
    if (attack.id, bench) not in FOUND:
        FOUND[attack.id, bench] = attack.run(BENCHES[bench], [JUDGE])
    return FOUND[attack.id, bench]


def only(findings: list[Finding], variant: str) -> Finding:
    return next(finding for finding in findings if finding.variant == variant)


@pytest.mark.parametrize(
    ("attack", "variant"),
    [
        (NaiveRecognition(), "other photograph"),
        (NaiveRecognition(), "same photograph"),
        (ReverseRecognition(), "other photograph"),
        (ParrotRecognition(), "fresh secret"),
        (AdaptiveRecognition(), "linear map on vectors"),
        (AdaptiveRecognition(), "best learner on everything"),
        (Inversion(), "restored picture"),
        (WholeTrack(), "mean of a person's pictures"),
        (Linkage(), "next period"),
        (MemberDisclosure(), "any member first"),
        (MemberDisclosure(), "any member first, same photographs"),
        (SideChannels(), "surroundings alone"),
        (SideChannels(), "new face alone"),
    ],
)
def test_an_attack_finds_untouched_people_and_spares_strangers(
    attack: Attack, variant: str
) -> None:
    leak = only(findings_of(attack, "none"), variant)
    spared = only(findings_of(attack, "random stranger"), variant)
    assert leak.rate.rate > (0.6 if attack.id == "A13" else 0.9)
    assert wilson(spared.rate.hits, spared.rate.probes, Z999)[0] <= spared.chance


def test_a_negative_defeats_the_naive_attacker_and_not_the_parrot() -> None:
    naive = only(NaiveRecognition().run(BENCHES["negative"], [JUDGE]), "other photograph")
    parrot = only(ParrotRecognition().run(BENCHES["negative"], [JUDGE]), "fresh secret")
    assert naive.rate.rate < 0.2
    assert parrot.rate.rate > 0.9


def test_the_adaptive_attacker_learns_what_every_face_undergoes() -> None:
    found = findings_of(AdaptiveRecognition(), "negative")
    assert only(found, "linear map on vectors").rate.rate > 0.4
    assert only(found, "best learner on everything").rate.rate > 0.4


@pytest.mark.parametrize(
    "variant", ["regression on pixels", "kernel regression on pixels", "restored picture"]
)
def test_the_inversion_reads_the_original_out_of_a_negative(variant: str) -> None:
    found = only(findings_of(Inversion(), "negative"), variant)
    assert found.rate.lower > found.chance


def test_what_is_left_around_a_new_face_tells_far_more_than_the_new_face() -> None:
    findings = SideChannels().run(BENCHES["kveil"], [JUDGE])
    left, face = only(findings, "surroundings alone"), only(findings, "new face alone")
    assert left.rate.lower > left.chance
    # A photograph that is lent takes on the colours of the face it covers, and they tell a little.
    assert face.rate.upper < left.rate.lower
    assert 0.5 < left.measures["pixels_kept"] < 1


def test_k_same_holds_its_bound_of_one_in_k() -> None:
    found = only(NaiveRecognition().run(BENCHES["k-Same-Pixel"], [JUDGE]), "same photograph")
    assert found.rate.rate <= 1 / 5 + 1e-9


def test_k_same_discloses_members_although_it_hides_the_person() -> None:
    found = MemberDisclosure().run(BENCHES["k-Same-Pixel"], [JUDGE])[0]
    assert found.rate.lower > found.chance
    assert found.measures["members_among_first_k"] > 2 * found.measures["chance_among_first_k"]


def test_a_stolen_secret_opens_a_keyed_method_and_a_fresh_one_does_not() -> None:
    # The surroundings of the face stay as they were: this judge looks at the face alone.
    inner = judge_from_recogniser(PixelJudge("inner", share=0.4), SUBJECTS)
    findings = ParrotRecognition().run(BENCHES["kveil"], [inner])
    assert only(findings, "stolen secret").rate.rate > 0.9
    fresh = only(findings, "fresh secret")
    assert fresh.rate.lower <= fresh.chance


def test_membership_is_inferred_from_untouched_faces() -> None:
    leak = MembershipInference().run(BENCHES["none"], [JUDGE])[0]
    spared = MembershipInference().run(BENCHES["random stranger"], [JUDGE])[0]
    assert leak.rate.rate > 0.9
    assert leak.measures["auc"] > 0.95
    assert spared.rate.lower <= spared.chance


def test_fresh_clusters_intersect_and_sticky_ones_do_not() -> None:
    fresh = Intersection().run(BENCHES["k-Same-Pixel"], [])
    sticky = Intersection().run(BENCHES["kveil"], [])
    assert only(fresh, "presence unknown").measures["mean"] < 5
    assert only(sticky, "presence unknown").measures["least"] >= 5
    assert only(sticky, "presence known").measures["mean"] < 5


def test_a_method_that_counts_pictures_is_caught_by_duplicates() -> None:
    @dataclass
    class CountsPictures:
        """The fault: every picture is taken for a person."""

        name: str = "faulty"
        kind: Kind = "mean"
        inner: KSamePixel = field(default_factory=lambda: KSamePixel(k=3))

        def fit(self, donors: Faces) -> None:
            """Learns nothing."""

        def anonymize(self, faces: Faces, secret: bytes) -> Release:
            everybody = replace(faces, persons=np.arange(len(faces)))
            return self.inner.anonymize(everybody, secret)

    caught = Duplicates().run(bench_of(CountsPictures), [])[0]
    sound = Duplicates().run(BENCHES["k-Same-Pixel"], [])[0]
    assert caught.measures["least"] < 3
    assert sound.measures["least"] >= 5


def test_known_weights_tell_who_dominates() -> None:
    leak = KnownWeights().run(BENCHES["none"], [])[0]
    mean = KnownWeights().run(BENCHES["k-Same-Pixel"], [])[0]
    donors = KnownWeights().run(BENCHES["kveil"], [])[0]
    assert leak.rate.rate == 1.0
    assert mean.rate.hits == 0
    assert mean.measures["least_k_eff"] == pytest.approx(5, abs=0.01)
    assert donors.measures["without_real_weight"] == 1.0


def test_lopsided_weights_are_found_by_their_entropy() -> None:
    bench = BENCHES["k-Same-Pixel"]
    lopsided = bench.release.mixing.copy()
    lopsided[0] = 0
    lopsided[0, 0], lopsided[0, 5] = 0.9, 0.1
    planted = replace(bench.release, mixing=lopsided)
    found = KnownWeights().run(replace_release(bench, planted), [])[0]
    assert found.rate.hits == 1
    assert found.measures["least_k_eff"] < 1.5


def replace_release(bench: Bench, release: Release) -> Bench:
    return Bench(bench.subjects, bench.make, bench.method, release, bench.secret)


def test_nobodys_face_leaves_everybody_a_candidate() -> None:
    images = np.zeros((3, 2, 2, 3), np.uint8)
    release = Release(images, np.array([-1, 0, 0]), np.zeros((3, 3), np.float32))
    sets = candidate_sets(release, np.array([7, 8, 9]))
    assert sets == {7: {7, 8, 9}, 8: {8, 9}, 9: {8, 9}}


@pytest.mark.parametrize("k", [2, 5, 20])
def test_the_centroid_of_random_unit_vectors_is_as_near_as_the_formula_says(k: int) -> None:
    random = np.random.default_rng(k)
    vectors = random.normal(size=(k, 256)) + 0.4
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    centroid = vectors.mean(axis=0)
    gram = vectors @ vectors.T
    rho = float((gram.sum() - k) / (k * (k - 1)))
    measured = float((vectors @ centroid / np.linalg.norm(centroid)).mean())
    assert measured == pytest.approx(expected_centroid_cosine(k, rho), abs=1e-6)


def test_a_linear_map_is_learned() -> None:
    random = np.random.default_rng(0)
    inputs = random.normal(size=(200, 4)).astype(np.float32)
    true: NDArray[np.float64] = random.normal(size=(4, 3))
    learned = ridge_map(inputs, (inputs @ true).astype(np.float32), 0)
    np.testing.assert_allclose(learned[:-1], true, atol=1e-4)


@pytest.mark.parametrize(("people", "values"), [(30, 80), (80, 30), (40, 40)])
def test_a_map_has_the_least_error_whether_people_or_values_are_more(
    people: int, values: int
) -> None:
    random = np.random.default_rng(0)
    inputs = random.normal(size=(people, values)).astype(np.float32)
    targets = random.normal(size=(people, 3)).astype(np.float32)
    weights = ridge_map(inputs, targets, 0.1)[:-1]
    x, y = inputs - inputs.mean(axis=0), targets - targets.mean(axis=0)
    slope = x.T @ (x @ weights - y) + 0.1 * np.square(x).sum() / values * weights
    np.testing.assert_allclose(slope, 0, atol=1e-3)


def test_too_few_impostors_keep_the_recognisers_own_threshold() -> None:
    few = Subjects(
        SUBJECTS.probes.take(np.arange(4)),
        SUBJECTS.gallery.take(np.arange(4)),
        SUBJECTS.donors,
        SUBJECTS.outsiders.take(np.arange(4)),
    )
    judge: Judge = judge_from_recogniser(PixelJudge(threshold=0.77), few)
    assert judge.threshold == 0.77
    assert judge.impostor_pairs == 0
