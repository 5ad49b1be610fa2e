"""What a recogniser takes for a match on this footage although nobody is the same.

On faces that are small or out of focus, vectors of strangers, and of no face at all, come
close to each other: a threshold fixed on sharp portraits then matches everything with
everything. The floor is measured on originals alone, never on anonymized pictures: pairs of
different faces of one frame, and each face with a plain grey picture.

What is kept around a cover matches too. Each face is therefore compared with pictures of its own
frame in which strangers lie under covers (`evaluation.surroundings`), and the anonymized place
must match better than these by more than one such picture in a hundred does. That is a comparison
within one frame, since surroundings, light and blur change even while a face is followed; only how
far such pictures scatter is taken from all faces of the size class. It is counted in Fisher's
z = arctanh of the cosine (Biometrika 1915), which scatters as far near 1 as elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evaluation.recognisers import Recogniser

__all__ = ["FLOOR_FMR", "FootageFloor", "excess"]

FLOOR_FMR: Final = 0.01
_LEAST_PAIRS: Final = 30
_LEAST_CONTROLS: Final = 100
"""Of a size class: among fewer, one in a hundred is none."""
_MOST_COSINE: Final = 0.99999
"""Where Fisher's z ends, so that it is finite."""
_EDGES_PX: Final = (0.0, 32.0, 64.0, np.inf)


@dataclass(slots=True)
class FootageFloor:
    """Collects impostor scores of one recogniser, by size of the smaller face.

    Attributes:
        judge: the recogniser.
    """

    judge: Recogniser
    _scores: list[NDArray[np.float32]] = field(default_factory=list)
    _sizes: list[NDArray[np.float64]] = field(default_factory=list)
    _excesses: list[float] = field(default_factory=list)
    _excess_sizes: list[float] = field(default_factory=list)

    def add(self, scores: NDArray[np.float32], sizes_px: NDArray[np.float64]) -> None:
        """Takes (N,) cosines between different people, or a person and nobody."""
        self._scores.append(scores)
        self._sizes.append(sizes_px)

    def threshold(self, size_px: float) -> float:
        """Cosine that one such pair in a hundred of this size exceeds.

        Never below the recogniser's own threshold, which also stands where fewer than 30
        pairs of the size class were seen.
        """
        own = self.judge.threshold
        if not self._scores:
            return own
        inside = _of_class(np.concatenate(self._scores), np.concatenate(self._sizes), size_px)
        if inside.size < _LEAST_PAIRS:
            return own
        return max(own, float(np.quantile(inside, 1 - FLOOR_FMR)))

    def add_surroundings(self, cosines: Sequence[float], size_px: float) -> None:
        """Takes the cosines of one face with its frame, strangers under the covers.

        Each counts by its excess over the others: one alone tells nothing of how they scatter.
        """
        for place, cosine in enumerate(cosines):
            if others := [*cosines[:place], *cosines[place + 1 :]]:
                self._excesses.append(excess(cosine, others))
                self._excess_sizes.append(size_px)

    def surroundings_excess(self, size_px: float) -> float:
        """Excess that one such picture in a hundred of this size reaches at most.

        −∞ where fewer than 100 of the size class were seen: strangers and grey pictures then
        stand alone, which identifies more.
        """
        inside = _of_class(np.array(self._excesses), np.array(self._excess_sizes), size_px)
        if inside.size < _LEAST_CONTROLS:
            return -np.inf
        return float(np.quantile(inside, 1 - FLOOR_FMR, method="higher"))

    def by_size(self) -> dict[str, float]:
        """The threshold of each size class, for the report."""
        names = ("below 32 px", "32-64 px", "64 px and more")
        return {
            name: self.threshold(edge) for name, edge in zip(names, _EDGES_PX[:-1], strict=True)
        }


def excess(cosine: float, others: Sequence[float]) -> float:
    """How much more alike a picture is than others, in Fisher's z.

    >>> round(excess(0.5, [0.5, 0.5]), 6), excess(0.99, [0.9]) > excess(0.59, [0.5])
    (0.0, True)
    """
    return float(_fisher_z(np.array(cosine)) - _fisher_z(np.array(others)).mean())


def _fisher_z(cosines: NDArray[np.floating]) -> NDArray[np.float64]:
    return np.arctanh(np.clip(cosines.astype(np.float64), -_MOST_COSINE, _MOST_COSINE))


def _of_class(
    values: NDArray[np.floating], sizes: NDArray[np.float64], size_px: float
) -> NDArray[np.floating]:
    """The values whose sizes are of the same class as `size_px`."""
    place = int(np.searchsorted(_EDGES_PX, size_px, side="right")) - 1
    return values[(sizes >= _EDGES_PX[place]) & (sizes < _EDGES_PX[place + 1])]
