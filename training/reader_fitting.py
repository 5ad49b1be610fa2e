"""Fits a small network that reads several attributes off one vector: one hidden layer for all.

Plain numpy: Adam (Kingma and Ba 2015) on cross-entropy with balanced classes, and dropout
(Srivastava et al. 2014) on the hidden layer.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from engines.stylegan.attributes import shares_from_scores

__all__ = ["Fitting", "fit_reader"]

_MEMORY: Final = (0.9, 0.98)
"""How much of its means Adam keeps at each step: of gradients, and of their squares."""
_LEAST: Final = 1e-8

Float32 = npt.NDArray[np.float32]
Words = npt.NDArray[np.str_]


@dataclass(frozen=True, slots=True)
class Fitting:
    """How a reader is fitted.

    Attributes:
        units: of the hidden layer.
        steps: of descent.
        batch: rows in a step, drawn at random.
        rate: of the first step; it falls to 0 evenly.
        decay: share of the weights that is taken away at a step, times the rate.
        dropped: share of the hidden layer that is left out at a step.
        seed: of all draws.
    """

    units: int = 64
    steps: int = 1500
    batch: int = 2048
    rate: float = 3e-3
    decay: float = 0.03
    dropped: float = 0.3
    seed: int = 0


class _Adam:
    """Moves arrays down their gradients, in place."""

    def __init__(self, arrays: list[Float32], how: Fitting) -> None:
        self._arrays = arrays
        self._how = how
        self._means = [(np.zeros_like(one), np.zeros_like(one)) for one in arrays]

    def step(self, number: int, gradients: list[Float32]) -> None:
        """Take step `number`, from 1 on."""
        rate = self._how.rate * (1 - number / self._how.steps)
        freed = [1 - kept**number for kept in _MEMORY]
        for array, gradient, means in zip(self._arrays, gradients, self._means, strict=True):
            for mean, kept, new in zip(means, _MEMORY, (gradient, gradient**2), strict=True):
                mean += (1 - kept) * (new - mean)
            first, second = (mean / share for mean, share in zip(means, freed, strict=True))
            array -= rate * (first / (np.sqrt(second) + _LEAST) + self._how.decay * array)


def fit_reader(
    codes: Float32, labels: Mapping[str, Words], how: Fitting = Fitting()
) -> tuple[Float32, dict[str, Float32], dict[str, tuple[str, ...]]]:
    """Fit what `engines.face.embedding_attributes` reads with.

    Args:
        codes: float32[N, D].
        labels: per attribute, str[N]; empty where unknown.
        how: the fit.

    Returns:
        The hidden layer, float32[D + 1, H]; per attribute its weights on that layer,
        float32[H + 1, B], and the names of its B values. The last row of each is the bias.
    """
    random = np.random.default_rng(how.seed)
    values = {name: tuple(np.unique(one[one != ""]).tolist()) for name, one in labels.items()}
    targets = [_targets(labels[name], values[name]) for name in labels]
    ends = np.cumsum([wanted.shape[1] for wanted, _ in targets])
    design = _with_one(codes)
    hidden = _drawn(random, design.shape[1], how.units)
    outer = _drawn(random, how.units + 1, int(ends[-1]))
    descent = _Adam([hidden, outer], how)
    for number in range(1, how.steps + 1):
        rows = random.integers(0, len(design), how.batch)
        raised = np.maximum(design[rows] @ hidden, 0)
        kept = (random.random(raised.shape) >= how.dropped) / np.float32(1 - how.dropped)
        seen = _with_one(raised * kept)
        scores = np.split(seen @ outer, ends[:-1], axis=1)
        errors = [
            (shares_from_scores(score) - wanted[rows]) * counts[rows, None]
            for score, (wanted, counts) in zip(scores, targets, strict=True)
        ]
        error = np.asarray(np.concatenate(errors, axis=1) / how.batch, np.float32)
        inner = np.asarray((error @ outer[:-1].T) * kept * (raised > 0), np.float32)
        descent.step(number, [design[rows].T @ inner, seen.T @ error])
    parts = np.split(outer, ends[:-1], axis=1)
    return hidden, dict(zip(labels, parts, strict=True)), values


def _targets(labels: Words, values: tuple[str, ...]) -> tuple[Float32, Float32]:
    """What is wanted, float32[N, B], and what each row counts, float32[N]: unknown ones nothing."""
    wanted = np.stack([labels == value for value in values], axis=1).astype(np.float32)
    counts = wanted @ (1 / np.maximum(wanted.sum(axis=0), 1))
    return wanted, (counts / counts[counts > 0].mean()).astype(np.float32)


def _drawn(random: np.random.Generator, rows: int, columns: int) -> Float32:
    drawn = random.standard_normal((rows, columns)) / np.sqrt(rows)
    return np.asarray(drawn, np.float32)


def _with_one(codes: Float32) -> Float32:
    return np.concatenate([codes, np.ones((len(codes), 1), np.float32)], axis=1).astype(np.float32)
