"""dlib's ResNet as a judge: the recogniser with which AnonFACES (2020) measured itself.

It comes as an extra: `pip install 'kveil[dlib]'`, then
`kveil evaluate faces --recogniser dlib`. It aligns faces by landmarks of its own, which it looks
for where ours say that the face is.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar, Final, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from engines.types import Landmarks
from evaluation.errors import ExtraMissing
from evaluation.recognisers import Embeddings

__all__ = ["DLIB", "DlibRecogniser", "dlib_recogniser"]

DLIB: Final = "dlib"
"""Its name on the command line and in reports."""
_NETWORK: Final = "dlib_face_recognition_resnet_model_v1.dat"
_LANDMARKS: Final = "shape_predictor_5_face_landmarks.dat"
_BOX: Final = 2.5
"""Side of the box that the landmarks are looked for in, distances between the eyes."""
_EYES_AT: Final = 0.33
"""Height of the eyes in it."""
_DEPTH: Final = 128
_BATCH: Final = 32

Chip = NDArray[np.uint8]


class ChipMaker(Protocol):
    """Aligns one face as the network wants it."""

    def __call__(self, rgb: Chip, box: tuple[int, int, int, int]) -> Chip:
        """The 150×150×3 face within left, top, right, bottom of a picture."""


class ChipReader(Protocol):
    """The network."""

    def __call__(self, chips: Sequence[Chip]) -> NDArray[np.float32]:
        """(N, 128) of N chips; faces closer than 0.6 are one person's."""


@dataclass(slots=True)
class DlibRecogniser:
    """Judges by dlib's ResNet; safe to call from several threads.

    Attributes:
        aligned: cuts chips.
        read: reads them.
        network: file with the weights.
        threshold: cosine that a distance of 0.6 comes to at the usual length of the vectors.
    """

    aligned: ChipMaker
    read: ChipReader
    network: Path
    threshold: float = 0.91
    name: str = DLIB
    seen_by_kveil: ClassVar[bool] = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def embed(
        self, images: Sequence[NDArray[np.uint8]], landmarks_px: Sequence[Landmarks]
    ) -> Embeddings:
        """(N, 128) unit vectors of the faces at `landmarks_px` in H×W×3 uint8 BGR images."""
        if not images:
            return np.zeros((0, _DEPTH), np.float32)
        rows: list[NDArray[np.float32]] = []
        for start in range(0, len(images), _BATCH):
            part = slice(start, start + _BATCH)
            with self._lock:
                chips = [
                    self.aligned(np.ascontiguousarray(image[..., ::-1]), box_from_landmarks(points))
                    for image, points in zip(images[part], landmarks_px[part], strict=True)
                ]
                rows.append(self.read(chips))
        vectors = np.concatenate(rows)
        length = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.maximum(length, 1e-12), np.float32)


def box_from_landmarks(points: Landmarks) -> tuple[int, int, int, int]:
    """Left, top, right, bottom, px, of the box that dlib's detector would draw.

    >>> box_from_landmarks(np.array([[30, 40], [70, 40], [50, 60], [36, 80], [64, 80]]))
    (0, 7, 100, 107)
    """
    side = _BOX * float(np.linalg.norm(points[1] - points[0]))
    x, y = (points[0] + points[1]) / 2
    left, top = float(x) - side / 2, float(y) - _EYES_AT * side
    return round(left), round(top), round(left + side), round(top + side)


def dlib_recogniser() -> DlibRecogniser:
    """Loads dlib and its weights.

    Raises:
        ExtraMissing: dlib or its weights are not installed.
    """
    weights = find_spec("face_recognition_models")
    if find_spec("dlib") is None or weights is None or weights.origin is None:
        message = "the judge dlib is absent; pip install 'kveil[dlib]'"
        raise ExtraMissing(message)
    # The package of the weights is only a folder to us: importing it needs an old setuptools.
    folder = Path(weights.origin).parent / "models"
    dlib = importlib.import_module("dlib")
    marks = dlib.shape_predictor(str(folder / _LANDMARKS))
    net = dlib.face_recognition_model_v1(str(folder / _NETWORK))

    def aligned(rgb: Chip, box: tuple[int, int, int, int]) -> Chip:
        return cast(Chip, dlib.get_face_chip(rgb, marks(rgb, dlib.rectangle(*box))))

    def read(chips: Sequence[Chip]) -> NDArray[np.float32]:
        return np.array(net.compute_face_descriptor(list(chips)), np.float32)

    return DlibRecogniser(aligned, read, folder / _NETWORK)
