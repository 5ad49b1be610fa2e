"""Pictures to embeddings: the largest face, aligned as the recogniser wants it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engines.backends.backend import Backend, Session
from engines.detectors.detector import Detector
from engines.detectors.loading import detector_from_model
from engines.face.alignment import (
    ARCFACE_SIZE,
    Similarity,
    arcface_from_landmarks,
    crop_from_picture,
    kveil_from_landmarks,
)
from engines.face.embedder import FaceEmbedder, PersonThresholds, embedder_from_pack
from engines.models.catalogue import centerface_path
from engines.pictures import BgrImage, picture_from_bgr
from engines.types import Face, Landmarks

__all__ = ["ArcFaceEmbedder", "KveilEmbedder", "bundled_embedder", "embedder_from_models"]

_CROP_PX = 128
_MIN_SCORE = 0.5
_PIXEL_MEAN = 127.5
_PIXEL_SCALE = 128.0


@dataclass(frozen=True, slots=True)
class ArcFaceEmbedder:
    """A detector and a recogniser in a row.

    Attributes:
        detector: finds the face.
        session: takes (1, 3, 112, 112) float32 RGB and gives one vector.
    """

    detector: Detector
    session: Session

    def embed(self, image_bgr: BgrImage) -> NDArray[np.float32] | None:
        """(D,) float32, unit length, of the largest face; None without a face.

        Raises:
            EngineFault: a network failed, or the landmarks coincide.
        """
        crop = _largest(self.detector, image_bgr, arcface_from_landmarks, ARCFACE_SIZE)
        return None if crop is None else self.embed_aligned(crop)

    def embed_aligned(self, crop: NDArray[np.uint8]) -> NDArray[np.float32]:
        """(D,) float32, unit length, of a crop that is aligned already.

        Args:
            crop: uint8 112×112×3 BGR.

        Raises:
            EngineFault: the network failed.
        """
        scaled = (crop[..., ::-1].astype(np.float32) - _PIXEL_MEAN) / _PIXEL_SCALE
        tensor = np.ascontiguousarray(scaled.transpose(2, 0, 1)[None])
        outputs = self.session.run({self.session.inputs[0].name: tensor})
        vector = outputs[self.session.outputs[0].name].reshape(-1)
        return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-12), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class KveilEmbedder:
    """A detector and kveil's own embedder in a row.

    Attributes:
        detector: finds the face.
        embedder: describes kveil crops.
    """

    detector: Detector
    embedder: FaceEmbedder

    def embed(self, image_bgr: BgrImage) -> NDArray[np.float32] | None:
        """(D,) float32, unit length, of the largest face; None without a face.

        Raises:
            EngineFault: a network failed, or the landmarks coincide.
        """
        crop = _largest(
            self.detector, image_bgr, partial(kveil_from_landmarks, size=_CROP_PX), _CROP_PX
        )
        if crop is None:
            return None
        return np.asarray(self.embedder.embed(crop[None])[0], dtype=np.float32)


def bundled_embedder(backend: Backend) -> tuple[KveilEmbedder, PersonThresholds]:
    """The default detector with the bundled embedder, and the thresholds that come with it.

    Raises:
        ModelMissing: one of the networks is absent.
        ModelRejected: one of them cannot be used.
    """
    embedder, thresholds = embedder_from_pack(backend)
    detector = detector_from_model(backend, centerface_path())
    return KveilEmbedder(detector, embedder), thresholds


def embedder_from_models(backend: Backend, recogniser: Path) -> ArcFaceEmbedder:
    """The default detector with a recogniser of the ArcFace family.

    Raises:
        ModelMissing: one of the networks is absent.
        ModelRejected: one of them cannot be used.
    """
    detector = detector_from_model(backend, centerface_path())
    return ArcFaceEmbedder(detector, backend.load(recogniser))


def _largest(
    detector: Detector, image: BgrImage, map_of: Callable[[Landmarks], Similarity], size: int
) -> NDArray[np.uint8] | None:
    """(size, size, 3) crop of the largest face; None without a face."""
    face = max(detector.detect(image, min_score=_MIN_SCORE), key=_area, default=None)
    if face is None:
        return None
    return crop_from_picture(picture_from_bgr(image), map_of(face.landmarks_px), size)


def _area(face: Face) -> float:
    width, height = face.box_px[2:] - face.box_px[:2]
    return float(width * height)
