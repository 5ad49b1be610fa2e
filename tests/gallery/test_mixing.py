"""Weights, mixtures and the loop that lowers risk, which always ends."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from engines.types import Latent
from gallery.errors import WeightsRejected
from gallery.mixing import (
    RiskLimits,
    effective_people,
    mix_below_risk,
    mix_latents,
    randomised_weights,
    replace_layers,
)
from gallery.secrets import KeyedRandom

pytestmark = pytest.mark.unit


def keyed(*context: str | int) -> KeyedRandom:
    return KeyedRandom(b"0123456789abcdef0123456789abcdef", *context)


def members(count: int) -> NDArray[np.float32]:
    """Each member's latent is 1 in its own column: a mixture shows its weights."""
    return np.eye(count, 512, dtype=np.float32)[:, None, :]


def shares_as_similarity(latent: Latent) -> NDArray[np.float64]:
    """A member is as similar as its share in the mixture."""
    return latent[0, :8].astype(np.float64)


def test_scaling_all_weights_changes_nothing() -> None:
    one = mix_latents(members(4), np.full(4, 0.25))
    other = mix_latents(members(4), np.full(4, 1.9))
    assert np.array_equal(one, other)


def test_mixture_follows_the_weights() -> None:
    mixed = mix_latents(members(3), np.array([1.0, 1.0, 2.0]))
    assert mixed.dtype == np.float32
    assert mixed[0, :3].tolist() == [0.25, 0.25, 0.5]


@pytest.mark.parametrize(
    "weights",
    [
        np.array([1.0, -0.1, 1.0]),
        np.zeros(3),
        np.array([1.0, np.nan, 1.0]),
        np.ones(2),
        np.ones((3, 1)),
    ],
)
def test_unusable_weights_are_refused(weights: NDArray[np.float64]) -> None:
    with pytest.raises(WeightsRejected):
        mix_latents(members(3), weights)


def test_effective_people_fall_from_k_to_one() -> None:
    assert effective_people(np.ones(7)) == 7.0
    assert effective_people(np.array([1.0, 0.0, 0.0])) == 1.0
    assert 1.0 < effective_people(np.array([0.9, 0.05, 0.05])) < 2.0


def test_two_tracks_of_one_person_count_once() -> None:
    assert effective_people(np.ones(6), np.array([4, 4, 4, 1, 1, 1])) == 2.0


def test_identity_layers_alone_can_be_mixed() -> None:
    base = np.zeros((6, 512), np.float32)
    mixed = replace_layers(np.ones((6, 512), np.float32), base, range(2, 4))
    assert mixed[:, 0].tolist() == [0, 0, 1, 1, 0, 0]
    assert not base.any()


@pytest.mark.parametrize("layers", [range(5, 7), range(-1, 2)])
def test_layers_outside_the_latent_are_refused(layers: range) -> None:
    with pytest.raises(WeightsRejected):
        replace_layers(np.ones((6, 512), np.float32), np.zeros((6, 512), np.float32), layers)


@settings(max_examples=150)
@given(
    count=st.integers(1, 12),
    fraction=st.floats(0, 1),
    spread=st.floats(0, 0.999),
    context=st.integers(0, 10**6),
)
def test_random_weights_always_stand_for_the_floor(
    count: int, fraction: float, spread: float, context: int
) -> None:
    k_floor = 1 + fraction * (count - 1)
    weights = randomised_weights(keyed(context), count, spread=spread, k_floor=k_floor)
    assert weights.shape == (count,)
    assert (weights > 0).all()
    assert weights.sum() == pytest.approx(1)
    assert effective_people(weights) >= k_floor - 1e-9


def test_random_weights_repeat_with_the_key_and_differ_without() -> None:
    first, again, other = (
        randomised_weights(keyed(name), 8, spread=0.5, k_floor=5) for name in ("a", "a", "b")
    )
    assert np.array_equal(first, again)
    assert not np.allclose(first, other)


def test_exactly_k_latents_leave_no_room_for_randomness() -> None:
    weights = randomised_weights(keyed("a"), 5, spread=0.9, k_floor=5)
    assert np.allclose(weights, 0.2, atol=1e-5)


def test_floor_above_the_number_of_latents_is_refused() -> None:
    with pytest.raises(WeightsRejected, match="k_floor"):
        randomised_weights(keyed("a"), 4, spread=0.1, k_floor=5)


def test_member_at_risk_loses_weight_until_safe() -> None:
    start = np.array([2.0, 1, 1, 1, 1, 1, 1, 1])
    result = mix_below_risk(
        members(8), start, shares_as_similarity, RiskLimits(threshold=0.2, k_floor=5)
    )
    assert result.cause == "safe"
    assert result.latent is not None
    assert result.weights[0] < 0.2
    assert result.k_eff >= 5
    assert result.rounds == 2


def test_everybody_at_risk_is_covered_at_once() -> None:
    result = mix_below_risk(
        members(8), np.ones(8), lambda latent: np.ones(8), RiskLimits(0.5, k_floor=2)
    )
    assert (result.latent, result.cause, result.rounds) == (None, "all_at_risk", 1)


def test_stubborn_member_ends_in_a_cover_when_too_few_people_remain() -> None:
    always_two = np.array([1.0, 1, 0, 0, 0, 0, 0, 0])
    result = mix_below_risk(
        members(8), np.ones(8), lambda latent: always_two, RiskLimits(0.5, k_floor=7)
    )
    assert result.latent is None
    assert result.cause == "k_eff"
    assert result.at_risk == (0, 1)


def test_stubborn_member_ends_in_a_cover_when_rounds_run_out() -> None:
    result = mix_below_risk(
        members(8),
        np.ones(8),
        lambda latent: np.eye(8)[0],
        RiskLimits(0.5, k_floor=2, max_rounds=6),
    )
    assert (result.latent, result.cause, result.rounds) == (None, "rounds", 6)


def test_exactly_k_members_at_any_risk_are_covered() -> None:
    result = mix_below_risk(
        members(5), np.ones(5), lambda latent: np.eye(5)[2], RiskLimits(0.5, k_floor=5)
    )
    assert (result.latent, result.cause) == (None, "k_eff")


def test_start_below_the_floor_is_never_rendered() -> None:
    def unwanted(latent: Latent) -> NDArray[np.float64]:
        raise AssertionError("rendered a mixture that stands for too few people")

    result = mix_below_risk(members(3), np.array([9.0, 1, 1]), unwanted, RiskLimits(0.5, 3))
    assert (result.latent, result.cause, result.rounds) == (None, "k_eff", 0)


def test_several_latents_of_one_person_do_not_reach_the_floor() -> None:
    persons = np.array([0, 0, 0, 1, 2])
    result = mix_below_risk(
        members(5), np.ones(5), lambda latent: np.zeros(5), RiskLimits(0.5, 5), persons
    )
    assert (result.latent, result.cause) == (None, "k_eff")


@pytest.mark.parametrize("answer", [np.zeros(4), np.full(5, np.nan)])
def test_recogniser_that_fails_releases_nothing(answer: NDArray[np.float64]) -> None:
    with pytest.raises(WeightsRejected, match="similarities"):
        mix_below_risk(members(5), np.ones(5), lambda latent: answer, RiskLimits(0.5, 2))


@settings(max_examples=100)
@given(
    count=st.integers(1, 9),
    threshold=st.floats(0, 1),
    floor=st.floats(1, 9),
    step=st.floats(0.01, 0.99),
    seed=st.integers(0, 999),
)
def test_loop_ends_and_releases_only_what_is_safe_and_stands_for_k(
    count: int, threshold: float, floor: float, step: float, seed: int
) -> None:
    random = np.random.default_rng(seed)
    judged: list[NDArray[np.float64]] = []

    def moody(latent: Latent) -> NDArray[np.float64]:
        judged.append(random.uniform(size=count))
        return judged[-1]

    result = mix_below_risk(
        members(count), random.uniform(0.1, 1, count), moody, RiskLimits(threshold, floor, step, 9)
    )
    assert len(judged) == result.rounds <= 9
    assert (result.latent is not None) == (result.cause == "safe")
    if result.latent is not None:
        assert result.k_eff >= floor - 1e-9
        assert (judged[-1] < threshold).all()


@pytest.mark.parametrize(
    ("step", "rounds", "floor"), [(0, 1, 1), (1, 1, 1), (0.5, 0, 1), (0.5, 1, 0)]
)
def test_limits_that_could_loop_or_mean_nothing_are_refused(
    step: float, rounds: int, floor: float
) -> None:
    with pytest.raises(WeightsRejected):
        RiskLimits(0.5, floor, step, rounds)
