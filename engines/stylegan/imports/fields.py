"""Takes tensors and settings out of a stored network, each checked before it is believed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from engines.errors import ModelRejected
from engines.stylegan.imports.networks import Dense, Float32
from engines.stylegan.numpy_pickles import plain
from engines.stylegan.pickles import StoredModule, tensors_of

__all__ = ["Fields", "clamp_of", "fields_of", "flag_of", "number_of", "part_of", "whole_of"]

_MOST_CHANNELS: Final = 2048
_MOST_TENSOR: Final = 1 << 26
"""Values of one tensor; the largest official one has 9.4 million."""


class Fields:
    """Tensors of one network by dotted name.

    Args:
        tensors: as stored.
    """

    def __init__(self, tensors: Mapping[str, npt.NDArray[np.generic]]) -> None:
        self._tensors = tensors

    def __contains__(self, name: str) -> bool:
        return name in self._tensors

    def tensor(self, name: str, *shape: int | None) -> Float32:
        """A tensor of the given shape as float32; None takes any size from 1 to 2048.

        Raises:
            ModelRejected: it is absent, of another shape, or holds NaN or infinity.
        """
        stored = self._tensors.get(name)
        if stored is None:
            raise ModelRejected(f"the network lacks {name}; it is no generator of this kind")
        if not _fits(stored.shape, shape):
            raise ModelRejected(
                f"{name} has the shape {stored.shape}; the file does not fit itself"
            )
        made = np.array(stored, np.float32, order="C")
        if not np.isfinite(made).all():
            raise ModelRejected(f"{name} holds NaN or infinity; the file is damaged")
        return made

    def dense(self, name: str, inputs: int, outputs: int | None, rate: float = 1.0) -> Dense:
        """A fully connected layer with the gains of its equalised learning rate applied.

        Args:
            name: of the layer.
            inputs: its input channels.
            outputs: its output channels, or None for any.
            rate: multiplier of its learning rate.
        """
        weight = self.tensor(f"{name}.weight", outputs, inputs)
        bias = self.tensor(f"{name}.bias", len(weight))
        return Dense(weight * np.float32(rate / math.sqrt(inputs)), bias * np.float32(rate))


def fields_of(module: StoredModule) -> Fields:
    """The tensors of a stored module."""
    return Fields(tensors_of(module))


def number_of(module: StoredModule, name: str, least: float, most: float) -> float:
    """A setting that must be a number within bounds.

    Raises:
        ModelRejected: it is not.
    """
    value = plain(module.state.get(name))
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ModelRejected(f"the network does not say its {name}; it is no official file")
    if not least <= value <= most:
        raise ModelRejected(f"the network's {name} is {value:g}; {least:g} to {most:g} is known")
    return float(value)


def whole_of(module: StoredModule, name: str, least: int, most: int) -> int:
    """A setting that must be a whole number within bounds.

    Raises:
        ModelRejected: it is not.
    """
    value = number_of(module, name, least, most)
    if value != int(value):
        raise ModelRejected(f"the network's {name} is {value:g}, not a whole number")
    return int(value)


def flag_of(module: StoredModule, name: str) -> bool:
    """A setting that must be true or false.

    Raises:
        ModelRejected: it is not.
    """
    value = module.state.get(name)
    if not isinstance(value, bool):
        raise ModelRejected(f"the network does not say whether {name}; it is no official file")
    return value


def part_of(module: StoredModule, name: str) -> StoredModule:
    """A module inside another.

    Raises:
        ModelRejected: it is absent.
    """
    inner = module.state.get("_modules")
    found = inner.get(name) if isinstance(inner, dict) else None
    if not isinstance(found, StoredModule):
        raise ModelRejected(f"the network has no {name}; it is no official generator")
    return found


def clamp_of(module: StoredModule) -> float | None:
    """The bound of a layer's activations; None where it has none."""
    if module.state.get("conv_clamp") is None:
        return None
    return number_of(module, "conv_clamp", 1e-3, 1e6)


def _fits(shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    if len(shape) != len(wanted) or math.prod(shape) > _MOST_TENSOR:
        return False
    return all(
        1 <= size <= _MOST_CHANNELS if expected is None else size == expected
        for size, expected in zip(shape, wanted, strict=True)
    )
