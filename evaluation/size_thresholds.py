"""Thresholds of a recogniser by face size, fixed on pairs of original faces of the footage.

A threshold published for sharp portraits has no known false match rate on faces of 20 px. Here
each class of sizes gets the cosine that one pair of different people in a thousand exceeds.
Different people are faces of different clips, and faces of two chains of one clip that were
seen in one frame. Only originals are looked at, never anonymized pictures.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.types import Face
from evaluation.chains import LONGEST_GAP, ChainLinker
from evaluation.clips import Still
from evaluation.exposure import FaceFinder, face_size_px
from evaluation.metrics.verification import threshold_at_fmr
from evaluation.recognisers import Recogniser

__all__ = ["SIZE_CLASSES_PX", "OriginalFaces", "SizeThreshold"]

SIZE_CLASSES_PX: Final = (16.0, 32.0, 48.0, 64.0, 96.0, np.inf)
FMR: Final = 1e-3
_Chain = tuple[int, int]
"""Number of the clip, number of the chain in it."""
_LEAST_SCORE: Final = 0.5
_LEAST_PAIRS: Final = 1000
"""Pairs in which one false match is expected; with fewer the rate cannot be shown."""
_LEAST_CHAINS: Final = 20
_MOST_PER_CHAIN: Final = 20
"""Faces kept of each chain and size class, so that no long track outweighs the others."""


@dataclass(frozen=True, slots=True)
class SizeThreshold:
    """One recogniser's threshold for one class of sizes.

    Attributes:
        least_px: smallest size of the class.
        most_px: first size above it.
        value: cosine above which two faces match; never below the recogniser's own.
        pairs: pairs of different people it was fixed on.
        chains: chains of faces that they come from.
        own_fmr: false match rate of the recogniser's own threshold on those pairs.
        is_calibrated: whether the pairs sufficed; else the value is the recogniser's own.
    """

    least_px: float
    most_px: float
    value: float
    pairs: int
    chains: int
    own_fmr: float
    is_calibrated: bool


@dataclass(slots=True)
class OriginalFaces:
    """Embeddings of the faces of several clips, held in memory alone.

    Attributes:
        finder: detector of the originals.
        judges: recognisers.
        every: frames of a clip between two that are looked at.
    """

    finder: FaceFinder
    judges: Sequence[Recogniser]
    every: int = 5
    _people: list[_Chain] = field(default_factory=list)
    _sizes: list[float] = field(default_factory=list)
    _vectors: dict[str, list[NDArray[np.float32]]] = field(default_factory=dict)
    _together: set[tuple[_Chain, _Chain]] = field(default_factory=set)

    def add_clip(self, clip: int, frames: Iterable[Still]) -> None:
        """Takes the faces of one clip.

        Args:
            clip: a number of its own.
            frames: of the original, in order.

        Raises:
            EngineFault: a network failed.
        """
        linker = ChainLinker(longest_gap=LONGEST_GAP * self.every)
        for index, still in enumerate(frames):
            if index % self.every:
                continue
            found = [face for face in self.finder.find(still.image) if self._counts(face)]
            chains = [(clip, chain) for chain in linker.link(index, found)]
            self._together |= {(a, b) for a in chains for b in chains if a != b}
            taken = [
                place
                for place, chain in enumerate(chains)
                if self._people.count(chain) < _MOST_PER_CHAIN
            ]
            points = [found[place].landmarks_px for place in taken]
            for judge in self.judges:
                if taken:
                    vectors = judge.embed([still.image] * len(taken), points)
                    self._vectors.setdefault(judge.name, []).append(vectors)
            self._people += [chains[place] for place in taken]
            self._sizes += [face_size_px(found[place]) for place in taken]

    def thresholds(self, judge: Recogniser) -> list[SizeThreshold]:
        """The thresholds of one recogniser, by class of sizes."""
        sizes = np.array(self._sizes)
        return [
            self._threshold(judge, np.flatnonzero((sizes >= low) & (sizes < high)), low, high)
            for low, high in pairwise(SIZE_CLASSES_PX)
        ]

    def _counts(self, face: Face) -> bool:
        return face.score >= _LEAST_SCORE and face_size_px(face) >= SIZE_CLASSES_PX[0]

    def _threshold(
        self, judge: Recogniser, chosen: NDArray[np.intp], low: float, high: float
    ) -> SizeThreshold:
        people = [self._people[place] for place in chosen]
        scores = np.zeros(0, np.float32)
        if people:
            vectors = np.concatenate(self._vectors[judge.name])[chosen]
            scores = (vectors @ vectors.T)[np.triu(self._are_strangers(people), 1)]
        own_fmr = float((scores > judge.threshold).mean()) if scores.size else 0.0
        chains = len(set(people))
        is_calibrated = scores.size >= _LEAST_PAIRS and chains >= _LEAST_CHAINS
        value = judge.threshold
        if is_calibrated:
            value = max(value, threshold_at_fmr(scores, FMR).value)
        return SizeThreshold(low, high, value, scores.size, chains, own_fmr, is_calibrated)

    def _are_strangers(self, people: Sequence[_Chain]) -> NDArray[np.bool_]:
        """(N, N): whether two faces are certainly of different people."""
        return np.array(
            [[a[0] != b[0] or (a, b) in self._together for b in people] for a in people], bool
        )
