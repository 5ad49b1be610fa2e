"""Tells people apart, for tracker and gallery alone: a crop becomes a unit vector.

It never takes part in making a surrogate, and no privacy figure is judged by it.
"""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.backends.backend import Session
from engines.errors import EngineFault, ModelRejected

__all__ = ["FaceEmbedder"]

_SIZE: Final = 128
_LEAST_LENGTH: Final = 1e-6


class FaceEmbedder:
    """Embeds kveil crops.

    Args:
        session: `image` float32 N×3×128×128 RGB in [-1, 1] → `embedding` float32 N×D.

    Raises:
        ModelRejected: the network's input or output has another name.
    """

    def __init__(self, session: Session) -> None:
        inputs = [spec.name for spec in session.inputs]
        outputs = [spec.name for spec in session.outputs]
        if inputs != ["image"] or outputs != ["embedding"]:
            raise ModelRejected("this network is no kveil embedder; restore the model pack")
        self._session = session

    def embed(self, crops: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Unit vectors of uint8 N×S×S×3 BGR kveil crops: float32 (N, D).

        Raises:
            EngineFault: the network failed, or gave a vector without a direction.
        """
        found = self._session.run({"image": np.stack([_fed(crop) for crop in crops])})["embedding"]
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or lengths.min() < _LEAST_LENGTH:
            raise EngineFault("the embedder gave a vector without a direction")
        return np.asarray(found / lengths, np.float32)


def _fed(crop: NDArray[np.uint8]) -> NDArray[np.float32]:
    if crop.shape[0] != _SIZE:
        crop = np.asarray(cv2.resize(crop, (_SIZE, _SIZE), interpolation=cv2.INTER_AREA), np.uint8)
    return crop[:, :, ::-1].transpose(2, 0, 1).astype(np.float32) / np.float32(127.5) - 1
