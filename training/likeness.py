"""What a recogniser will see of a person, told from the latent alone.

A linear map from latents to embeddings, fitted to people who were painted and looked at, explains
about half of what tells people apart. That is little for a verdict and much for a search: among
many people who were never painted, it finds those who will pass for others rarely, and it tells
along which directions of the latent people differ to recognisers, and along which only to the eye.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from training.measure import RECOGNISERS

RIDGE: Final = 300.0
"""Added to the squares of the latents; more is surer and tells less."""
SOFTNESS: Final = 0.05
"""Cosine by which an expected likeness is off."""

_NEVER: Final = np.float32(50)
"""Steps of SOFTNESS beyond which nobody passes."""

Float32 = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Likeness:
    """How embeddings follow from latents.

    Attributes:
        centre: float32[C], mean latent.
        mean: of each recogniser float32[D], mean embedding.
        slope: of each recogniser float32[C, D].
    """

    centre: Float32
    mean: dict[str, Float32]
    slope: dict[str, Float32]

    def expected(self, latents: Float32) -> dict[str, Float32]:
        """Embeddings to expect of latents float32[N, C]; shorter than 1, as far as unsure."""
        away = latents - self.centre
        return {
            name: np.asarray(self.mean[name] + away @ slope, np.float32)
            for name, slope in self.slope.items()
        }

    def directions(self) -> tuple[Float32, Float32]:
        """Orthonormal columns float32[C, C], and how much people differ along each to recognisers.

        The second is float32[C], the largest first.
        """
        slopes = np.concatenate(list(self.slope.values()), axis=1)
        columns, strength, _ = np.linalg.svd(slopes, full_matrices=True)
        missing = columns.shape[1] - len(strength)
        return (
            np.asarray(columns, np.float32),
            np.asarray(np.pad(strength, (0, missing)), np.float32),
        )


def passing_of(own: Mapping[str, Float32], others: Mapping[str, Float32]) -> Float32:
    """How often people are expected to pass for others, summed over recognisers, float32[N].

    Args:
        own: of each recogniser float32[N, D], embeddings to expect.
        others: of each recogniser float32[M, D].
    """
    total = np.zeros(len(next(iter(own.values()))), np.float32)
    for name, each in own.items():
        short = RECOGNISERS[name].threshold - each @ others[name].T
        steps = np.minimum(short / np.float32(SOFTNESS), _NEVER)
        total += (1 / (1 + np.exp(steps))).mean(axis=1)
    return total


def likeness_from(latents: Float32, seen: Mapping[str, Float32]) -> Likeness:
    """Fit the map by ridge regression.

    Args:
        latents: float32[N, C] of people who were looked at.
        seen: of each recogniser float32[N, D], the mean of a person's unit embeddings.

    >>> latents = np.eye(3, dtype=np.float32) * 1000
    >>> likeness = likeness_from(latents, {"edgeface": np.eye(3, dtype=np.float32)})
    >>> np.round(likeness.expected(latents)["edgeface"][0], 1).tolist()
    [1.0, 0.0, 0.0]
    """
    centre = latents.mean(axis=0)
    away = latents - centre
    square = away.T @ away + np.float32(RIDGE) * np.eye(away.shape[1], dtype=np.float32)
    mean = {name: each.mean(axis=0) for name, each in seen.items()}
    slope = {
        name: np.asarray(np.linalg.solve(square, away.T @ (each - mean[name])), np.float32)
        for name, each in seen.items()
    }
    return Likeness(centre, mean, slope)
