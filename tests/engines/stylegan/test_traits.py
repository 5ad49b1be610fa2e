"""Traits of eyes take all values, go with the surrogate, and differ between two."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.stylegan.eyes import EYE_TRAITS
from engines.stylegan.traits import eyes_from_latents

pytestmark = pytest.mark.unit


def people(count: int, layers: int = 12) -> NDArray[np.float32]:
    drawn = np.random.default_rng(0).standard_normal((count, 1, 512)).astype(np.float32)
    return np.repeat(drawn, layers, axis=1)


def test_traits_go_apart_and_lack_nothing() -> None:
    traits = eyes_from_latents(people(4000))
    assert traits.shape == (4000, EYE_TRAITS)
    for trait in traits.T:
        shares = np.histogram(trait, bins=5, range=(0, 1))[0] / len(trait)
        assert shares.min() > 0.08
        assert np.abs(shares - shares[::-1]).max() < 0.06
    assert np.abs(np.corrcoef(traits.T) - np.eye(EYE_TRAITS)).max() < 0.06
    assert abs(float((np.abs(traits - 0.5) > 0.4).mean()) - 0.2) < 0.04, "evenly"


def test_a_surrogate_keeps_its_traits() -> None:
    latents = people(50)
    together = eyes_from_latents(latents)
    assert together.shape == (50, EYE_TRAITS)
    alone = np.concatenate([eyes_from_latents(one[None]) for one in latents])
    assert np.abs(together - alone).max() < 1e-3
    shaken = latents + np.float32(1e-5)
    assert np.abs(eyes_from_latents(shaken) - together).max() < 1e-2


def test_two_surrogates_differ() -> None:
    traits = eyes_from_latents(people(100))
    apart = np.abs(traits[:, None] - traits[None]).max(axis=-1)
    assert np.median(apart) > 0.4
