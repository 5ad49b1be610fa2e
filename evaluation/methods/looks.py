"""What a face looks like, as numbers between 0 and 1: AttrNet of StyleID (2023, Section 2.2).

Gender presentation and age come from the pack's linear readers, pose and expression from its
landmarks. None of it takes part in judging privacy.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.stylegan.attributes import AttributeModel, shares_from_scores
from engines.stylegan.shape import ShapeModel
from engines.stylegan.topology import (
    EYE_LEFT_SLICE,
    EYE_RIGHT_SLICE,
    LIPS_INNER_SLICE,
    LIPS_OUTER_SLICE,
)
from evaluation.methods.generator import PeopleGenerator

__all__ = ["attribute_shares", "look_names", "looks_of"]

Float32 = NDArray[np.float32]

_GEOMETRY: Final = ("turned right", "head up", "mouth open", "mouth wide", "eyes open")
_SCALE: Final = np.array([30.0, 30.0, 0.15, 0.15, 0.05], np.float32)
_USUAL: Final = np.array([0.0, 0.0, 0.15, 0.85, 0.15], np.float32)
_UPPER, _LOWER = 4, 12
"""Places on an eye's ring opposite each other, lid over lid."""


def attribute_shares(model: AttributeModel, latents: Float32) -> dict[str, Float32]:
    """Per attribute, the (N, B) share of each of its values for (N, L, 512) latents."""
    w = latents.mean(axis=1)
    return {
        name: shares_from_scores(w @ weights[:-1] + weights[-1])
        for name, weights in model.weights.items()
    }


def look_names(model: AttributeModel) -> list[str]:
    """Names of the columns of `looks_of`."""
    values = [
        value
        for name in sorted(model.values)
        for value in model.values[name][: _columns(model.values[name])]
    ]
    return [*values, *_GEOMETRY]


def looks_of(generator: PeopleGenerator, crops: NDArray[np.uint8]) -> Float32:
    """Reads faces.

    Args:
        generator: reads.
        crops: (N, S, S, 3) uint8 BGR kveil crops.

    Returns:
        (N, M) float32, 0…1, in the order of `look_names`.

    Raises:
        EngineFault: a network failed.
    """
    model = generator.looks
    shares = attribute_shares(model, generator.encoded(crops))
    parts = [shares[name][:, : _columns(model.values[name])] for name in sorted(shares)]
    control = generator.control(crops)
    return np.concatenate([*parts, _geometry(control.points, generator.shape)], axis=1)


def _columns(values: tuple[str, ...]) -> int:
    """Of two values one says all; of more, each is a question of its own."""
    return 1 if len(values) == 2 else len(values)


def _geometry(points: Float32, shape: ShapeModel) -> Float32:
    pose = shape.pose_of(points)
    angles = pose.angles_deg()[:, :2]
    unit = np.maximum(pose.scale, 1e-4)
    inner, outer = points[:, LIPS_INNER_SLICE, :2], points[:, LIPS_OUTER_SLICE, :2]
    eyes = [points[:, part, :2] for part in (EYE_LEFT_SLICE, EYE_RIGHT_SLICE)]
    opened = [np.linalg.norm(eye[:, _UPPER] - eye[:, _LOWER], axis=1) / unit for eye in eyes]
    columns = [
        np.ptp(inner[..., 1], axis=1) / unit,
        np.ptp(outer[..., 0], axis=1) / unit,
        np.mean(opened, axis=0),
    ]
    raw = np.concatenate([angles, np.stack(columns, axis=1)], axis=1)
    return np.asarray(1 / (1 + np.exp(-(raw - _USUAL) / _SCALE)), np.float32)
