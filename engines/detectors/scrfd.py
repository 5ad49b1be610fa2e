"""The SCRFD layout (Guo et al. 2021): distances from two anchors per cell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from engines.detectors.detector import Candidates
from engines.detectors.strides import STRIDES, Floats, Preparation, StridedDetector, cells
from engines.errors import EngineFault

__all__ = ["Scrfd"]

_ANCHORS: Final = 2


class Scrfd(StridedDetector):
    """A detector that the user brings."""

    preparation = Preparation(is_rgb=True, mean=127.5, deviation=128.0)
    max_overlap = 0.4

    def _levels(
        self, outputs: Mapping[str, Floats], size: tuple[int, int], min_score: float
    ) -> list[Candidates]:
        heads = [_by_size(outputs, values) for values in (1, 4, 10)]
        return [
            _level(cells(*size, stride, _ANCHORS), stride, *head, min_score=min_score)
            for stride, *head in zip(STRIDES, *heads, strict=True)
        ]


def _by_size(outputs: Mapping[str, Floats], values: int) -> list[Floats]:
    """The three outputs with so many values per anchor, finest stride first.

    Exporters name these outputs in many ways; their sizes tell them apart.
    """
    found = [value.reshape(-1, values) for value in outputs.values() if value.shape[-1] == values]
    if len(found) != len(STRIDES):
        raise EngineFault("the network's answer has not the SCRFD layout; the result is discarded")
    return sorted(found, key=len, reverse=True)


def _level(
    corners: Floats,
    stride: int,
    scores: Floats,
    sides: Floats,
    points: Floats,
    *,
    min_score: float,
) -> Candidates:
    hit = np.flatnonzero(scores[:, 0] >= min_score)
    anchors, distances = corners[hit], sides[hit] * stride
    boxes = np.hstack([anchors - distances[:, :2], anchors + distances[:, 2:]])
    landmarks = anchors[:, None] + points[hit].reshape(-1, 5, 2) * stride
    return Candidates(boxes, landmarks, scores[hit, 0])
