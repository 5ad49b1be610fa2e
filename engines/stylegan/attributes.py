"""Coarse attribute bins read off a w+ latent: age band and gender presentation.

They choose donors that suit a subject and are used only where at least k people share them.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from engines.errors import ModelRejected

SURE: Final = 0.6
"""Share of a bin below which an attribute counts as unknown; higher leaves more unknown."""

Float32 = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class AttributeModel:
    """Linear classifiers on the mean w of a latent.

    Attributes:
        weights: per attribute, float32[513, B]; the last row is the bias.
        values: per attribute, names of its B bins.
    """

    weights: dict[str, Float32]
    values: dict[str, tuple[str, ...]]

    def bins(self, latents: Float32) -> list[dict[str, str]]:
        """Return each person's bins; an attribute that is not sure is left out.

        Args:
            latents: float32[N, L, 512].
        """
        w = latents.mean(axis=1)
        people: list[dict[str, str]] = [{} for _ in latents]
        for name, weights in self.weights.items():
            shares = shares_from_scores(w @ weights[:-1] + weights[-1])
            for person, share in zip(people, shares, strict=True):
                if share.max() >= SURE:
                    person[name] = self.values[name][int(share.argmax())]
        return people


def shares_from_scores(scores: Float32) -> Float32:
    """Softmax over the last axis.

    >>> shares_from_scores(np.zeros((1, 2), np.float32)).tolist()
    [[0.5, 0.5]]
    """
    raised = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True), np.float32)


def load_attributes(path: Path) -> AttributeModel:
    """Read `weights.NAME` and `values.NAME` arrays.

    Raises:
        ModelRejected: arrays are missing or do not fit each other.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError) as error:
        raise ModelRejected(f"{path.name} is no attribute model; restore the pack") from error
    weights: dict[str, Float32] = {}
    values: dict[str, tuple[str, ...]] = {}
    for key in [key for key in arrays if key.startswith("weights.")]:
        name = key.removeprefix("weights.")
        known = arrays.get(f"values.{name}")
        matrix = np.asarray(arrays[key], np.float32)
        if known is None or matrix.shape != (513, len(known)) or not np.isfinite(matrix).all():
            raise ModelRejected(f"{path.name} has a damaged attribute {name}; restore the pack")
        weights[name], values[name] = matrix, tuple(str(value) for value in known)
    return AttributeModel(weights, values)
