"""The YuNet layout (Wu et al. 2023): class and objectness per cell, sizes as logarithms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from engines.detectors.detector import Candidates
from engines.detectors.strides import (
    STRIDES,
    Floats,
    Preparation,
    StridedDetector,
    by_stride,
    cells,
)

__all__ = ["YuNet"]

_LARGEST_LOG_SIZE: Final = 8.0


class YuNet(StridedDetector):
    """A detector that the user brings."""

    preparation = Preparation(is_rgb=False)
    max_overlap = 0.35

    def _levels(
        self, outputs: Mapping[str, Floats], size: tuple[int, int], min_score: float
    ) -> list[Candidates]:
        heads = [by_stride(outputs, prefix) for prefix in ("cls", "obj", "bbox", "kps")]
        return [
            _level(cells(*size, stride, 1), stride, *head, min_score=min_score)
            for stride, *head in zip(STRIDES, *heads, strict=True)
        ]


def _level(
    corners: Floats,
    stride: int,
    classes: Floats,
    objects: Floats,
    boxes: Floats,
    points: Floats,
    *,
    min_score: float,
) -> Candidates:
    scores = np.sqrt(np.clip(classes[:, 0], 0, 1) * np.clip(objects[:, 0], 0, 1))
    hit = np.flatnonzero(scores >= min_score)
    corners, boxes = corners[hit], boxes[hit]
    centres = corners + boxes[:, :2] * stride
    half = np.exp(np.minimum(boxes[:, 2:], _LARGEST_LOG_SIZE)) * (stride / 2)
    landmarks = corners[:, None] + points[hit].reshape(-1, 5, 2) * stride
    return Candidates(np.hstack([centres - half, centres + half]), landmarks, scores[hit])
