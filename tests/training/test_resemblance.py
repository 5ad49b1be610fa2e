"""Look-alikes are found by the worse of two recognisers, and are not dealt together."""

import numpy as np
import pytest
from numpy.typing import NDArray

from training.resemblance import (
    FIRST,
    alike_pairs,
    among,
    first_dealt,
    least_resembling,
    reduced,
    worth,
)

pytestmark = pytest.mark.unit


def unit(count: int, seed: int, size: int = 64) -> NDArray[np.float32]:
    rows = np.random.default_rng(seed).standard_normal((count, size)).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def twins(count: int, seed: int) -> NDArray[np.float32]:
    """Row n and row n + count // 2 are one person."""
    return np.concatenate([unit(count // 2, seed)] * 2)


def test_the_recogniser_to_which_two_are_more_alike_counts() -> None:
    seen = {"mobilefacenet": unit(300, 0), "edgeface": twins(300, 1)}
    pairs = alike_pairs(seen, 150 / (300 * 299 / 2))
    assert sorted(pairs.tolist()) == [[row, row + 150] for row in range(150)]


def test_twins_are_not_dealt_together_while_there_are_others() -> None:
    count = 2 * FIRST
    pairs = np.array([[row, row + FIRST] for row in range(FIRST)], np.int32)
    first = first_dealt(count, pairs, np.random.default_rng(0))
    assert len({row % FIRST for row in first.tolist()}) == FIRST


def test_its_worth_is_told_beside_what_all_donors_have() -> None:
    count = 2 * FIRST
    seen = {"mobilefacenet": twins(count, 0), "edgeface": twins(count, 0)}
    facts = worth(seen, alike_pairs(seen, FIRST / (count * (count - 1) / 2)), 0)
    assert facts["pairs_under_control_edgeface"] > facts["pairs_dealt_first_edgeface"]
    assert facts.keys() == {
        f"pairs_{what}_{who}"
        for what in ("under_control", "dealt_first")
        for who in ("mobilefacenet", "edgeface")
    }


def test_who_resembles_most_others_goes_first_and_bins_stay_balanced() -> None:
    random = np.random.default_rng(0)
    bins = np.repeat([0, 1], 30)
    hub = np.array([[3, other] for other in range(4, 24)], np.int32)
    pairs = np.concatenate([hub, random.integers(30, 60, (12, 2)).astype(np.int32)])
    rows = least_resembling(pairs, bins, 40)
    assert np.bincount(bins[rows]).tolist() == [20, 20]
    assert 3 not in rows
    left = among(pairs, rows)
    assert sorted(rows[left].tolist()) == sorted(
        pair for pair in pairs.tolist() if set(pair) <= set(rows.tolist())
    )


def test_a_pack_keeps_what_is_left_in_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training.resemblance.KEPT", 4)
    arrays = {
        "format": np.array("kveil donors 1"),
        "latents": np.arange(6, dtype=np.float16).reshape(6, 1, 1),
        "mean": np.zeros((1, 1), np.float32),
        "attribute.age": np.array([0, 0, 0, 1, 1, 1], np.int16),
        "values.age": np.array(["young", "old"]),
    }
    kept, rows = reduced(arrays, np.array([[0, 1], [0, 2], [3, 4], [3, 5]], np.int32))
    assert rows.tolist() == [1, 2, 4, 5]
    assert kept["latents"].ravel().tolist() == [1, 2, 4, 5]
    assert kept["attribute.age"].tolist() == [0, 0, 1, 1]
    assert kept["values.age"].tolist() == ["young", "old"]
    assert kept["alike"].shape == (0, 2)
