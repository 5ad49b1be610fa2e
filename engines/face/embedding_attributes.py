"""Gender presentation and age band of an embedding of the bundled embedder.

The embedding is at hand for every track, so reading the attributes costs two small products. They
choose donors that suit the head, and never anything finer.
"""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.errors import ModelRejected
from engines.stylegan.attributes import shares_from_scores
from engines.stylegan.pack import bundled_pack, read_pack
from engines.types import Embedding

__all__ = [
    "ATTRIBUTES_FILE",
    "EmbeddingAttributes",
    "attributes_from_pack",
    "load_embedding_attributes",
]

ATTRIBUTES_FILE: Final = "attributes.npz"
_HIDDEN: Final = "hidden"
_WEIGHTS: Final = "weights."
_VALUES: Final = "values."

Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class EmbeddingAttributes:
    """A hidden layer of rectified units for all attributes, and a softmax on it for each.

    Attributes:
        hidden: float32 (D + 1, H); the last row is the bias, as in the others.
        weights: per attribute, float32 (H + 1, B).
        values: per attribute, names of its B values.
    """

    hidden: Float32
    weights: dict[str, Float32]
    values: dict[str, tuple[str, ...]]

    def shares(self, embedding: Embedding) -> dict[str, dict[str, float]]:
        """How likely each value of each attribute is; those of an attribute sum to 1.

        Args:
            embedding: (D,) float32, unit length.

        Raises:
            ValueError: another D than the model's.

        >>> flat = np.zeros((3, 2), np.float32)
        >>> model = EmbeddingAttributes(flat, {"age": flat}, {"age": ("a", "b")})
        >>> model.shares(np.float32([1, 0]))
        {'age': {'a': 0.5, 'b': 0.5}}
        """
        if embedding.shape != (len(self.hidden) - 1,):
            raise ValueError(f"attributes are read off {len(self.hidden) - 1} numbers")
        found = self.shares_of(embedding[None])
        return {
            name: dict(zip(self.values[name], shares[0].tolist(), strict=True))
            for name, shares in found.items()
        }

    def shares_of(self, embeddings: Float32) -> dict[str, Float32]:
        """The same of embeddings float32[N, D]: by attribute, float32[N, B]."""
        raised = self.raised(embeddings)
        return {
            name: shares_from_scores(raised @ weights[:-1] + weights[-1])
            for name, weights in self.weights.items()
        }

    def raised(self, embeddings: Float32) -> Float32:
        """What the hidden layer, float32 (..., H), makes of embeddings (..., D)."""
        return np.asarray(
            np.maximum(embeddings @ self.hidden[:-1] + self.hidden[-1], 0), np.float32
        )


def load_embedding_attributes(path: Path) -> EmbeddingAttributes:
    """Read `hidden`, `weights.NAME` and `values.NAME` arrays.

    Raises:
        ModelRejected: arrays are missing, not finite, or do not fit each other.
    """
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ModelRejected(f"{path.name} is no attribute model; restore the pack") from error
    hidden = np.asarray(arrays.get(_HIDDEN, ()), np.float32)
    if hidden.ndim != 2 or len(hidden) < 2 or not np.isfinite(hidden).all():
        raise ModelRejected(f"{path.name} has no sound hidden layer; restore the pack")
    weights: dict[str, Float32] = {}
    values: dict[str, tuple[str, ...]] = {}
    for key in [key for key in arrays if key.startswith(_WEIGHTS)]:
        name = key.removeprefix(_WEIGHTS)
        matrix, known = np.asarray(arrays[key], np.float32), arrays.get(_VALUES + name)
        if (
            known is None
            or matrix.shape != (hidden.shape[1] + 1, len(known))
            or len(known) < 2
            or not np.isfinite(matrix).all()
        ):
            raise ModelRejected(f"{path.name} has a damaged attribute {name}; restore the pack")
        weights[name], values[name] = matrix, tuple(str(value) for value in known)
    if not weights:
        raise ModelRejected(f"{path.name} has no attributes; restore the pack")
    return EmbeddingAttributes(hidden, weights, values)


def attributes_from_pack(folder: Path | None = None) -> EmbeddingAttributes:
    """The model that belongs to an embedder.

    Args:
        folder: of the embedder's pack; the bundled one by default.

    Raises:
        ModelMissing: the file is absent.
        ModelRejected: it is damaged.
    """
    pack = read_pack(folder or bundled_pack() / "embedder")
    return load_embedding_attributes(pack.path(ATTRIBUTES_FILE))
