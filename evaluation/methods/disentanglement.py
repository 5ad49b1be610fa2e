"""How well a swap of latents moves identity and keeps looks: StyleID (2023), Eq. 1–3.

Swaps are tried on pairs of the generator's own synthetic people, so that nobody's data decides
which layers or channels are exchanged. Identity is read by the pack's embedder, which is
distilled from one of the recognisers that may judge; a judge that took no part is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.directions import LatentDirections
from evaluation.methods.generator import PeopleGenerator
from evaluation.methods.looks import looks_of

__all__ = [
    "Swap",
    "SwapScores",
    "code_swap",
    "layer_swap",
    "scaled",
    "score_swaps",
]

Float32 = NDArray[np.float32]
Swap = Callable[[Float32, Float32], Float32]
"""(N, L, 512) latents of sources and of targets to those of the swapped."""

ALPHA: Final = 1.0
BETA: Final = 1.25
"""Weights of identity and looks in Eq. 3, the paper's."""


@dataclass(frozen=True, slots=True)
class SwapScores:
    """What K swaps did to N pairs.

    Attributes:
        identity: (K, N) float64 Euclidean distance of the embedder's vectors (Eq. 1), 0…2.
        looks: (K, N) float64 Euclidean distance of looks (Eq. 2).
        changes: (K, N, M) float64 absolute change of each look.
        strangers: mean identity distance between sources and targets.
    """

    identity: NDArray[np.float64]
    looks: NDArray[np.float64]
    changes: NDArray[np.float64]
    strangers: float

    @property
    def scores(self) -> NDArray[np.float64]:
        """(K,) float64 mean of Eq. 3, both distances scaled to 0…1 over the whole table."""
        each = ALPHA * scaled(self.identity) - BETA * scaled(self.looks)
        return np.asarray(each.mean(axis=1), np.float64)


def scaled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Max–min scaling, h of Eq. 3; equal values become 0.

    >>> scaled(np.array([2.0, 4.0, 3.0])).tolist()
    [0.0, 1.0, 0.5]
    """
    low, high = float(values.min()), float(values.max())
    return (values - low) / (high - low) if high > low else np.zeros_like(values)


def layer_swap(layers: Sequence[int]) -> Swap:
    """Takes whole layers from the target.

    >>> own, other = np.zeros((1, 3, 2), np.float32), np.ones((1, 3, 2), np.float32)
    >>> layer_swap([1])(own, other)[0, :, 0].tolist()
    [0.0, 1.0, 0.0]
    """
    rows = list(layers)

    def swap(own: Float32, other: Float32) -> Float32:
        mixed = own.copy()
        mixed[:, rows] = other[:, rows]
        return mixed

    return swap


def code_swap(directions: LatentDirections, chosen: NDArray[np.bool_]) -> Swap:
    """Takes the (C,) chosen channels from the target, in all layers."""

    def swap(own: Float32, other: Float32) -> Float32:
        codes = np.where(chosen, directions.codes(other), directions.codes(own))
        return directions.moved(own, codes.astype(np.float32))

    return swap


def score_swaps(generator: PeopleGenerator, swaps: Sequence[Swap], pairs: int) -> SwapScores:
    """Tries swaps on pairs of synthetic people, seen from the front.

    Args:
        generator: paints and reads.
        swaps: what to try.
        pairs: of source and target; more are surer and slower.

    Raises:
        EngineFault: a network failed.
    """
    sources, targets = (generator.latents(np.arange(pairs) + place * pairs) for place in (0, 1))
    vectors, looks = _read(generator, sources)
    others, _ = _read(generator, targets)
    identity, changes = [], []
    for swap in swaps:
        made, seen = _read(generator, swap(sources, targets))
        identity.append(np.linalg.norm(made - vectors, axis=1))
        changes.append(np.abs(seen - looks))
    change = np.asarray(np.stack(changes), np.float64)
    return SwapScores(
        np.asarray(np.stack(identity), np.float64),
        np.asarray(np.linalg.norm(change, axis=2), np.float64),
        change,
        float(np.linalg.norm(others - vectors, axis=1).mean()),
    )


def _read(generator: PeopleGenerator, latents: Float32) -> tuple[Float32, Float32]:
    pictures = np.clip(np.rint(generator.neutral(latents)), 0, 255).astype(np.uint8)
    return generator.told_apart(pictures), looks_of(generator, pictures)
