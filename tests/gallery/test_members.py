"""Members mixed into one face: how many people it stands for, and what it gives away."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.types import Latent
from gallery.members import MemberRecipe, centroid_cosine, mix_members, released_latents
from gallery.mixing import RiskLimits
from gallery.secrets import KeyedRandom

pytestmark = pytest.mark.unit


def keyed(run: str) -> KeyedRandom:
    return KeyedRandom(b"k" * 32, "cluster", 1, run)


def members(count: int, layers: int = 4) -> NDArray[np.float32]:
    return np.random.default_rng(0).normal(size=(count, layers, 512)).astype(np.float32)


def test_two_runs_never_mix_alike_and_both_stand_for_k() -> None:
    first, second = (mix_members(members(8), keyed(run), MemberRecipe(5)) for run in "ab")
    assert first.k_eff >= 5
    assert second.k_eff >= 5
    assert not np.allclose(first.weights, second.weights)


def test_no_spread_is_the_mean_of_the_papers() -> None:
    latents = members(5)
    mixture = mix_members(latents, keyed("a"), MemberRecipe(5, spread=0))
    assert mixture.latent is not None
    assert np.allclose(mixture.latent, latents.mean(axis=0), atol=1e-6)


def test_fewer_members_than_the_floor_are_covered() -> None:
    mixture = mix_members(members(4), keyed("a"), MemberRecipe(5))
    assert (mixture.latent, mixture.cause) == (None, "k_eff")


def test_one_person_five_times_is_covered() -> None:
    mixture = mix_members(members(5), keyed("a"), MemberRecipe(5), persons=np.zeros(5, np.intp))
    assert (mixture.latent, mixture.cause) == (None, "k_eff")
    assert released_latents(mixture, members(5), MemberRecipe(5)) is None


def test_recipe_raises_the_floor_of_the_risk_limits() -> None:
    def one_at_risk(latent: Latent) -> NDArray[np.float64]:
        return np.array([1.0, 0, 0, 0, 0, 0])

    limits = RiskLimits(threshold=0.5, k_floor=1)
    mixture = mix_members(
        members(6), keyed("a"), MemberRecipe(5.9), similarities=one_at_risk, limits=limits
    )
    assert (mixture.latent, mixture.cause) == (None, "k_eff")


def test_identity_layers_alone_leave_each_member_the_rest() -> None:
    latents, recipe = members(5), MemberRecipe(5, identity_layers=range(1, 3))
    released = released_latents(mix_members(latents, keyed("a"), recipe), latents, recipe)
    assert released is not None
    assert np.array_equal(released[:, [0, 3]], latents[:, [0, 3]])
    assert all(np.array_equal(released[0, 1:3], other[1:3]) for other in released)


def test_full_mixing_gives_every_member_the_same_face() -> None:
    latents, recipe = members(5), MemberRecipe(5)
    released = released_latents(mix_members(latents, keyed("a"), recipe), latents, recipe)
    assert released is not None
    assert all(np.array_equal(released[0], other) for other in released)


@pytest.mark.parametrize("k", [2, 5, 20])
def test_mean_of_k_strangers_resembles_each_as_predicted(k: int) -> None:
    strangers = np.eye(k, 64)
    mean = strangers.mean(axis=0)
    cosine = float(strangers[0] @ mean / np.linalg.norm(mean))
    assert cosine == pytest.approx(centroid_cosine(k, 0.0))
