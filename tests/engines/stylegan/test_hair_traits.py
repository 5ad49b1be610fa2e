"""Traits of hair are spread evenly, go with the surrogate, and differ between surrogates."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.hair_cap import HAIR_TRAITS
from engines.stylegan.hair_traits import traits_of_latents

pytestmark = pytest.mark.unit


def people(count: int, layers: int = 12) -> NDArray[np.float32]:
    drawn = np.random.default_rng(0).standard_normal((count, 1, 512)).astype(np.float32)
    return np.repeat(drawn, layers, axis=1)


def test_traits_are_spread_evenly_and_apart() -> None:
    traits = traits_of_latents(people(4000))
    assert traits.shape == (4000, HAIR_TRAITS)
    for trait in traits.T:
        shares = np.histogram(trait, bins=5, range=(0, 1))[0] / len(trait)
        assert np.abs(shares - 0.2).max() < 0.04
    assert np.abs(np.corrcoef(traits.T) - np.eye(HAIR_TRAITS)).max() < 0.06


def test_a_surrogate_keeps_its_hair() -> None:
    latents = people(50)
    together = traits_of_latents(latents)
    alone = np.concatenate([traits_of_latents(one[None]) for one in latents])
    assert np.abs(together - alone).max() < 1e-3
    shaken = latents + np.float32(1e-5)
    assert np.abs(traits_of_latents(shaken) - together).max() < 1e-2


def test_two_surrogates_differ() -> None:
    traits = traits_of_latents(people(100))
    apart = np.abs(traits[:, None] - traits[None]).max(axis=-1)
    assert np.median(apart) > 0.4
