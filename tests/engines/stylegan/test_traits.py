"""Traits of heads and eyes take all values, go with the surrogate, and differ between two."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.head_traits import HEAD_TRAITS
from engines.stylegan.eyes import EYE_TRAITS
from engines.stylegan.traits import eyes_from_latents, head_from_latents

pytestmark = pytest.mark.unit

KINDS = pytest.mark.parametrize(
    ("traits_of", "count"), [(head_from_latents, HEAD_TRAITS), (eyes_from_latents, EYE_TRAITS)]
)
TraitsOf = Callable[[NDArray[np.float32]], NDArray[np.float32]]


def people(count: int, layers: int = 12) -> NDArray[np.float32]:
    drawn = np.random.default_rng(0).standard_normal((count, 1, 512)).astype(np.float32)
    return np.repeat(drawn, layers, axis=1)


@KINDS
def test_traits_go_apart_and_lack_nothing(traits_of: TraitsOf, count: int) -> None:
    traits = traits_of(people(4000))
    assert traits.shape == (4000, count)
    for trait in traits.T:
        shares = np.histogram(trait, bins=5, range=(0, 1))[0] / len(trait)
        assert shares.min() > 0.08
        assert np.abs(shares - shares[::-1]).max() < 0.06
    assert np.abs(np.corrcoef(traits.T) - np.eye(count)).max() < 0.06


def test_eyes_are_spread_evenly_and_heads_towards_the_ends() -> None:
    heads, eyes = head_from_latents(people(4000)), eyes_from_latents(people(4000))
    assert abs(float((np.abs(eyes - 0.5) > 0.4).mean()) - 0.2) < 0.04
    assert float((np.abs(heads - 0.5) > 0.4).mean()) > 0.4


@KINDS
def test_a_surrogate_keeps_its_traits(traits_of: TraitsOf, count: int) -> None:
    latents = people(50)
    together = traits_of(latents)
    assert together.shape == (50, count)
    alone = np.concatenate([traits_of(one[None]) for one in latents])
    assert np.abs(together - alone).max() < 1e-3
    shaken = latents + np.float32(1e-5)
    assert np.abs(traits_of(shaken) - together).max() < 1e-2


@KINDS
def test_two_surrogates_differ(traits_of: TraitsOf, count: int) -> None:
    traits = traits_of(people(100))[:, :count]
    apart = np.abs(traits[:, None] - traits[None]).max(axis=-1)
    assert np.median(apart) > 0.4
