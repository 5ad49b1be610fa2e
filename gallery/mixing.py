"""Mixing latents into one surrogate, and how many people a mixture really stands for.

Mixing the members themselves (AnonFACES Eq. 1, k-Same) is a method for comparison and for
datasets: the mean of k people resembles every one of them. Mixing donors is the default; see
`gallery.donors`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from engines.types import Latent
from gallery.errors import WeightsRejected
from gallery.secrets import KeyedRandom

__all__ = [
    "Cause",
    "Latents",
    "Mixture",
    "RiskLimits",
    "Weights",
    "effective_people",
    "mix_below_risk",
    "mix_latents",
    "randomised_weights",
    "replace_layers",
]

Latents = NDArray[np.float32]
"""(s, L, 512) float32 w+, one per member."""
Weights = NDArray[np.float64]
"""(s,) float64, ≥ 0, any sum above 0: mixing divides by the sum."""
Cause = Literal["safe", "k_eff", "all_at_risk", "rounds"]

_TOLERANCE = 1e-9


def effective_people(weights: Weights, persons: NDArray[np.integer] | None = None) -> float:
    """How many people a mixture stands for: k_eff = exp H(w), 1…number of people.

    Equal weights of k people give k; a mixture that is nearly one person gives nearly 1.

    Args:
        weights: (s,) ≥ 0, any positive sum.
        persons: (s,) whose latent each one is; the weights of one person's several latents
            count together. None where every latent is another person's.

    Raises:
        WeightsRejected: a weight is negative or not finite, all are zero, or the number of
            persons differs.

    >>> effective_people(np.ones(5)), effective_people(np.ones(4), np.array([0, 0, 1, 1]))
    (5.0, 2.0)
    """
    shares = _shares(weights)
    if persons is not None:
        if persons.shape != shares.shape:
            raise WeightsRejected(f"{len(persons)} persons do not match {len(shares)} weights")
        owner = np.unique(persons, return_inverse=True)[1].reshape(-1)
        shares = np.bincount(owner, weights=shares).astype(np.float64)
    positive = shares[shares > 0]
    return round(float(np.exp(-(positive * np.log(positive)).sum())), 12)


def mix_latents(latents: Latents, weights: Weights) -> Latent:
    """Σ wᵢ·LVᵢ / Σ wᵢ (AnonFACES Eq. 1), (L, 512) float32.

    Scaling all weights changes nothing: they count relative to each other.

    Raises:
        WeightsRejected: unusable weights, or not one per latent.

    >>> float(mix_latents(np.stack([np.zeros((1, 512)), np.ones((1, 512))]).astype(np.float32),
    ...       np.array([1.0, 3.0]))[0, 0])
    0.75
    """
    if latents.ndim != 3 or weights.shape != (len(latents),):
        raise WeightsRejected(
            f"{weights.shape} weights do not match latents of shape {latents.shape}; "
            "give one weight per latent (s, L, 512)"
        )
    return np.tensordot(_shares(weights), latents.astype(np.float64), axes=1).astype(np.float32)


def replace_layers(latent: Latent, base: Latent, layers: range) -> Latent:
    """A latent whose given layers are taken from `latent` and all others from `base`.

    With the generator's identity layers this mixes identity alone and leaves pose, light and
    background to `base`; without it the whole latent is mixed.

    Args:
        latent: (L, 512) float32.
        base: (L, 512) float32.
        layers: layers taken from `latent`, within 0…L−1.

    Raises:
        WeightsRejected: the shapes differ or a layer is outside.

    >>> replace_layers(np.ones((3, 512), np.float32), np.zeros((3, 512), np.float32),
    ...                range(1, 2))[:, 0].tolist()
    [0.0, 1.0, 0.0]
    """
    if latent.shape != base.shape or any(not 0 <= layer < len(base) for layer in layers):
        raise WeightsRejected(f"layers {layers} do not fit latents of {len(base)} layers")
    mixed = base.copy()
    rows = list(layers)
    mixed[rows] = latent[rows]
    return mixed


def randomised_weights(
    random: KeyedRandom, count: int, *, spread: float, k_floor: float
) -> Weights:
    """Keyed random weights that still stand for at least `k_floor` people.

    Each weight is drawn within (1 ± spread)/count; the draw is then pulled towards equal
    weights just far enough that exp H(w) ≥ k_floor. With count = k_floor only equal weights
    qualify, so randomness needs more latents than the floor.

    Args:
        random: keyed stream; the same stream gives the same weights.
        count: number of latents, ≥ 1.
        spread: 0 (equal weights) … below 1; larger differs more from run to run.
        k_floor: fewest effective people, 1…count.

    Returns:
        (count,) float64, positive, sum 1.

    Raises:
        WeightsRejected: a parameter is out of its range.

    >>> weights = randomised_weights(KeyedRandom(b"k" * 32), 8, spread=0.9, k_floor=7.5)
    >>> effective_people(weights) >= 7.5
    True
    """
    if count < 1 or not 0 <= spread < 1 or not 1 <= k_floor <= count:
        raise WeightsRejected(
            f"cannot draw {count} weights for {k_floor} effective people with spread {spread}; "
            "use 1 ≤ k_floor ≤ count and 0 ≤ spread < 1"
        )
    drawn = _shares(1 + spread * (2 * random.uniform(count) - 1))
    equal = np.full(count, 1 / count)
    low, high = 0.0, 1.0  # H is concave, so k_eff only falls on the way from equal to drawn
    if effective_people(drawn) >= k_floor:
        return drawn
    for _ in range(50):
        middle = (low + high) / 2
        is_enough = effective_people(equal + middle * (drawn - equal)) >= k_floor
        low, high = (middle, high) if is_enough else (low, middle)
    return np.asarray(equal + low * (drawn - equal), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class RiskLimits:
    """When a surrogate resembles a member too much, and how far to go against it.

    Attributes:
        threshold: similarity from which a member is at risk; lower protects more and covers
            more often.
        k_floor: fewest effective people; below it the face is covered.
        step: share of its weight that a member at risk loses per round, in (0, 1); larger
            ends sooner and overshoots further.
        max_rounds: bound on rounds, after which the face is covered.
    """

    threshold: float
    k_floor: float
    step: float = 0.25
    max_rounds: int = 20

    def __post_init__(self) -> None:
        if not 0 < self.step < 1 or self.max_rounds < 1 or self.k_floor < 1:
            raise WeightsRejected("use 0 < step < 1, max_rounds ≥ 1 and k_floor ≥ 1")


@dataclass(frozen=True, slots=True)
class Mixture:
    """What the risk assessment decided.

    Attributes:
        latent: (L, 512) float32 to release, or None: cover the face.
        weights: (s,) float64 the last weights, sum 1.
        k_eff: effective people of these weights.
        at_risk: members whom the last surrogate resembled.
        rounds: surrogates judged.
        cause: `safe`; or why it is covered: weights would stand for too few people, every
            member is at risk (weights cannot help), or the rounds ran out.
    """

    latent: Latent | None
    weights: Weights
    k_eff: float
    at_risk: tuple[int, ...]
    rounds: int
    cause: Cause


def mix_below_risk(
    latents: Latents,
    weights: Weights,
    similarities: Callable[[Latent], NDArray[np.floating]],
    limits: RiskLimits,
    persons: NDArray[np.integer] | None = None,
) -> Mixture:
    """Lowers the weight of members whom the surrogate resembles, or says: cover.

    AnonFACES Section 3.4 subtracts β until nobody is at risk. That makes weights negative
    and never ends when all are at risk. Here a weight is scaled down and stays positive,
    the mixture keeps standing for `k_floor` people, and the rounds are bounded. With exactly
    k_floor people any change breaks the floor, so a risk there is a cover.

    Args:
        latents: (s, L, 512) float32.
        weights: (s,) where to start.
        similarities: renders and recognises a latent; (s,) similarity to each member. Use a
            recogniser that neither made the clusters nor judges the result.
        limits: threshold and bounds.
        persons: (s,) whose latent each one is; see `effective_people`.

    Raises:
        WeightsRejected: unusable weights, or similarities of another number or with NaN.

    >>> latents = np.zeros((6, 2, 512), np.float32)
    >>> mix_below_risk(latents, np.ones(6), lambda _: np.zeros(6), RiskLimits(0.35, 5)).cause
    'safe'
    """
    weights = _shares(weights)
    risky: tuple[int, ...] = ()
    for done in range(limits.max_rounds):
        k_eff = effective_people(weights, persons)
        if k_eff < limits.k_floor - _TOLERANCE:
            return Mixture(None, weights, k_eff, risky, done, "k_eff")
        latent = mix_latents(latents, weights)
        is_at_risk = _at_risk(similarities(latent), len(latents), limits.threshold)
        risky = tuple(np.flatnonzero(is_at_risk).tolist())
        if not risky:
            return Mixture(latent, weights, k_eff, (), done + 1, "safe")
        if len(risky) == len(latents):
            return Mixture(None, weights, k_eff, risky, done + 1, "all_at_risk")
        weights = _shares(np.where(is_at_risk, weights * (1 - limits.step), weights))
    k_eff = effective_people(weights, persons)
    return Mixture(None, weights, k_eff, risky, limits.max_rounds, "rounds")


def _shares(weights: Weights) -> Weights:
    """The weights divided by their sum."""
    if weights.ndim != 1 or not np.isfinite(weights).all() or (weights < 0).any():
        raise WeightsRejected("mixing weights must be one row of finite numbers ≥ 0")
    total = float(weights.sum())
    if total <= 0:
        raise WeightsRejected("at least one mixing weight must be above 0")
    return np.asarray(weights / total, dtype=np.float64)


def _at_risk(similarities: NDArray[np.floating], count: int, threshold: float) -> NDArray[np.bool_]:
    if similarities.shape != (count,) or np.isnan(similarities).any():
        raise WeightsRejected(f"the recogniser must give {count} similarities, none of them NaN")
    return np.asarray(similarities >= threshold, dtype=np.bool_)
