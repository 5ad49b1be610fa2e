"""The mapping network, which the official StyleGAN2-ADA and StyleGAN3 share."""

from __future__ import annotations

from typing import Final

from engines.errors import ModelRejected
from engines.stylegan.imports.fields import Fields, fields_of, number_of, part_of, whole_of
from engines.stylegan.imports.networks import Mapping
from engines.stylegan.pickles import StoredModule

__all__ = ["mapping_of", "refuse_unfit"]

_MOST_LAYERS: Final = 16
_MOST_WIDTH: Final = 1024
LEAST_SIZE: Final = 64
MOST_SIZE: Final = 1024


def refuse_unfit(generator: StoredModule) -> tuple[int, int]:
    """Check what holds for every official generator.

    Returns:
        Height and width of the picture in px, and width of w.

    Raises:
        ModelRejected: it takes labels, paints no colours, or has an unknown size.
    """
    size = whole_of(generator, "img_resolution", LEAST_SIZE, MOST_SIZE)
    if size & (size - 1):
        raise ModelRejected(f"the network paints {size} px; 64, 128, 256, 512 and 1024 are known")
    if whole_of(generator, "c_dim", 0, 1 << 20):
        raise ModelRejected("the network takes labels; only generators without are imported")
    if whole_of(generator, "img_channels", 1, 64) != 3:
        raise ModelRejected("the network paints no RGB pictures; it cannot be imported")
    return size, whole_of(generator, "w_dim", 1, _MOST_WIDTH)


def mapping_of(generator: StoredModule) -> Mapping:
    """Read the mapping network.

    Raises:
        ModelRejected: a part is absent, of another shape, or of another kind.
    """
    module = part_of(generator, "mapping")
    fields: Fields = fields_of(module)
    width = whole_of(module, "w_dim", 1, _MOST_WIDTH)
    inputs = whole_of(module, "z_dim", 1, _MOST_WIDTH)
    layers = []
    for number in range(whole_of(module, "num_layers", 1, _MOST_LAYERS)):
        layer = part_of(module, f"fc{number}")
        if layer.state.get("activation") != "lrelu":
            raise ModelRejected("the mapping network has an unknown activation; not imported")
        rate = number_of(layer, "bias_gain", 1e-6, 1e3)
        made = fields.dense(f"fc{number}", inputs, None, rate)
        layers.append(made)
        inputs = len(made.bias)
    if inputs != width:
        raise ModelRejected("the mapping network's last layer does not fit w; the file is damaged")
    return Mapping(tuple(layers), fields.tensor("w_avg", width))
