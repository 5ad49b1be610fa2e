"""Moves a latent until it shows a wanted attribute: StyleID (2023), Section 7.2 and Fig. 14.

The paper takes a global direction of GANSpace. Here the direction of each pair of values is
where the pack's linear reader changes fastest, in the coordinates of the generator's own
directions: the shortest way that crosses from one value to the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.stylegan.attributes import AttributeModel
from evaluation.methods.directions import LatentDirections
from evaluation.methods.looks import attribute_shares

__all__ = ["corrected", "read_values", "value_direction"]

Float32 = NDArray[np.float32]

MARGIN: Final = 1.0
"""By which the wanted value's score leads afterwards: its share is then 73 % against one rival;
larger is clearer and moves the face further."""
_MOST_STEPS: Final = 6


def read_values(model: AttributeModel, latents: Float32) -> dict[str, NDArray[np.int64]]:
    """Per attribute, the (N,) number of the value that each latent shows most."""
    shares = attribute_shares(model, latents)
    return {name: table.argmax(axis=1).astype(np.int64) for name, table in shares.items()}


def value_direction(
    model: AttributeModel, directions: LatentDirections, name: str, value: int, rival: int
) -> Float32:
    """(C,) by how much each coordinate raises one value's score over another's."""
    weights = model.weights[name][:-1]
    return np.asarray(directions.basis @ (weights[:, value] - weights[:, rival]), np.float32)


def corrected(
    model: AttributeModel,
    directions: LatentDirections,
    latents: Float32,
    wanted: dict[str, NDArray[np.int64]],
    names: Sequence[str] | None = None,
) -> Float32:
    """Latents that show the wanted values; those that do already stay as they are.

    Args:
        model: reads attributes.
        directions: of the generator.
        latents: (N, L, 512) float32.
        wanted: per attribute, (N,) number of the value, as in `model.values`.
        names: attributes to correct, in this order; all of `wanted` when None.

    Returns:
        (N, L, 512) float32.
    """
    made = latents.copy()
    for _ in range(_MOST_STEPS):
        moved = False
        for name in names if names is not None else sorted(wanted):
            moved |= _stepped(model, directions, made, name, wanted[name])
        if not moved:
            break
    return made


def _stepped(
    model: AttributeModel,
    directions: LatentDirections,
    latents: Float32,
    name: str,
    wanted: NDArray[np.int64],
) -> bool:
    """Moves every latent whose wanted value does not lead, in place."""
    weights = model.weights[name]
    scores = latents.mean(axis=1) @ weights[:-1] + weights[-1]
    moved = False
    for row, value in enumerate(wanted):
        others = scores[row].copy()
        others[value] = -np.inf
        rival = int(others.argmax())
        lacking = MARGIN - float(scores[row, value] - others[rival])
        if lacking <= 1e-3:
            continue
        slope = value_direction(model, directions, name, int(value), rival)
        energy = float(slope @ slope)
        if energy < 1e-12:
            continue
        step = slope * np.float32(lacking / energy)
        latents[row] += (step @ directions.basis)[None]
        moved = True
    return moved
