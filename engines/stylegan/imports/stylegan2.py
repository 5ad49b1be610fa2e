"""Official StyleGAN2 generators as stylegan2-ada-pytorch and stylegan3 store them."""

from __future__ import annotations

import math

import numpy as np

from engines.errors import ModelRejected
from engines.stylegan.imports.fields import (
    Fields,
    clamp_of,
    fields_of,
    flag_of,
    part_of,
)
from engines.stylegan.imports.networks import RgbLayer, StyledLayer, StyleGan2
from engines.stylegan.imports.official_mapping import mapping_of, refuse_unfit
from engines.stylegan.pickles import StoredModule

__all__ = ["stylegan2_from_module"]


def stylegan2_from_module(generator: StoredModule) -> StyleGan2:
    """Read a StyleGAN2 generator.

    Args:
        generator: the stored `G_ema`.

    Raises:
        ModelRejected: a part is absent, of another shape, or of another kind.
    """
    size, width = refuse_unfit(generator)
    synthesis = part_of(generator, "synthesis")
    fields = fields_of(synthesis)
    reader = _Reader(synthesis, fields, width)
    constant = fields.tensor("b4.const", None, 4, 4)
    first, first_rgb = reader.styled("b4", "conv1", 4, len(constant)), reader.rgb("b4")
    blocks = []
    channels = len(first.bias)
    for step in range(1, int(math.log2(size)) - 1):
        name = f"b{4 << step}"
        upper = reader.styled(name, "conv0", 4 << step, channels)
        lower = reader.styled(name, "conv1", 4 << step, len(upper.bias))
        channels = len(lower.bias)
        blocks.append((upper, lower, reader.rgb(name)))
    blur = fields.tensor("b4.resample_filter", 4, 4)
    _refuse_other_filters(fields, blur, size)
    return StyleGan2(mapping_of(generator), constant, first, first_rgb, tuple(blocks), blur)


class _Reader:
    """Reads the layers of one synthesis network."""

    def __init__(self, synthesis: StoredModule, fields: Fields, width: int) -> None:
        self._synthesis = synthesis
        self._fields = fields
        self._width = width

    def styled(self, block: str, layer: str, size: int, channels: int) -> StyledLayer:
        stored = part_of(part_of(self._synthesis, block), layer)
        is_upsampling = layer == "conv0"
        if stored.state.get("activation") != "lrelu" or stored.state.get("up") != 1 + is_upsampling:
            raise ModelRejected(f"{block}.{layer} is of an unknown kind; not imported")
        name = f"{block}.{layer}"
        kernel = self._fields.tensor(f"{name}.weight", None, channels, 3, 3)
        noise = np.zeros((size, size), np.float32)
        if flag_of(stored, "use_noise"):
            strength = self._fields.tensor(f"{name}.noise_strength")
            noise = self._fields.tensor(f"{name}.noise_const", size, size) * strength
        return StyledLayer(
            kernel,
            self._fields.dense(f"{name}.affine", self._width, channels),
            self._fields.tensor(f"{name}.bias", len(kernel)),
            noise,
            is_upsampling,
            clamp_of(stored),
        )

    def rgb(self, block: str) -> RgbLayer:
        if part_of(self._synthesis, block).state.get("architecture") != "skip":
            raise ModelRejected("only generators with skip connections are imported")
        stored = part_of(part_of(self._synthesis, block), "torgb")
        name = f"{block}.torgb"
        kernel = self._fields.tensor(f"{name}.weight", 3, None, 1, 1)
        channels = kernel.shape[1]
        return RgbLayer(
            kernel / np.float32(math.sqrt(channels)),
            self._fields.dense(f"{name}.affine", self._width, channels),
            self._fields.tensor(f"{name}.bias", 3),
            clamp_of(stored),
        )


def _refuse_other_filters(fields: Fields, blur: np.ndarray, size: int) -> None:
    """Every block stores the filter again; it must be the same one."""
    for step in range(1, int(math.log2(size)) - 1):
        if not np.array_equal(fields.tensor(f"b{4 << step}.resample_filter", 4, 4), blur):
            raise ModelRejected("the network's blocks have different filters; not imported")
