"""What a recogniser takes for a match on this footage although nobody is the same.

On faces that are small or out of focus, vectors of strangers, and of no face at all, come
close to each other: a threshold fixed on sharp portraits then matches everything with
everything. The floor is measured on originals alone, never on anonymized pictures: pairs of
different faces of one frame, and each face with a plain grey picture.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evaluation.recognisers import Recogniser

__all__ = ["FLOOR_FMR", "FootageFloor"]

FLOOR_FMR: Final = 0.01
_LEAST_PAIRS: Final = 30
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
        scores, sizes = np.concatenate(self._scores), np.concatenate(self._sizes)
        place = int(np.searchsorted(_EDGES_PX, size_px, side="right")) - 1
        inside = (sizes >= _EDGES_PX[place]) & (sizes < _EDGES_PX[place + 1])
        if inside.sum() < _LEAST_PAIRS:
            return own
        return max(own, float(np.quantile(scores[inside], 1 - FLOOR_FMR)))

    def by_size(self) -> dict[str, float]:
        """The threshold of each size class, for the report."""
        names = ("below 32 px", "32-64 px", "64 px and more")
        return {
            name: self.threshold(edge) for name, edge in zip(names, _EDGES_PX[:-1], strict=True)
        }
