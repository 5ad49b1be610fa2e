"""The chance floor, measured: the same statistic with the names shuffled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["ChanceFloor", "chance_floor"]


@dataclass(frozen=True, slots=True)
class ChanceFloor:
    """What the statistic gives when nothing is to be found.

    Attributes:
        mean: over the permutations.
        upper: 97.5 % quantile; a result below it is not above chance.
        p_value: share of permutations at least as large as the observed value, with one
            added to both sides (Phipson & Smyth, 2010), so it is never 0.
        permutations: shuffles done.
    """

    mean: float
    upper: float
    p_value: float
    permutations: int


def chance_floor(
    statistic: Callable[[NDArray[np.int64]], float],
    persons: NDArray[np.int64],
    observed: float,
    *,
    permutations: int = 200,
    seed: int = 0,
) -> ChanceFloor:
    """Shuffles who is who among the probes and measures again.

    Args:
        statistic: takes (P,) persons of the probes.
        persons: (P,) true persons; people stay as often as they are.
        observed: the statistic under the true names.
        permutations: more make the floor sharper and the run longer.
        seed: of the shuffles.

    >>> people = np.arange(50)
    >>> chance_floor(lambda names: float((names == people).mean()), people, 1.0).p_value < 0.01
    True
    """
    random = np.random.default_rng(seed)
    values = np.array([statistic(random.permutation(persons)) for _ in range(permutations)])
    p_value = (1 + int((values >= observed).sum())) / (1 + permutations)
    return ChanceFloor(
        float(values.mean()), float(np.quantile(values, 0.975)), p_value, permutations
    )
