"""Measures of whole sets: distance, diversity, homogeneity, utility, flicker."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.metrics.diversity import (
    count_identities,
    identity_diversity,
    separating_threshold,
)
from evaluation.metrics.flicker import flicker_ratio, warp_error_ratio
from evaluation.metrics.frechet import frechet_distance
from evaluation.metrics.homogeneity import homogeneity_of

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
    assert identity_diversity(originals, shared).ratio == 0.2
    assert identity_diversity(originals, originals).ratio == 1.0
    assert count_identities(np.zeros((0, 4), np.float32), 0.5) == 0


def test_originals_are_nearly_all_told_apart_however_many_there_are() -> None:
    random = np.random.default_rng(4)
    people = random.normal(size=(600, 24)).astype(np.float32)
    people /= np.linalg.norm(people, axis=1, keepdims=True)
    for count in (60, 600):
        own = identity_diversity(people[:count], people[:count])
        assert own.ratio == 1.0
        assert own.originals >= 0.99 * count
    assert separating_threshold(people) > separating_threshold(people[:60])


def test_strangers_drawn_with_repetition_count_once_each() -> None:
    random = np.random.default_rng(5)
    people = random.normal(size=(200, 64)).astype(np.float32)
    people /= np.linalg.norm(people, axis=1, keepdims=True)
    drawn = random.integers(0, 200, 200)
    measured = identity_diversity(people, people[drawn]).ratio
    assert measured == pytest.approx(len(set(drawn.tolist())) / 200, abs=0.02)


def test_a_homogeneous_cluster_discloses_its_attribute() -> None:
    clusters = np.array([0, 0, 0, 1, 1, 1])
    mixed, homogeneous = np.array([0, 1, 0, 1, 0, 1]), np.array([0, 0, 0, 1, 1, 1])
    told, hidden = (
        homogeneity_of("gender", clusters, np.arange(6), values) for values in (homogeneous, mixed)
    )
    assert told is not None
    assert hidden is not None
    assert (told.entropy, told.least_values, told.farthest) == (0, 1, 0.5)
    assert hidden.entropy > 0.9
    assert hidden.least_values == 2


def test_homogeneity_counts_people_and_leaves_out_who_stands_alone() -> None:
    clusters = np.array([0, 0, 0, 1, 1, 2, -1])
    persons = np.array([5, 5, 6, 7, 8, 9, 10])
    values = np.array([1, 1, 0, 1, 1, 0, 1])
    found = homogeneity_of("gender", clusters, persons, values)
    assert found is not None
    assert (found.clusters, found.homogeneous, found.least_values) == (2, 0.5, 1)
    assert found.entropy == pytest.approx(0.5)
    assert homogeneity_of("gender", np.arange(7), persons, values) is None


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
