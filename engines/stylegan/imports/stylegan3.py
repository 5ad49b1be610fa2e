"""Official StyleGAN3 generators, configurations T and R."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from engines.errors import ModelRejected
from engines.stylegan.imports.fields import (
    Fields,
    clamp_of,
    fields_of,
    flag_of,
    number_of,
    part_of,
    whole_of,
)
from engines.stylegan.imports.networks import FilteredLayer, Float32, Fourier, StyleGan3
from engines.stylegan.imports.official_mapping import mapping_of, refuse_unfit
from engines.stylegan.numpy_pickles import plain
from engines.stylegan.pickles import StoredModule

__all__ = ["is_radial", "stylegan3_from_module"]

_MOST_LAYERS: Final = 32
_MOST_FACTOR: Final = 8
_MOST_TAPS: Final = 64
_MOST_PADDING: Final = 4096
_MOST_SIDE: Final = 2048


def stylegan3_from_module(generator: StoredModule) -> StyleGan3:
    """Read a StyleGAN3 generator.

    Args:
        generator: the stored `G_ema`.

    Raises:
        ModelRejected: a part is absent, of another shape, or of another kind.
    """
    size, width = refuse_unfit(generator)
    synthesis = part_of(generator, "synthesis")
    names = synthesis.state.get("layer_names")
    if not isinstance(names, list) or not 1 <= len(names) <= _MOST_LAYERS:
        raise ModelRejected("the network does not name its layers; it is no StyleGAN3 file")
    fields = fields_of(synthesis)
    fourier = _fourier(part_of(synthesis, "input"), fields, width)
    layers, channels, side = [], len(fourier.weight), fourier.size
    for name in names:
        layer = _layer(part_of(synthesis, str(name)), fields, str(name), width, channels)
        channels, side = len(layer.bias), layer.size_after(side)
        if not 1 <= side <= _MOST_SIDE:
            raise ModelRejected(f"layer {name} gives {side} px; the file does not fit itself")
        layers.append(layer)
    if (side, channels, layers[-1].is_rgb) != (size, 3, True):
        raise ModelRejected(f"the layers give {channels} channels of {side} px, not RGB of {size}")
    scale = number_of(synthesis, "output_scale", 1e-6, 1e6)
    return StyleGan3(mapping_of(generator), fourier, tuple(layers), scale, size)


def is_radial(network: StyleGan3) -> bool:
    """Whether its downsampling is radially symmetric: configuration R, not T."""
    return any(layer.down is not None and layer.down.ndim == 2 for layer in network.layers_filtered)


def _fourier(module: StoredModule, fields: Fields, width: int) -> Fourier:
    weight = fields.tensor("input.weight", None, None)
    count = len(weight)
    return Fourier(
        fields.tensor("input.freqs", count, 2),
        fields.tensor("input.phases", count),
        fields.tensor("input.transform", 3, 3),
        fields.dense("input.affine", width, 4),
        fields.tensor("input.weight", count, count) / np.float32(math.sqrt(count)),
        _side(module),
        number_of(module, "sampling_rate", 1, _MOST_SIDE),
        number_of(module, "bandwidth", 0.1, _MOST_SIDE),
    )


def _side(module: StoredModule) -> int:
    sides = plain(module.state.get("size"))
    if not isinstance(sides, np.ndarray) or sides.shape != (2,) or sides[0] != sides[1]:
        raise ModelRejected("the network's input is not square; it is no official file")
    if not 4 <= sides[0] <= _MOST_SIDE:
        raise ModelRejected(f"the network's input has {sides[0]} px; the file is damaged")
    return int(sides[0])


def _layer(
    module: StoredModule, fields: Fields, name: str, width: int, channels: int
) -> FilteredLayer:
    side = whole_of(module, "conv_kernel", 1, 3)
    is_rgb = flag_of(module, "is_torgb")
    kernel = fields.tensor(f"{name}.weight", None, channels, side, side)
    if is_rgb:
        kernel = kernel / np.float32(math.sqrt(channels * side * side))
    magnitude = float(fields.tensor(f"{name}.magnitude_ema"))
    if magnitude <= 0:
        raise ModelRejected(f"{name} has the magnitude {magnitude:g}; the file is damaged")
    return FilteredLayer(
        kernel,
        fields.dense(f"{name}.affine", width, channels),
        fields.tensor(f"{name}.bias", len(kernel)),
        1.0 / math.sqrt(magnitude),
        _filter(fields, f"{name}.up_filter"),
        _filter(fields, f"{name}.down_filter"),
        whole_of(module, "up_factor", 1, _MOST_FACTOR),
        whole_of(module, "down_factor", 1, _MOST_FACTOR),
        _padding(module),
        clamp_of(module),
        is_rgb,
    )


def _filter(fields: Fields, name: str) -> Float32 | None:
    if name not in fields:
        return None
    for shape in ((None,), (None, None)):
        try:
            made = fields.tensor(name, *shape)
        except ModelRejected:
            continue
        if made.shape[0] <= _MOST_TAPS and made.shape[0] == made.shape[-1]:
            return made
    raise ModelRejected(f"{name} is no filter that kveil knows; the file is damaged")


def _padding(module: StoredModule) -> tuple[int, int]:
    """Left and right; above and below must be the same."""
    sides = module.state.get("padding")
    if not isinstance(sides, list) or len(sides) != 4:
        raise ModelRejected("a layer does not say its padding; it is no official file")
    if not all(isinstance(side, int) and abs(side) <= _MOST_PADDING for side in sides):
        raise ModelRejected("a layer's padding is impossible; the file is damaged")
    if sides[:2] != sides[2:]:
        raise ModelRejected("a layer pads width and height differently; not imported")
    return int(sides[0]), int(sides[1])
