"""Links one clip's detections into chains, so that intervals count people and not frames.

This is the evaluator's own association, independent of the tracker it judges: boxes that
overlap between nearby frames are one chain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.detectors.detector import overlaps_of
from engines.types import Face

__all__ = ["LONGEST_GAP", "ChainLinker", "overlap"]

LONGEST_GAP: Final = 5
"""Looks in a row without a detection that a chain survives."""


def overlap(first: NDArray[np.float32], second: NDArray[np.float32]) -> float:
    """Intersection over union of two xyxy boxes, 0…1.

    >>> box = np.array([0, 0, 2, 2], np.float32)
    >>> round(overlap(box, box + np.float32(1)), 3)
    0.143
    """
    return float(overlaps_of(first[None], second[None])[0, 0])


@dataclass(slots=True)
class ChainLinker:
    """Gives each face of a frame the number of its chain.

    Attributes:
        least_overlap: intersection over union that links two boxes; larger breaks chains
            more often, smaller joins neighbours.
        longest_gap: frames without a detection that a chain survives; where not every frame
            is looked at, `LONGEST_GAP` times the step, or each look is a chain of its own.
    """

    least_overlap: float = 0.3
    longest_gap: int = LONGEST_GAP
    _last: dict[int, tuple[int, NDArray[np.float32]]] = field(default_factory=dict)
    _count: int = 0

    def link(self, index: int, faces: Sequence[Face]) -> list[int]:
        """Chain numbers of `faces` in frame `index`, from 1; frames come in order."""
        self._last = {
            chain: seen
            for chain, seen in self._last.items()
            if index - seen[0] <= self.longest_gap + 1
        }
        pairs = sorted(
            (
                (overlap(box, face.box_px), chain, place)
                for chain, (_, box) in self._last.items()
                for place, face in enumerate(faces)
            ),
            key=lambda pair: -pair[0],
        )
        chains: dict[int, int] = {}
        for score, chain, place in pairs:
            if score >= self.least_overlap and place not in chains and chain not in chains.values():
                chains[place] = chain
        for place, face in enumerate(faces):
            if place not in chains:
                self._count += 1
                chains[place] = self._count
            self._last[chains[place]] = (index, face.box_px)
        return [chains[place] for place in range(len(faces))]
