"""Every method keeps its promises on self-made people."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.typing import NDArray

from evaluation.errors import EvaluationError, TooFewPeople
from evaluation.faces import Faces, crop_window
from evaluation.methods.anonfaces import AnonFaces, effective_people
from evaluation.methods.ksame import KSamePixel, mixed_rows
from evaluation.methods.morphing import morph
from evaluation.methods.registry import fitted_maker, method_named, method_names
from evaluation.methods.surrogate import DonorImages, DonorSurrogate, oval_alpha
from tests.evaluation.fakes import PixelJudge, painted_people

pytestmark = pytest.mark.unit

FACES = painted_people(0, people=11, pictures=2)
DONORS = painted_people(100, people=14)
SECRET = b"s" * 32
GENERATED = {name for name in method_names() if name.startswith("StyleID")}
GENERATED |= {"AnonFACES latent", "k-SALSA", "FPSP"}


@pytest.mark.parametrize("name", [name for name in method_names() if name not in GENERATED])
def test_any_method_gives_one_picture_per_face_and_honest_shapes(name: str) -> None:
    faces = FACES.take(np.arange(12))
    release = fitted_maker(name, 3, DONORS)().anonymize(faces, SECRET)
    assert release.images.shape == faces.images.shape
    assert release.images.dtype == np.uint8
    assert release.clusters.shape == (12,)
    assert release.mixing.shape == (12, 12)
    sums = release.mixing.sum(axis=1)
    assert np.all(np.isclose(sums, 1, atol=1e-4) | np.isclose(sums, 0))


@pytest.mark.parametrize("name", ["k-Same-Pixel", "k-Same-Eigen", "AnonFACES", "kveil"])
def test_the_same_secret_repeats_and_another_does_not(name: str) -> None:
    make = fitted_maker(name, 3, DONORS)
    first, again = (make().anonymize(FACES, SECRET) for _ in range(2))
    other = make().anonymize(FACES, b"t" * 32)
    np.testing.assert_array_equal(first.images, again.images)
    assert not np.array_equal(first.images, other.images)


@pytest.mark.parametrize("name", ["k-Same-Pixel", "k-Same-Eigen", "AnonFACES", "kveil"])
def test_clusters_hold_k_people_however_many_pictures_they_have(name: str) -> None:
    release = fitted_maker(name, 4, DONORS)().anonymize(FACES, SECRET)
    for cluster in np.unique(release.clusters):
        assert len(np.unique(FACES.persons[release.clusters == cluster])) >= 4


def test_every_stranger_comes_once_before_any_comes_again() -> None:
    release = fitted_maker("random stranger", 3, DONORS)().anonymize(FACES, SECRET)
    flat = release.images.reshape(len(release.images), -1)
    assert len(np.unique(flat[:14], axis=0)) == 14
    assert len(np.unique(flat[14:], axis=0)) == len(flat) - 14


def test_a_k_same_face_is_the_mean_of_its_members() -> None:
    release = KSamePixel(k=4).anonymize(FACES, SECRET)
    inside = release.clusters == release.clusters[0]
    mean = FACES.images[inside].astype(float).mean(axis=0)
    np.testing.assert_allclose(release.images[0], mean, atol=1)


def test_kveil_gives_everybody_a_donor_of_his_own() -> None:
    faces = FACES.take(np.arange(0, 22, 2))
    release = fitted_maker("kveil", 3, DONORS)().anonymize(faces, SECRET)
    rows, columns = crop_window()
    centres = release.images[:, rows, columns][:, 48:80, 48:80].reshape(11, -1)
    assert len(np.unique(centres, axis=0)) == 11
    assert not release.mixing.any()


def test_kveil_keeps_nothing_of_the_face_in_the_oval() -> None:
    method = DonorSurrogate(3, DonorImages())
    method.fit(DONORS)
    original = method.anonymize(FACES, SECRET)
    rows, columns = crop_window()
    inside = oval_alpha(128) == 1
    scrambled = FACES.images.copy()
    crops = scrambled[:, rows, columns]
    # The same colours in another order: all that a renderer may use is unchanged.
    crops[:, inside] = crops[:, inside][:, ::-1]
    changed = copy.copy(method).anonymize(FACES.showing(scrambled), SECRET)
    first, second = (r.images[:, rows, columns][:, inside] for r in (original, changed))
    assert np.abs(first.astype(int) - second.astype(int)).max() <= 1


def test_kveil_is_sticky_over_releases() -> None:
    method = DonorSurrogate(3, DonorImages())
    method.fit(DONORS)
    first = method.anonymize(FACES, SECRET)
    later = method.anonymize(FACES.take(np.arange(6)), b"t" * 32)
    np.testing.assert_array_equal(first.clusters[:6], later.clusters)


def test_new_people_join_without_moving_the_old() -> None:
    method = DonorSurrogate(3, DonorImages())
    method.fit(DONORS)
    first = method.anonymize(FACES.take(np.arange(8)), SECRET)
    both = method.anonymize(FACES, SECRET)
    np.testing.assert_array_equal(first.images, both.images[:8])


def test_a_donor_dealt_again_is_somebody_else() -> None:
    class Recorded(DonorImages):
        worn: NDArray[np.int64]

        def wear(self, faces: Faces, chosen: NDArray[np.int64]) -> NDArray[np.uint8]:
            self.worn = chosen
            return super().wear(faces, chosen)

    renderer = Recorded()
    method = DonorSurrogate(3, renderer)
    method.fit(DONORS.take(np.arange(4)))
    method.anonymize(FACES.take(np.arange(0, 22, 2)), SECRET)
    assert len(np.unique(renderer.worn)) == 11
    assert np.bincount(renderer.worn // 4).tolist() == [4, 4, 3]


def test_kveil_without_donors_or_people_refuses() -> None:
    with pytest.raises(TooFewPeople, match="donors"):
        DonorSurrogate(3).anonymize(FACES, SECRET)
    method = DonorSurrogate(30, DonorImages())
    method.fit(DONORS)
    with pytest.raises(TooFewPeople, match="30"):
        method.anonymize(FACES, SECRET)


def test_the_risk_assessment_ends_and_keeps_k_people_in_the_mix() -> None:
    # A judge who matches everything puts all members at risk for ever.
    method = AnonFaces(k=4, adjuster=PixelJudge(threshold=-1.0))
    method.fit(DONORS)
    release = method.anonymize(FACES, SECRET)
    assert effective_people(release.mixing, FACES.persons).min() >= 3.5


def test_a_morph_with_no_share_is_the_face_itself() -> None:
    face, other = FACES.images[0], FACES.images[4]
    points = FACES.points[0]
    same = morph(face, points, other, points, 0.0)
    assert np.abs(same.astype(int) - face).mean() < 3
    all_other = morph(face, points, other, points, 1.0)
    assert np.abs(all_other.astype(int) - other).mean() < 3


def test_equal_weights_are_mixed_once() -> None:
    rows = np.array([[2.0], [4.0]], np.float32)
    mixing = np.array([[0.5, 0.5], [0.5, 0.5], [1, 0]], np.float32)
    assert mixed_rows(mixing, rows).tolist() == [[3.0], [3.0], [2.0]]


def test_an_unknown_method_is_refused_with_the_known_ones() -> None:
    with pytest.raises(EvaluationError, match="k-Same-Pixel"):
        method_named("magic", 5)


def test_taking_and_joining_keep_faces_together() -> None:
    part = FACES.take([0, 5])
    assert isinstance(part, Faces)
    assert part.joined(part).persons.tolist() == [0, 2, 0, 2]
