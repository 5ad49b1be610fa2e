"""Tells people apart, for tracker and gallery alone: a crop becomes a unit vector.

It never takes part in making a surrogate, and no privacy figure is judged by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.backends.backend import Backend, Session
from engines.errors import EngineFault, ModelRejected
from engines.json_reading import value_from_json
from engines.stylegan.pack import bundled_pack, read_pack

__all__ = ["FaceEmbedder", "PersonThresholds", "embedder_from_pack", "thresholds_from_file"]

_SIZE: Final = 128
_LEAST_LENGTH: Final = 1e-6


@dataclass(frozen=True, slots=True)
class PersonThresholds:
    """Cosines that decide whether two embeddings are one person.

    Attributes:
        match: from here on they are; larger splits people more often.
        doubt: from here on they may be; smaller covers more strangers.
        alike: from here on a surrogate that is tried on resembles its subject, and the next one
            is drawn; smaller draws more often. The head around the face stays, so strangers'
            cosines are higher than between two pictures.
        too_alike: from here on the least alike of all draws resembles its subject too much, and
            the face is covered; smaller covers more people.
    """

    match: float
    doubt: float
    alike: float = 0.08
    too_alike: float = 0.33


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


def embedder_from_pack(
    backend: Backend, folder: Path | None = None
) -> tuple[FaceEmbedder, PersonThresholds]:
    """Loads the embedder and the thresholds that were measured for it.

    Args:
        backend: the runtime.
        folder: of its pack; the bundled one by default.

    Raises:
        ModelMissing: a file is absent.
        ModelRejected: a file is damaged or of wrong shape.
    """
    pack = read_pack(folder or bundled_pack() / "embedder")
    session = backend.load(pack.path("embedder.onnx"))
    thresholds = thresholds_from_file(pack.path("thresholds.json"))
    return FaceEmbedder(session), thresholds


def thresholds_from_file(path: Path) -> PersonThresholds:
    """The thresholds that were measured for an embedder.

    Raises:
        ModelRejected: the file is damaged.
    """
    try:
        content = value_from_json(path.read_text(encoding="utf-8"))
        numbers = (float(content[name]) for name in ("match", "doubt", "alike", "too_alike"))
        return PersonThresholds(*numbers)
    except (KeyError, TypeError, ValueError):
        raise ModelRejected("the embedder's thresholds are damaged; reinstall kveil") from None


def _fed(crop: NDArray[np.uint8]) -> NDArray[np.float32]:
    if crop.shape[0] != _SIZE:
        crop = np.asarray(cv2.resize(crop, (_SIZE, _SIZE), interpolation=cv2.INTER_AREA), np.uint8)
    return crop[:, :, ::-1].transpose(2, 0, 1).astype(np.float32) / np.float32(127.5) - 1
