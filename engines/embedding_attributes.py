"""Gender presentation and age band of an embedding of the bundled embedder.

The embedding is at hand for every track, so reading the attributes costs one small product. They
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
_WEIGHTS: Final = "weights."
_VALUES: Final = "values."

Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class EmbeddingAttributes:
    """A softmax on a linear map for each attribute.

    Attributes:
        weights: per attribute, float32 (D + 1, B); the last row is the bias.
        values: per attribute, names of its B values.
    """

    weights: dict[str, Float32]
    values: dict[str, tuple[str, ...]]

    def shares(self, embedding: Embedding) -> dict[str, dict[str, float]]:
        """How likely each value of each attribute is; those of an attribute sum to 1.

        Args:
            embedding: (D,) float32, unit length.

        Raises:
            ValueError: another D than the model's.

        >>> model = EmbeddingAttributes({"age": np.zeros((3, 2), np.float32)}, {"age": ("a", "b")})
        >>> model.shares(np.float32([1, 0]))
        {'age': {'a': 0.5, 'b': 0.5}}
        """
        found = {}
        for name, weights in self.weights.items():
            if embedding.shape != (len(weights) - 1,):
                raise ValueError(f"the attribute {name} is read off {len(weights) - 1} numbers")
            shares = shares_from_scores(embedding @ weights[:-1] + weights[-1])
            found[name] = dict(zip(self.values[name], shares.tolist(), strict=True))
        return found


def load_embedding_attributes(path: Path) -> EmbeddingAttributes:
    """Read `weights.NAME` and `values.NAME` arrays.

    Raises:
        ModelRejected: arrays are missing, not finite, or do not fit each other.
    """
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ModelRejected(f"{path.name} is no attribute model; restore the pack") from error
    weights: dict[str, Float32] = {}
    values: dict[str, tuple[str, ...]] = {}
    for key in [key for key in arrays if key.startswith(_WEIGHTS)]:
        name = key.removeprefix(_WEIGHTS)
        matrix, known = np.asarray(arrays[key], np.float32), arrays.get(_VALUES + name)
        fits = known is not None and matrix.ndim == 2 and matrix.shape[1] == len(known) > 1
        if known is None or not fits or not np.isfinite(matrix).all():
            raise ModelRejected(f"{path.name} has a damaged attribute {name}; restore the pack")
        weights[name], values[name] = matrix, tuple(str(value) for value in known)
    if not weights or len({len(matrix) for matrix in weights.values()}) > 1:
        raise ModelRejected(f"{path.name} has no attributes of one embedding; restore the pack")
    return EmbeddingAttributes(weights, values)


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
