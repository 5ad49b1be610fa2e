"""Attack A6 on clips: the attacker averages a whole track before he compares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluation.exposure import Exposure
from evaluation.metrics.intervals import Proportion, clustered
from evaluation.recognisers import Recogniser

__all__ = ["TrackLinkage", "link_tracks"]

_LEAST_FRAMES = 5


@dataclass(frozen=True, slots=True)
class TrackLinkage:
    """What templates over whole tracks give away.

    Attributes:
        matched: share of chains whose mean face still matches its original.
        rank_1: share of chains whose own original is the nearest of all chains.
        chance: rank-1 of an attacker who guesses, 1 ÷ chains.
        spread: 1 − mean length of the anonymized templates: 0 when every frame
            of a track shows one identity. The mean over chains of two frames or more.
        original_spread: the same for the originals: the noise floor.
    """

    matched: Proportion
    rank_1: Proportion
    chance: float
    spread: float
    original_spread: float


def link_tracks(exposure: Exposure, judge: Recogniser) -> TrackLinkage:
    """Matches mean templates of chains that were seen in five frames or more."""
    lengths: dict[int, int] = {}
    for seen in exposure.sightings:
        lengths[seen.chain] = lengths.get(seen.chain, 0) + 1
    chains = [chain for chain, frames in sorted(lengths.items()) if frames >= _LEAST_FRAMES]
    if not chains:
        nothing = clustered([], [])
        return TrackLinkage(nothing, nothing, 0.0, 0.0, 0.0)
    sums = np.stack([exposure.templates[chain, judge.name] for chain in chains])
    counts = np.array([lengths[chain] for chain in chains], float)[:, None]
    spread = 1 - np.linalg.norm(sums, axis=2) / counts
    units = sums / np.maximum(np.linalg.norm(sums, axis=2, keepdims=True), 1e-12)
    scores: NDArray[np.float64] = units[:, 1] @ units[:, 0].T
    own = np.diag(scores)
    return TrackLinkage(
        matched=clustered(own > judge.threshold, chains),
        rank_1=clustered(scores.argmax(axis=1) == np.arange(len(chains)), chains),
        chance=1 / len(chains),
        spread=float(spread[:, 1].mean()),
        original_spread=float(spread[:, 0].mean()),
    )
