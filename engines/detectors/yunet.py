"""The YuNet layout (Wu et al. 2023): class and objectness per cell, sizes as logarithms."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from engines.backends.backend import Backend, Precision
from engines.backends.networks import model_bytes
from engines.detectors.detector import Candidates, faces_from_candidates
from engines.detectors.image_network import network_from_images
from engines.detectors.strides import STRIDES, Floats, StridedNetwork, by_stride, cells, joined
from engines.pictures import BgrImage
from engines.types import Face

__all__ = ["YuNet"]

_MAX_OVERLAP: Final = 0.35
_LARGEST_LOG_SIZE: Final = 8.0


class YuNet:
    """A detector that the user brings.

    Args:
        backend: the runtime.
        model: ONNX file or its bytes.
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
        content = network_from_images(model_bytes(model), is_rgb=False)
        self._network = StridedNetwork(backend, content, precision, fixed)

    def detect(self, image_bgr: BgrImage, *, min_score: float) -> tuple[Face, ...]:
        """Finds faces; see `Detector.detect`."""
        outputs, (height, width), scale = self._network.run(image_bgr)
        heads = [by_stride(outputs, prefix) for prefix in ("cls", "obj", "bbox", "kps")]
        levels = [
            _level(cells(height, width, stride, 1), stride, *head, min_score=min_score)
            for stride, *head in zip(STRIDES, *heads, strict=True)
        ]
        candidates = joined(levels, scale)
        return faces_from_candidates(
            candidates, image_bgr.shape[0], image_bgr.shape[1], _MAX_OVERLAP
        )


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
