"""StyleGAN2 generators as `rosinality/stylegan2-pytorch` stores them: a dictionary of tensors."""

from __future__ import annotations

import math
from collections.abc import Mapping as AnyMapping
from typing import Final

import numpy as np

from engines.errors import ModelRejected
from engines.stylegan.imports.fields import Fields
from engines.stylegan.imports.networks import (
    Dense,
    Float32,
    Mapping,
    RgbLayer,
    StyledLayer,
    StyleGan2,
)
from engines.stylegan.imports.reference import mapped

__all__ = ["stylegan2_from_state"]

_LEARNING_RATE: Final = 0.01
"""Multiplier of the mapping network's layers; the file does not hold it."""
_PROBES: Final = 4096
_SIZES: Final = {2 * n: 4 << n for n in range(4, 9)}
"""Picture's size by the number of layers after the first."""


def stylegan2_from_state(state: AnyMapping[str, object], mean: object = None) -> StyleGan2:
    """Read a StyleGAN2 generator.

    Args:
        state: the checkpoint's `g_ema`.
        mean: the checkpoint's `latent_avg`; estimated from 4,096 draws where it has none.

    Raises:
        ModelRejected: a part is absent or of another shape.
    """
    fields = Fields({name: v for name, v in state.items() if isinstance(v, np.ndarray)})
    count = sum(name.startswith("convs.") and name.endswith("conv.weight") for name in state)
    if count not in _SIZES:
        raise ModelRejected(
            f"the network has {count} layers; 64, 128, 256, 512 and 1024 px are known"
        )
    constant = fields.tensor("input.input", 1, None, 4, 4)[0]
    mapping = _mapping(fields, mean)
    width = len(mapping.mean)
    first = _styled(fields, "conv1", 0, width, len(constant))
    channels, blocks = len(first.bias), []
    for step in range(count // 2):
        upper = _styled(fields, f"convs.{2 * step}", 2 * step + 1, width, channels)
        lower = _styled(fields, f"convs.{2 * step + 1}", 2 * step + 2, width, len(upper.bias))
        channels = len(lower.bias)
        blocks.append((upper, lower, _rgb(fields, f"to_rgbs.{step}", width, channels)))
    rgb = _rgb(fields, "to_rgb1", width, len(first.bias))
    return StyleGan2(mapping, constant, first, rgb, tuple(blocks), _blur(fields))


def _mapping(fields: Fields, mean: object) -> Mapping:
    layers: list[Dense] = []
    inputs = fields.tensor("style.1.weight", None, None).shape[1]
    while f"style.{len(layers) + 1}.weight" in fields:
        layers.append(fields.dense(f"style.{len(layers) + 1}", inputs, None, _LEARNING_RATE))
        inputs = len(layers[-1].bias)
    made = Mapping(tuple(layers), np.zeros(inputs, np.float32))
    if isinstance(mean, np.ndarray):
        return Mapping(
            made.layers, Fields({"latent_avg": mean.reshape(-1)}).tensor("latent_avg", inputs)
        )
    draws = np.random.default_rng(0).standard_normal((_PROBES, layers[0].weight.shape[1]))
    return Mapping(made.layers, mapped(made, draws.astype(np.float32)).mean(axis=0))


def _styled(fields: Fields, name: str, number: int, width: int, channels: int) -> StyledLayer:
    kernel = fields.tensor(f"{name}.conv.weight", 1, None, channels, 3, 3)[0]
    size = 4 << ((number + 1) // 2)
    strength = fields.tensor(f"{name}.noise.weight", 1)
    return StyledLayer(
        kernel / np.float32(math.sqrt(9 * channels)),
        fields.dense(f"{name}.conv.modulation", width, channels),
        fields.tensor(f"{name}.activate.bias", len(kernel)),
        _noise(fields, number, size) * strength,
        number % 2 == 1,
        None,
    )


def _noise(fields: Fields, number: int, size: int) -> Float32:
    """The stored noise; old checkpoints hold none and get a fixed draw."""
    name = f"noises.noise_{number}"
    if name in fields:
        return fields.tensor(name, 1, 1, size, size).reshape(size, size)
    return np.asarray(np.random.default_rng(number).standard_normal((size, size)), np.float32)


def _rgb(fields: Fields, name: str, width: int, channels: int) -> RgbLayer:
    kernel = fields.tensor(f"{name}.conv.weight", 1, 3, channels, 1, 1)[0]
    return RgbLayer(
        kernel / np.float32(math.sqrt(channels)),
        fields.dense(f"{name}.conv.modulation", width, channels),
        fields.tensor(f"{name}.bias", 1, 3, 1, 1).reshape(3),
        None,
    )


def _blur(fields: Fields) -> Float32:
    """The filter without the gain of 4 that upsampling has stored with it."""
    name = "convs.0.conv.blur.kernel"
    if name in fields:
        return fields.tensor(name, 4, 4) / np.float32(4)
    taps = np.array([1, 3, 3, 1], np.float32) / np.float32(8)
    return np.asarray(np.outer(taps, taps), np.float32)
