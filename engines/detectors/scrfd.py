"""The SCRFD layout (Guo et al. 2021): distances from two anchors per cell."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np

from engines.backends.backend import Backend, Precision
from engines.backends.networks import model_bytes
from engines.detectors.detector import Candidates, faces_from_candidates
from engines.detectors.image_network import network_from_images
from engines.detectors.strides import STRIDES, Floats, StridedNetwork, cells, joined
from engines.errors import EngineFault
from engines.pictures import BgrImage
from engines.types import Face

__all__ = ["Scrfd"]

_ANCHORS: Final = 2
_MAX_OVERLAP: Final = 0.4
_MEAN: Final = 127.5
_DEVIATION: Final = 128.0


class Scrfd:
    """A detector that the user brings.

    Args:
        backend: the runtime.
        model: ONNX file or its bytes, with five landmarks.
        precision: arithmetic.
        fixed: height and width where the network works at one size only.

    Raises:
        ModelMissing: there is no such file.
        ModelRejected: it is not a network of this layout.
    """

    def __init__(
        self,
        backend: Backend,
        model: Path | bytes,
        precision: Precision = "fp32",
        fixed: tuple[int, int] | None = None,
    ) -> None:
        content = network_from_images(
            model_bytes(model), is_rgb=True, mean=_MEAN, deviation=_DEVIATION
        )
        self._network = StridedNetwork(backend, content, precision, fixed)

    def detect(self, image_bgr: BgrImage, *, min_score: float) -> tuple[Face, ...]:
        """Finds faces; see `Detector.detect`."""
        outputs, (height, width), scale = self._network.run(image_bgr)
        heads = [_by_size(outputs, values) for values in (1, 4, 10)]
        levels = [
            _level(cells(height, width, stride, _ANCHORS), stride, *head, min_score=min_score)
            for stride, *head in zip(STRIDES, *heads, strict=True)
        ]
        candidates = joined(levels, scale)
        return faces_from_candidates(
            candidates, image_bgr.shape[0], image_bgr.shape[1], _MAX_OVERLAP
        )


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
