"""k-SALSA on faces, the directions it moves in, and answers that are remembered."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from evaluation.methods.ksalsa import KSalsa
from evaluation.methods.remembered import Remembered
from evaluation.methods.style_alignment import AlignmentSettings
from tests.evaluation.fakes import painted_people
from tests.evaluation.methods.linear_generator import CODES, LinearGenerator

pytestmark = pytest.mark.unit

GENERATOR = LinearGenerator()
FACES = painted_people(0, people=9, pictures=2)
SECRET = b"s" * 32


def test_clusters_hold_k_people_and_share_one_representative() -> None:
    release = KSalsa(GENERATOR, k=4).anonymize(FACES, SECRET)
    assert release.images.shape == FACES.images.shape
    np.testing.assert_allclose(release.mixing.sum(axis=1), 1, atol=1e-5)
    for cluster in np.unique(release.clusters):
        inside = release.clusters == cluster
        assert len(np.unique(FACES.persons[inside])) >= 4
        flat = release.latents[inside].reshape(inside.sum(), -1)
        assert np.ptp(flat, axis=0).max() < 1e-4


def test_the_alignment_moves_the_centroid_and_repeats_itself() -> None:
    plain = KSalsa(GENERATOR, 4, settings=AlignmentSettings(rounds=0)).anonymize(FACES, SECRET)
    first, again = (KSalsa(GENERATOR, k=4).anonymize(FACES, SECRET) for _ in range(2))
    np.testing.assert_array_equal(first.images, again.images)
    assert not np.allclose(first.latents, plain.latents)


def test_directions_are_found_coarse_first_and_take_a_latent_apart() -> None:
    found = GENERATOR.directions
    assert found.count == CODES
    strength = np.linalg.norm(found.change.reshape(CODES, -1), axis=1)
    assert (np.diff(strength) <= 1e-3).all()
    latents = GENERATOR.latents(np.arange(3))
    codes = found.codes(latents)
    np.testing.assert_allclose(found.moved(latents, codes), latents, atol=1e-4)
    np.testing.assert_allclose(found.codes(found.moved(latents, codes + 1)), codes + 1, atol=1e-3)
    pictures = found.picture + np.tensordot(codes, found.change, axes=1)
    np.testing.assert_allclose(pictures, GENERATOR.neutral(latents), atol=0.5)


def test_a_network_is_asked_once_about_a_picture_and_forgets_the_oldest() -> None:
    asked: list[int] = []

    def ask(crops: NDArray[np.uint8]) -> NDArray[np.float32]:
        asked.append(len(crops))
        means = crops.reshape(len(crops), -1).mean(axis=1)
        return np.asarray(means[:, None], np.float32)

    memory = Remembered(ask, batch=2, capacity=2)
    crops = np.arange(3, dtype=np.uint8)[:, None, None, None] + np.zeros((3, 2, 2, 3), np.uint8)
    both = np.concatenate([crops, crops[:1]])
    assert memory(both)[:, 0].tolist() == [0, 1, 2, 0]
    assert asked == [2, 1]
    memory(crops[2:])
    assert asked == [2, 1]
    memory(crops[:1])
    assert asked == [2, 1, 1]
