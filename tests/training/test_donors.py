from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import numpy as np
import numpy.typing as npt
import pytest

from training import choosing
from training.axes import axes
from training.choosing import Shown, chosen_under_control, fewest_pairs, passing_pairs
from training.mixtures import STRETCH, mixtures

pytestmark = pytest.mark.unit

Float32 = npt.NDArray[np.float32]


def test_axes_are_orthonormal() -> None:
    found = axes(144)
    assert np.allclose(found.T @ found, np.eye(144), atol=1e-5)


def test_mixtures_are_as_spread_as_they_should_be() -> None:
    people = np.random.default_rng(0).standard_normal((500, 40)).astype(np.float32)
    made = mixtures(people, 2000, 1)
    assert made.std() == pytest.approx(STRETCH, rel=0.05)
    assert np.array_equal(made, mixtures(people, 2000, 1))


def _passing(*pairs: tuple[int, int], people: int) -> Float32:
    found = np.zeros((people, people), np.float32)
    for one, other in pairs:
        found[one, other] = found[other, one] = 1.0
    return found


def test_who_passes_for_many_goes_first_and_rare_bins_stay_whole() -> None:
    passing = _passing(*((0, other) for other in range(1, 90)), (1, 2), people=100)
    bins = [{"gender": "female"}] * 90 + [{"gender": "male"}] * 10
    chosen = fewest_pairs(passing, bins, 20)
    assert (chosen >= 90).sum() == 10
    assert passing[np.ix_(chosen, chosen)].sum() == 0


def test_people_are_exchanged_where_going_one_by_one_chose_badly() -> None:
    random = np.random.default_rng(0)
    chance = random.random((60, 60)).astype(np.float32) ** 8
    passing = np.triu(chance, 1) + np.triu(chance, 1).T
    chosen = fewest_pairs(passing, [{}] * 60, 20)
    cost = passing[:, chosen].sum(axis=1)
    others = np.setdiff1d(np.arange(60), chosen)
    gains = cost[chosen][:, None] - cost[others] + passing[np.ix_(chosen, others)]
    assert gains.max() <= 1e-3


def test_who_is_alike_to_one_recogniser_alone_is_alike() -> None:
    other, same = np.eye(3, dtype=np.float32), np.eye(3, dtype=np.float32)[[0, 0, 2]]
    for first, second in ((same, other), (other, same)):
        passing = passing_pairs({"edgeface": first[None], "mobilefacenet": second[None]})
        assert np.allclose(passing, passing.T)
        assert passing[0, 1] > 0.9
        assert passing[0, 2] < 0.01
        assert np.allclose(np.diag(passing), 0.0)


def test_pictures_under_all_controls_are_compared() -> None:
    here, there = np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32)[::-1]
    passing = passing_pairs({"edgeface": np.stack([here, there])})
    assert passing[0, 1] == pytest.approx(0.5, abs=0.01)


def test_without_a_recogniser_nobody_is_chosen() -> None:
    with pytest.raises(ValueError, match="no recogniser"):
        passing_pairs({})


def test_every_round_has_other_controls_and_leaves_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    people = np.eye(10, dtype=np.float32)
    people[1] = people[0]
    seeds: list[int] = []

    def shown(_: object, __: object, latents: Float32, *rest: object) -> Shown:
        seeds.append(int(str(rest[-1])))
        rows = latents[:, 0].astype(int)
        return Shown({"edgeface": people[rows][None]}, (rows == 9).astype(np.float32))

    monkeypatch.setattr(choosing, "shown", shown)
    monkeypatch.setattr(choosing, "ROUNDS", ((9, 0.9), (5, 1.0)))
    folder, latents = Path(), np.arange(10, dtype=np.float32)[:, None]
    left = chosen_under_control(Mock(), Mock(), latents, [{}] * 10, folder, folder, 7)
    assert seeds == [7, 8]
    assert len(left) == 5
    assert 9 not in left
    assert not {0, 1} <= set(left.tolist())
