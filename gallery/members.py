"""Surrogates mixed from the members of a cluster themselves (AnonFACES Section 3.4, k-Same).

For comparison and for datasets, never the default: the mean of k people resembles each of
them (its cosine to a member is √((1 + (k−1)ρ)/k) where members lie ρ apart), so whoever holds
a member's picture learns that this person is in the cluster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engines.types import Latent
from gallery.mixing import (
    Latents,
    Mixture,
    RiskLimits,
    mix_below_risk,
    randomised_weights,
    replace_layers,
)
from gallery.secrets import KeyedRandom

__all__ = ["MemberRecipe", "centroid_cosine", "mix_members", "released_latents"]


@dataclass(frozen=True, slots=True)
class MemberRecipe:
    """How members are mixed.

    Attributes:
        k_floor: fewest effective people; a mixture below it is covered. Equal to the number
            of people in the cluster it forces equal weights and covers at any risk.
        spread: how unequal the weights may be drawn, 0…<1; 0 makes a cluster's surrogate the
            same in every run, which lets an attacker repeat it (parrot attack).
        identity_layers: layers that are mixed; all others stay each member's own. None mixes
            the whole latent.
    """

    k_floor: float
    spread: float = 0.5
    identity_layers: range | None = None


def mix_members(
    latents: Latents,
    random: KeyedRandom,
    recipe: MemberRecipe,
    *,
    persons: NDArray[np.integer] | None = None,
    similarities: Callable[[Latent], NDArray[np.floating]] | None = None,
    limits: RiskLimits | None = None,
) -> Mixture:
    """Mixes one cluster with keyed random weights; lowers the risk where a recogniser is given.

    Args:
        latents: (s, L, 512) float32 of the cluster's members.
        random: keyed stream of this cluster and this run.
        recipe: how to mix.
        persons: (s,) whose latent each one is; see `effective_people`.
        similarities: renders and recognises a latent; (s,) similarity to each member.
        limits: thresholds of the risk assessment; needed with `similarities`. Its floor is
            raised to the recipe's.

    Returns:
        A mixture whose latent is None where the faces must be covered.

    Raises:
        WeightsRejected: the recipe or the limits cannot be met by so many latents.

    >>> members = np.random.default_rng(0).normal(size=(6, 2, 512)).astype(np.float32)
    >>> mix_members(members, KeyedRandom(b"k" * 32, "c1"), MemberRecipe(k_floor=5)).cause
    'safe'
    """
    weights = randomised_weights(
        random, len(latents), spread=recipe.spread, k_floor=min(recipe.k_floor, len(latents))
    )
    if similarities is None or limits is None:
        similarities = _unwatched(len(latents))
        limits = RiskLimits(threshold=1.0, k_floor=recipe.k_floor)
    floor = max(limits.k_floor, recipe.k_floor)
    bounded = RiskLimits(limits.threshold, floor, limits.step, limits.max_rounds)
    return mix_below_risk(latents, weights, similarities, bounded, persons)


def released_latents(mixture: Mixture, latents: Latents, recipe: MemberRecipe) -> Latents | None:
    """(s, L, 512) float32 what stands for each member; None where they must be covered.

    With identity layers each member keeps the other layers; without, all get the same face.
    """
    if mixture.latent is None:
        return None
    layers = recipe.identity_layers or range(len(mixture.latent))
    return np.stack([replace_layers(mixture.latent, own, layers) for own in latents])


def centroid_cosine(k: int, rho: float) -> float:
    """Cosine of the mean of k unit vectors to each of them, where all pairs have cosine ρ.

    √((1 + (k−1)ρ)/k): what member disclosure costs even with equal weights.

    >>> round(centroid_cosine(5, 0.0), 3)
    0.447
    """
    return float(np.sqrt((1 + (k - 1) * rho) / k))


def _unwatched(count: int) -> Callable[[Latent], NDArray[np.floating]]:
    def nobody(latent: Latent) -> NDArray[np.floating]:
        del latent
        return np.full(count, -1.0)

    return nobody
