"""Exchanged parts make people unlike each other, and stay parts of those who lend."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from training import spreading
from training.likeness import Likeness, passing_of
from training.mixtures import mixtures
from training.spreading import spread_out

pytestmark = pytest.mark.unit

CODE, COUNT = 12, 60
HALF = np.arange(CODE) < CODE // 2
PARTS = np.stack([np.diag(HALF), np.diag(~HALF)]).astype(np.float32)
GROUPS = np.arange(80) % 2

Float32 = npt.NDArray[np.float32]


def lenders() -> Float32:
    people = np.random.default_rng(0).standard_normal((80, CODE)).astype(np.float32)
    people[GROUPS == 1, 0] += 50
    return people


def likeness() -> Likeness:
    """All but the first of the codes tell people apart."""
    slope = 0.2 * np.eye(CODE, dtype=np.float32)
    slope[0] = 0
    mean = np.full(CODE, 0.1, np.float32)
    return Likeness(np.zeros(CODE, np.float32), {"edgeface": mean}, {"edgeface": slope})


def moved(codes: Float32) -> Float32:
    return np.asarray(1.1 * codes + 0.05, np.float32)


def expected_to_pass(people: Float32) -> float:
    seen = likeness().expected(people)
    return float(passing_of(seen, seen).mean())


def test_people_spread_out_and_groups_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spreading, "TRIES", 12)
    made = spread_out(lenders(), PARTS, GROUPS, moved, likeness(), COUNT, 1)
    drawn = moved(mixtures(lenders(), PARTS, COUNT, 1, GROUPS))
    assert expected_to_pass(made) < 0.7 * expected_to_pass(drawn)
    assert ((made[:, 0] > 25) == (np.arange(COUNT) % 2 == 1)).all()
    again = spread_out(lenders(), PARTS, GROUPS, moved, likeness(), COUNT, 1)
    assert np.array_equal(made, again)


def test_without_a_choice_people_are_as_they_were_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spreading, "TRIES", 1)
    made = spread_out(lenders(), PARTS, GROUPS, moved, likeness(), COUNT, 2)
    monkeypatch.setattr(spreading, "ROUNDS", 0)
    assert np.allclose(made, spread_out(lenders(), PARTS, GROUPS, moved, likeness(), COUNT, 2))
