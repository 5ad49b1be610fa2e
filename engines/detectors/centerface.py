"""CenterFace (Xu et al. 2019): faces as peaks of a heat map at a quarter of the image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.backends.backend import Backend, Precision
from engines.backends.networks import stripped
from engines.detectors.detector import Candidates, faces_from_candidates, padded, padded_size
from engines.detectors.image_network import ImageNetwork, network_from_images
from engines.errors import ModelRejected
from engines.pictures import BgrImage
from engines.types import Face

__all__ = ["CenterFace", "Heads", "candidates_from_heads"]

_STEP: Final = 32
_CELL: Final = 4
_MAX_OVERLAP: Final = 0.35
_MOST_PEAKS: Final = 3000
_LARGEST_LOG_SIZE: Final = 8.0
"""exp(8) cells are wider than any frame; larger logarithms would overflow."""

Heads = tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]
"""Heat h×w, log size 2×h×w (height, width), offset 2×h×w (y, x), landmarks 10×h×w (y, x)."""


class CenterFace:
    """The default detector.

    Args:
        backend: the runtime.
        model: ONNX file or its bytes.
        precision: arithmetic; check bf16 and fp16 with `gate_precision` first.

    Raises:
        ModelMissing: there is no such file.
        ModelRejected: it is not a CenterFace network.
    """

    def __init__(
        self, backend: Backend, model: Path | bytes, precision: Precision = "fp32"
    ) -> None:
        content = stripped(model)
        self._names = _head_names(content)
        self._network = ImageNetwork(backend, network_from_images(content, is_rgb=True), precision)

    def detect(self, image_bgr: BgrImage, *, min_score: float) -> tuple[Face, ...]:
        """Finds faces; see `Detector.detect`."""
        return self.detect_all([image_bgr], min_score=min_score)[0]

    def detect_all(
        self, images_bgr: Sequence[BgrImage], *, min_score: float
    ) -> list[tuple[Face, ...]]:
        """Finds the faces of several images; see `BatchDetector.detect_all`."""
        height, width = images_bgr[0].shape[:2]
        candidates = [candidates_from_heads(one, min_score) for one in self.heads(images_bgr)]
        return [faces_from_candidates(one, height, width, _MAX_OVERLAP) for one in candidates]

    def prepare(self, height: int, width: int) -> None:
        """Compiles the network for images of this size; see `PreparedDetector`."""
        self._network.prepare(*padded_size(height, width, _STEP))

    def heads(self, images_bgr: Sequence[BgrImage]) -> list[Heads]:
        """The raw answers of the network to images of one size, for gates and tests."""
        answers = self._network.run_all([padded(image, _STEP) for image in images_bgr])
        return [self._heads_of(answer) for answer in answers]

    def _heads_of(self, answer: Mapping[str, NDArray[np.float32]]) -> Heads:
        heat, size, offset, landmarks = (answer[name] for name in self._names)
        return heat[0], size, offset, landmarks


def candidates_from_heads(heads: Heads, min_score: float) -> Candidates:
    """Reads the peaks of the heat map.

    Args:
        heads: see `Heads`.
        min_score: least heat of a peak.

    Returns:
        Candidates in pixels of the padded image.

    >>> heat = np.zeros((8, 8), np.float32)
    >>> heat[2, 3] = 0.9
    >>> flat = np.zeros((2, 8, 8), np.float32)
    >>> heads = (heat, flat + np.log(2), flat, np.full((10, 8, 8), 0.5, np.float32))
    >>> found = candidates_from_heads(heads, 0.5)
    >>> found.boxes.round(3).tolist(), found.landmarks[0, 0].round(3).tolist()
    ([[10.0, 6.0, 18.0, 14.0]], [14.0, 10.0])
    """
    heat, size, offset, landmarks = heads
    # A face's whole middle is warm; only its local maxima are worth a box.
    peaks = (heat >= min_score) & (heat >= cv2.dilate(heat, np.ones((3, 3), np.uint8)))
    rows, columns = np.nonzero(peaks)
    scores = heat[rows, columns]
    if scores.size > _MOST_PEAKS:
        best = np.argsort(-scores, kind="stable")[:_MOST_PEAKS]
        rows, columns, scores = rows[best], columns[best], scores[best]
    lengths = np.exp(np.minimum(size[:, rows, columns], _LARGEST_LOG_SIZE)) * _CELL
    y = (rows + offset[0, rows, columns] + 0.5) * _CELL
    x = (columns + offset[1, rows, columns] + 0.5) * _CELL
    top, left = y - lengths[0] / 2, x - lengths[1] / 2
    boxes = np.stack([left, top, left + lengths[1], top + lengths[0]], -1)
    relative = landmarks[:, rows, columns].reshape(5, 2, -1)
    points_x = relative[:, 1] * lengths[1] + left
    points_y = relative[:, 0] * lengths[0] + top
    points = np.stack([points_x, points_y], -1).transpose(1, 0, 2)
    return Candidates(
        boxes.astype(np.float32), points.astype(np.float32), scores.astype(np.float32)
    )


def _head_names(content: bytes) -> tuple[str, str, str, str]:
    """Heat, size, offset and landmarks; size comes before offset in the file."""
    import onnx

    by_channels: dict[int, list[str]] = {}
    for value in onnx.load_model_from_string(stripped(content)).graph.output:
        sizes = value.type.tensor_type.shape.dim
        if len(sizes) == 4:
            by_channels.setdefault(sizes[1].dim_value, []).append(value.name)
    if [len(by_channels.get(channels, [])) for channels in (1, 2, 10)] != [1, 2, 1]:
        raise ModelRejected("this network has not CenterFace's four heads; use another layout")
    size, offset = by_channels[2]
    return by_channels[1][0], size, offset, by_channels[10][0]
