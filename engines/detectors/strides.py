"""Heads that answer per cell at strides of 8, 16 and 32 px: what YuNet and SCRFD share."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from engines.backends.backend import Backend, Precision
from engines.backends.networks import stripped
from engines.detectors.detector import Candidates, faces_from_candidates, padded, padded_size
from engines.detectors.image_network import ImageNetwork, network_from_images
from engines.errors import EngineFault, ModelRejected
from engines.pictures import BgrImage
from engines.types import Face

__all__ = ["STRIDES", "Preparation", "StridedDetector", "StridedNetwork", "cells"]

STRIDES: Final = (8, 16, 32)
STEP: Final = 32
_ANCHORS: Final = (1, 2)
"""Anchors per cell of the layouts that are known."""
_HEADS: Final = ((1,), (4,), (10,))
"""Values per anchor: a score, a box, five landmarks."""
Floats = NDArray[np.float32]


class StridedNetwork:
    """An image network, or one of fixed size on which images are fitted.

    Args:
        backend: the runtime.
        model: from `network_from_images`.
        precision: arithmetic.
        fixed: height and width where the network works at one size only.
    """

    def __init__(
        self,
        backend: Backend,
        model: bytes,
        precision: Precision,
        fixed: tuple[int, int] | None,
    ) -> None:
        self._network = ImageNetwork(backend, model, precision)
        self._fixed = fixed if fixed and not self._is_free() else None

    def run(self, image_bgr: BgrImage) -> tuple[dict[str, Floats], tuple[int, int], float]:
        """Outputs by name, size of the image the network saw, and its scale.

        Raises:
            EngineFault: the runtime failed, or an output holds NaN or infinity.
        """
        if self._fixed is None:
            image, scale = padded(image_bgr, STEP), 1.0
        else:
            image, scale = _fitted(image_bgr, self._fixed)
        return self._network.run(image), (image.shape[0], image.shape[1]), scale

    def prepare(self, height: int, width: int) -> None:
        """Compiles the network for images of this size."""
        self._network.prepare(*(self._fixed or padded_size(height, width, STEP)))

    def _is_free(self) -> bool:
        """Whether the network's cells follow the size of the image."""
        probe = np.zeros((2 * STEP, 3 * STEP, 3), np.uint8)
        expected = probe.shape[0] // STEP * (probe.shape[1] // STEP)
        try:
            outputs = self._network.run(probe)
        except (EngineFault, ModelRejected):
            return False
        rows = min(value.size // value.shape[-1] for value in outputs.values())
        return rows in (expected, 2 * expected)


@dataclass(frozen=True, slots=True)
class Preparation:
    """What becomes of an image before the network: see `network_from_images`."""

    is_rgb: bool
    mean: float = 0.0
    deviation: float = 1.0


class StridedDetector(ABC):
    """A detector that the user brings; each layout says how its heads are read.

    Args:
        backend: the runtime.
        model: ONNX file or its bytes, with five landmarks.
        precision: arithmetic.
        fixed: height and width where the network works at one size only.

    Attributes:
        preparation: of the image.
        max_overlap: see `engines.detectors.detector.kept`.

    Raises:
        ModelMissing: there is no such file.
        ModelRejected: it is not a network of this layout.
    """

    preparation: ClassVar[Preparation]
    max_overlap: ClassVar[float]

    def __init__(
        self,
        backend: Backend,
        model: Path | bytes,
        precision: Precision = "fp32",
        fixed: tuple[int, int] | None = None,
    ) -> None:
        how = self.preparation
        content = network_from_images(
            stripped(model), is_rgb=how.is_rgb, mean=how.mean, deviation=how.deviation
        )
        self._network = StridedNetwork(backend, content, precision, fixed)

    def detect(self, image_bgr: BgrImage, *, min_score: float) -> tuple[Face, ...]:
        """Finds faces; see `Detector.detect`."""
        outputs, size, scale = self._network.run(image_bgr)
        _refuse_unfit(outputs, size)
        candidates = _joined(self._levels(outputs, size, min_score), scale)
        height, width = image_bgr.shape[:2]
        return faces_from_candidates(candidates, height, width, self.max_overlap)

    def prepare(self, height: int, width: int) -> None:
        """Compiles the network for images of this size; see `PreparedDetector`."""
        self._network.prepare(height, width)

    @abstractmethod
    def _levels(
        self, outputs: Mapping[str, Floats], size: tuple[int, int], min_score: float
    ) -> list[Candidates]:
        """Candidates of each stride, in pixels of the image that the network saw.

        Args:
            outputs: by name.
            size: height and width of that image.
            min_score: least score of a candidate.
        """


def cells(height: int, width: int, stride: int, anchors: int) -> Floats:
    """Top left corners of all cells, row by row: (N·anchors, 2) float32 x y px.

    >>> cells(16, 16, 8, 1).tolist()
    [[0.0, 0.0], [8.0, 0.0], [0.0, 8.0], [8.0, 8.0]]
    >>> cells(8, 12, 8, 1).tolist()
    [[0.0, 0.0], [8.0, 0.0]]
    """
    rows, columns = _grid(height, width, stride)
    y, x = np.mgrid[0:rows, 0:columns]
    corners = np.stack([x, y], -1).reshape(-1, 2).astype(np.float32) * stride
    return np.repeat(corners, anchors, axis=0)


def _refuse_unfit(outputs: Mapping[str, Floats], size: tuple[int, int]) -> None:
    """Each head must answer for each cell: else a score is read with another cell's corner."""
    heads = [value for value in outputs.values() if value.shape[-1:] in _HEADS]
    found = sorted(value.size // value.shape[-1] for value in heads)
    counts = [math.prod(_grid(*size, stride)) for stride in reversed(STRIDES)]
    each = np.repeat(counts, len(heads) // len(STRIDES))
    if not any(np.array_equal(found, each * anchors) for anchors in _ANCHORS):
        raise EngineFault("the network's answer does not fit the image; the result is discarded")


def _grid(height: int, width: int, stride: int) -> tuple[int, int]:
    """Rows and columns of cells; a convolution answers for what the stride leaves over, too."""
    return -(-height // stride), -(-width // stride)


def _joined(levels: Sequence[Candidates], scale: float) -> Candidates:
    """Candidates of all strides together, in pixels of the image before fitting."""
    return Candidates(
        np.asarray(np.concatenate([level.boxes for level in levels]) / scale, np.float32),
        np.asarray(np.concatenate([level.landmarks for level in levels]) / scale, np.float32),
        np.concatenate([level.scores for level in levels]),
    )


def by_stride(outputs: Mapping[str, Floats], prefix: str) -> list[Floats]:
    """The outputs `prefix_8`, `prefix_16`, `prefix_32` as (cells, values)."""
    found = [outputs[f"{prefix}_{stride}"] for stride in STRIDES]
    return [value.reshape(-1, value.shape[-1]) for value in found]


def _fitted(image_bgr: BgrImage, size: tuple[int, int]) -> tuple[BgrImage, float]:
    import cv2

    height, width = image_bgr.shape[:2]
    scale = min(size[0] / height, size[1] / width)
    rows = min(size[0], max(1, round(height * scale)))
    columns = min(size[1], max(1, round(width * scale)))
    canvas = np.zeros((*size, 3), np.uint8)
    how = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
    canvas[:rows, :columns] = cv2.resize(image_bgr, (columns, rows), interpolation=how)
    return canvas, scale
