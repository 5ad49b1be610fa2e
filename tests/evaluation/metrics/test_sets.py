"""Measures of whole sets: distance, diversity, homogeneity, utility, flicker."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.metrics.diversity import count_identities, identity_diversity, identity_variance
from evaluation.metrics.flicker import flicker_ratio, warp_error_ratio
from evaluation.metrics.frechet import frechet_distance
from evaluation.metrics.homogeneity import attribute_entropy, l_diversity, t_closeness
from evaluation.metrics.utility import protection_rates

pytestmark = pytest.mark.unit


def test_the_frechet_distance_of_gaussians_is_the_known_one() -> None:
    random = np.random.default_rng(0)
    first = random.normal(0, 1, (60_000, 2))
    second = random.normal([3, 0], [2, 1], (60_000, 2))
    assert frechet_distance(first, second) == pytest.approx(9 + 1, rel=0.03)
    assert frechet_distance(first, first) == pytest.approx(0, abs=1e-6)


def test_one_sample_is_no_distribution() -> None:
    with pytest.raises(ValueError, match="two samples"):
        frechet_distance(np.zeros((1, 2)), np.zeros((5, 2)))


def test_shared_faces_lose_diversity_by_k() -> None:
    originals = np.eye(100, dtype=np.float32)
    shared = np.repeat(np.eye(20, 100, dtype=np.float32), 5, axis=0)
    assert identity_diversity(originals, shared, 0.5) == 0.2
    assert identity_diversity(originals, originals, 0.5) == 1.0
    assert count_identities(np.zeros((0, 4), np.float32), 0.5) == 0


def test_identities_that_wander_have_variance() -> None:
    assert identity_variance(np.eye(4, dtype=np.float32)) == pytest.approx(0.5)


def test_a_homogeneous_cluster_discloses_its_attribute() -> None:
    clusters = np.array([0, 0, 0, 1, 1, 1])
    mixed, homogeneous = np.array([0, 1, 0, 1, 0, 1]), np.array([0, 0, 0, 1, 1, 1])
    assert attribute_entropy(clusters, homogeneous) == 0
    assert attribute_entropy(clusters, mixed) > 0.9
    assert l_diversity(clusters, homogeneous) == 1
    assert l_diversity(clusters, mixed) == 2
    assert t_closeness(clusters, homogeneous) == 0.5


def test_lost_faces_stay_in_the_denominator() -> None:
    cosines = np.array([0.9, 0.1, 0.1, 0.1], np.float32)
    detected = np.array([True, True, True, False])
    assert protection_rates(cosines, detected, 0.3) == (0.25, 0.5, 0.25)


def test_a_blinking_face_flickers_and_a_still_one_does_not() -> None:
    random = np.random.default_rng(0)
    texture = random.integers(0, 200, (32, 32, 3)).astype(np.uint8)
    noise = [random.integers(0, 3, texture.shape).astype(np.uint8) for _ in range(8)]
    still = [texture + grain for grain in noise]
    blinking = [frame + np.uint8(40 * (n % 2)) for n, frame in enumerate(still)]
    assert flicker_ratio(still, still) == 1
    assert flicker_ratio(still, blinking) > 20
    assert warp_error_ratio(still, blinking) > 3
    assert warp_error_ratio(still[:1], blinking[:1]) == 1
