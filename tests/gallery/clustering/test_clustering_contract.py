"""Every algorithm keeps every person, in clusters of k…2k−1, whatever it is given."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gallery.clustering.partition import ClusteringAlgorithm, Partition
from gallery.clustering.registry import ALGORITHMS, algorithm_by_name
from gallery.errors import EmbeddingsRejected, TooFewPeople, UnknownAlgorithm

pytestmark = pytest.mark.unit

Rows = NDArray[np.float32]
Persons = NDArray[np.intp]

every_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda one: one.name)


def check(partition: Partition, persons: Persons, k: int) -> None:
    """The contract, measured from outside the partition's own checks."""
    assert partition.labels.shape == persons.shape
    clusters: dict[int, set[int]] = {}
    homes: dict[int, set[int]] = {}
    for label, person in zip(partition.labels.tolist(), persons.tolist(), strict=True):
        clusters.setdefault(label, set()).add(person)
        homes.setdefault(person, set()).add(label)
    assert all(len(home) == 1 for home in homes.values()), "a person was split"
    assert all(k <= len(people) <= 2 * k - 1 for people in clusters.values())
    assert list(clusters) == sorted(clusters), "clusters are numbered by first row"
    assert partition.sizes.tolist() == [len(people) for people in clusters.values()]
    assert partition.n_people == len(homes)


@st.composite
def crowds(draw: st.DrawFn) -> tuple[Rows, Persons, int]:
    """Rows with few distinct values (ties, twins), any scale, people with many pictures."""
    k = draw(st.integers(1, 6))
    people = draw(st.one_of(st.just(k), st.just(2 * k - 1), st.integers(k, 6 * k)))
    dimensions = draw(st.sampled_from([1, 2, 7]))
    seed = draw(st.integers(0, 2**32 - 1))
    levels = draw(st.sampled_from([1, 2, 5, 1000]))
    scale = draw(st.sampled_from([1e-6, 1.0, 1e18]))
    extra = draw(st.integers(0, people))
    random = np.random.default_rng(seed)
    persons = np.concatenate([np.arange(people), random.integers(people, size=extra)])
    random.shuffle(persons)
    rows = random.integers(levels, size=(len(persons), dimensions)) * scale
    return rows.astype(np.float32), persons.astype(np.intp), k


@every_algorithm
@settings(max_examples=60)
@given(crowd=crowds(), seed=st.integers(0, 99))
def test_any_crowd_is_kept_whole_in_clusters_of_k_to_2k_minus_1(
    algorithm: ClusteringAlgorithm, crowd: tuple[Rows, Persons, int], seed: int
) -> None:
    rows, persons, k = crowd
    partition = algorithm.partition(rows, k, seed, persons)
    check(partition, persons, k)
    again = algorithm.partition(rows.copy(), k, seed, persons.copy())
    assert np.array_equal(partition.labels, again.labels)


@every_algorithm
@pytest.mark.parametrize("k", [2, 3, 5])
def test_every_remainder_from_k_to_four_k_is_dealt_out(
    algorithm: ClusteringAlgorithm, k: int
) -> None:
    random = np.random.default_rng(0)
    for n in range(k, 4 * k + 1):
        rows = random.normal(size=(n, 4)).astype(np.float32)
        check(algorithm.partition(rows, k, seed=1), np.arange(n), k)


@every_algorithm
def test_identical_faces_still_make_full_clusters(algorithm: ClusteringAlgorithm) -> None:
    rows = np.ones((17, 3), np.float32)
    check(algorithm.partition(rows, 5, seed=0), np.arange(17), 5)


@every_algorithm
def test_many_pictures_of_few_people_are_refused(algorithm: ClusteringAlgorithm) -> None:
    rows = np.ones((50, 3), np.float32)
    persons = np.arange(50) % 4
    with pytest.raises(TooFewPeople, match="add 1 more people or lower k"):
        algorithm.partition(rows, 5, 0, persons)


STARTED_BY_CHANCE = {"random", "oka", "same-size-k-means", "online"}


@pytest.mark.parametrize(
    "algorithm",
    [one for one in ALGORITHMS if one.name not in STARTED_BY_CHANCE],
    ids=lambda one: one.name,
)
def test_separate_crowds_are_never_mixed(algorithm: ClusteringAlgorithm) -> None:
    """Four tight groups of k, far apart: every rule that looks at all distances finds them."""
    k = 5
    centres = np.array([[0, 0], [100, 0], [0, 100], [100, 100]], np.float32)
    rows = np.repeat(centres, k, axis=0)
    rows += np.random.default_rng(3).normal(size=rows.shape).astype(np.float32)
    order = np.random.default_rng(4).permutation(len(rows))
    labels = algorithm.partition(rows[order], k, seed=0).labels
    for group in range(4):
        assert len(set(labels[order // k == group].tolist())) == 1


@every_algorithm
@pytest.mark.parametrize(
    ("rows", "k", "persons", "message"),
    [
        (np.full((4, 2), np.nan, np.float32), 2, None, "NaN"),
        (np.zeros(4, np.float32), 2, None, "shape"),
        (np.zeros((4, 0), np.float32), 2, None, "shape"),
        (np.zeros((4, 2), np.int64), 2, None, "floats"),
        (np.zeros((4, 2), np.float32), 0, None, "at least 1"),
        (np.zeros((4, 2), np.float32), 2, np.arange(3), "4 integers"),
        (np.zeros((4, 2), np.float32), 2, np.zeros(4), "4 integers"),
    ],
)
def test_unusable_input_is_refused_in_words(
    algorithm: ClusteringAlgorithm, rows: Rows, k: int, persons: Persons | None, message: str
) -> None:
    with pytest.raises(EmbeddingsRejected, match=message):
        algorithm.partition(rows, k, 0, persons)


@every_algorithm
def test_no_rows_at_all_are_too_few_people(algorithm: ClusteringAlgorithm) -> None:
    with pytest.raises(TooFewPeople):
        algorithm.partition(np.zeros((0, 4), np.float32), 2, 0)


@every_algorithm
def test_algorithm_is_found_by_its_name_and_fits_the_protocol(
    algorithm: ClusteringAlgorithm,
) -> None:
    assert algorithm_by_name(algorithm.name) is algorithm
    assert isinstance(algorithm, ClusteringAlgorithm)


def test_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UnknownAlgorithm, match="mdav"):
        algorithm_by_name("dbscan")


@pytest.mark.parametrize("name", ["k-same", "random", "oka", "k-member", "same-size-k-means"])
def test_another_seed_gives_other_clusters(name: str) -> None:
    rows = np.random.default_rng(0).normal(size=(60, 8)).astype(np.float32)
    results = {algorithm_by_name(name).partition(rows, 5, s).labels.tobytes() for s in range(4)}
    assert len(results) > 1
