"""Who is known, who is in doubt, who is new; and the mean over the sharpest frames."""

from __future__ import annotations

import math

import numpy as np
import pytest

from engines.types import Embedding
from gallery.errors import EmbeddingsRejected
from gallery.people import PeopleIndex, SharpestMean, Sighting, unit_embedding
from gallery.settings import Thresholds

pytestmark = pytest.mark.unit

THRESHOLDS = Thresholds(match=0.8, doubt=0.5)


def at(axis: int, cosine: float = 1.0, other: int = 15) -> Embedding:
    """A unit vector at this cosine from an axis of 16, turned towards another one."""
    values = np.zeros(16, np.float32)
    values[axis] = cosine
    values[other] = math.sqrt(1 - cosine**2)
    return values


def index_of(*embeddings: Embedding) -> PeopleIndex:
    index = PeopleIndex(THRESHOLDS)
    index.add(list(range(1, len(embeddings) + 1)), np.stack(embeddings))
    return index


def alone(record: int) -> tuple[int, int]:
    return record, record


def test_empty_index_knows_nobody() -> None:
    assert PeopleIndex(THRESHOLDS).sight(at(0), alone) == Sighting(None, ())


@pytest.mark.parametrize(
    ("cosine", "expected"),
    [
        (0.99, Sighting(1, ())),
        (0.82, Sighting(1, ())),
        (0.78, Sighting(None, (1,))),
        (0.52, Sighting(None, (1,))),
        (0.48, Sighting(None, ())),
    ],
)
def test_cosine_decides_between_known_doubt_and_new(cosine: float, expected: Sighting) -> None:
    assert index_of(at(0), at(1)).sight(at(0, cosine), alone) == expected


@pytest.mark.parametrize("others", [0, 14, 15, 40])
def test_newcomer_is_known_at_once_whether_indexed_yet_or_not(others: int) -> None:
    dice = np.random.default_rng(1)
    index = PeopleIndex(THRESHOLDS)
    for record in range(100, 100 + others):
        index.add([record], unit_embedding(dice.standard_normal(16))[None])
    index.add([1], at(0)[None])
    assert index.sight(at(0), alone).known == 1
    assert len(index) == others + 1


@pytest.mark.parametrize("others", [0, 4000])
def test_doubt_is_decided_by_exact_cosines_in_any_crowd(others: int) -> None:
    dice = np.random.default_rng(3)
    crowd = dice.standard_normal((others + 400, 256)).astype(np.float32)
    crowd /= np.linalg.norm(crowd, axis=1, keepdims=True)
    index = PeopleIndex(THRESHOLDS, search_effort=512)
    for start in range(0, len(crowd), 50):  # as they arrive: a graph built by threads varies
        index.add(range(start, start + 50), crowd[start : start + 50])
    wrong = 0
    for n in range(400):
        sideways = unit_embedding(dice.standard_normal(256))
        sideways = unit_embedding(sideways - (sideways @ crowd[n]) * crowd[n])
        for cosine in (0.5, 0.499):
            edge = unit_embedding(cosine * crowd[n] + math.sqrt(1 - cosine**2) * sideways)
            wrong += (n in index.sight(edge, alone).resembles) != (cosine == 0.5)
    # Beyond 2,048 people the graph proposes who is compared, and may miss one.
    assert wrong <= (0 if len(crowd) <= 2048 else 4)


def test_best_of_several_matches_wins() -> None:
    index = index_of(at(0, 0.9), at(0, 0.99), at(0, 0.95))
    assert index.sight(at(0), alone).known == 2


def test_person_in_view_elsewhere_is_not_it_but_resembled() -> None:
    assert index_of(at(0)).sight(at(0), alone, excluded={1}) == Sighting(None, (1,))


def test_twin_of_a_person_in_view_is_the_other_twin_where_that_is_likest() -> None:
    index = index_of(at(0), at(0, 0.95))
    assert index.sight(at(0, 0.95), alone, excluded={1}).known == 2


def test_somebody_likest_to_a_person_in_view_is_no_weaker_match_but_in_doubt() -> None:
    index = index_of(at(0), at(0, 0.95), at(1))
    assert index.sight(at(0), alone, excluded={1}) == Sighting(None, (1, 2))


def test_other_record_of_the_person_in_view_is_known() -> None:
    index = index_of(at(0), at(0, 0.95))
    assert index.sight(at(0), lambda record: (record, 1), excluded={1}).known == 2


def test_doubt_about_several_people_names_each_once() -> None:
    both = unit_embedding(at(0) + at(1))
    index = index_of(at(0), at(1), at(0, 0.99, other=14))

    def person_of(record: int) -> tuple[int, int]:
        return record, 1 if record == 3 else record

    assert set(index.sight(both, person_of).resembles) in ({1, 2}, {3, 2})


def test_match_of_a_merged_record_names_the_one_that_stands_for_it() -> None:
    assert index_of(at(0), at(1)).sight(at(0), lambda _: (2, 2)).known == 2


def test_other_dimension_is_refused() -> None:
    index = index_of(at(0))
    with pytest.raises(EmbeddingsRejected, match="recogniser"):
        index.sight(np.ones(8, np.float32), alone)
    with pytest.raises(EmbeddingsRejected, match="recogniser"):
        index.add([9], np.ones((1, 8), np.float32))
    assert len(index) == 1


def test_nearly_everybody_of_a_large_crowd_is_found_again() -> None:
    dice = np.random.default_rng(0)
    crowd = dice.standard_normal((3000, 64)).astype(np.float32)
    crowd /= np.linalg.norm(crowd, axis=1, keepdims=True)
    index = PeopleIndex(THRESHOLDS)
    for start in range(0, 3000, 50):  # few at a time: one thread, one order, one graph
        index.add(range(start, start + 50), crowd[start : start + 50])
    hits = sum(index.sight(crowd[n], alone).known == n for n in range(0, 3000, 10))
    assert hits >= 298
    assert len(index) == 3000
    assert index.memory_bytes > 3000 * 64


@pytest.mark.parametrize(
    "values",
    [np.zeros(4), np.array([1.0, np.nan]), np.array([np.inf, 1.0]), np.ones((2, 2)), np.ones(1)],
    ids=["zero", "nan", "inf", "matrix", "single"],
)
def test_useless_embedding_is_refused(values: np.ndarray) -> None:
    with pytest.raises(EmbeddingsRejected):
        unit_embedding(values)


def test_mean_is_over_the_sharpest_frames_only() -> None:
    mean = SharpestMean(limit=2)
    for axis, sharpness in [(0, 5.0), (1, 1.0), (2, 4.0), (3, float("nan"))]:
        mean.add(at(axis), sharpness)
    expected = (at(0) + at(2)) / math.sqrt(2)
    assert np.allclose(mean.embedding(), expected, atol=1e-6)
    assert len(mean) == 2


def test_mean_weighs_frames_alike_whatever_their_length() -> None:
    mean = SharpestMean()
    mean.add(100 * at(0), 1.0)
    mean.add(at(1), 1.0)
    assert np.allclose(mean.embedding(), (at(0) + at(1)) / math.sqrt(2), atol=1e-6)


def test_mean_of_nothing_and_of_opposites_is_refused() -> None:
    mean = SharpestMean()
    with pytest.raises(EmbeddingsRejected, match="no frame"):
        mean.embedding()
    mean.add(at(0), 1.0)
    mean.add(-at(0), 1.0)
    with pytest.raises(EmbeddingsRejected):
        mean.embedding()


def test_mean_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="limit"):
        SharpestMean(limit=0)
