from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from training.axes import axes
from training.choosing import fewest_pairs, passing_pairs
from training.donors import PULLED, comely, groups_of, pulled
from training.flaws import FLAWED, Seen
from training.likeness import likeness_from

pytestmark = pytest.mark.unit

CODE = 20

Float32 = npt.NDArray[np.float32]


def test_axes_are_orthonormal() -> None:
    found = axes(144)
    assert np.allclose(found.T @ found, np.eye(144), atol=1e-5)


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


def test_people_are_drawn_away_most_where_recognisers_tell_them_apart() -> None:
    codes = np.random.default_rng(2).standard_normal((4000, CODE)).astype(np.float32)
    slope = np.diag(np.linspace(1, 0.01, CODE)).astype(np.float32)
    found = pulled(codes, likeness_from(codes, {"edgeface": codes @ slope}))
    share = found.std(axis=0) / codes.std(axis=0)
    assert share[0] == pytest.approx(PULLED[1], abs=0.03)
    assert share[-1] == pytest.approx(PULLED[0], abs=0.03)
    assert (np.diff(share) < 0.02).all()
    assert np.allclose(found.mean(axis=0), codes.mean(axis=0), atol=0.01)


def test_people_of_one_age_band_and_gender_are_a_group() -> None:
    rows = [
        {"age": age, "gender": gender}
        for age, gender in (("20", "male"), ("70", "male"), ("25", "male"), ("20", "female"))
    ]
    found = groups_of(rows, np.array([0, 1, 2, 3]))
    assert found[0] == found[2]
    assert len(set(found.tolist())) == 3


def test_who_was_looked_at_comes_before_others_and_the_flawed_never() -> None:
    latents = 9 * np.eye(7, dtype=np.float32)
    seen = Seen(latents[:4], np.array([0, FLAWED, 1, 1]))
    scores = np.array([5, -9, 4, 3], np.float32), np.array([-9, 2, 0, 1], np.float32)
    crowd = latents[[1, 4, 5, 6]]

    def found(count: int) -> list[int]:
        return [int(row.argmax()) for row in comely(seen, crowd, scores, count)]

    assert found(1) == [0]
    assert found(2) == [0, 3]
    assert found(4) == [0, 2, 3, 5]
    assert found(9) == [0, 2, 3, 4, 5, 6]
