"""The contract of every runtime: load a network once, run it on named arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Backend", "Precision", "Session", "TensorSpec", "Tensors"]

Precision = Literal["fp32", "bf16", "fp16"]
Tensor = NDArray[np.float32] | NDArray[np.uint8] | NDArray[np.int64]
Tensors = Mapping[str, Tensor]


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """Name, shape (None where dynamic) and dtype of one input or output."""

    name: str
    shape: tuple[int | None, ...]
    dtype: np.dtype[np.generic]


class Session(Protocol):
    """One loaded network; safe to call from several threads."""

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """What the network takes."""

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """What the network gives."""

    def run(self, tensors: Tensors) -> dict[str, NDArray[np.float32]]:
        """Runs the network once.

        Args:
            tensors: one array per input, by name. Not kept after the call.

        Returns:
            One array per output, by name; the caller owns them.

        Raises:
            EngineFault: the runtime failed, or an output holds NaN or infinity.
        """

    def close(self) -> None:
        """Frees the runtime's memory; idempotent."""


class Backend(Protocol):
    """A runtime that can load ONNX networks."""

    @property
    def name(self) -> str:
        """Such as `openvino`; shown by `kveil doctor` and in reports."""

    def load(
        self,
        model: Path | bytes,
        *,
        precision: Precision = "fp32",
        shapes: Mapping[str, tuple[int, ...]] | None = None,
    ) -> Session:
        """Loads an ONNX network.

        Args:
            model: file, or its bytes.
            precision: arithmetic to use; a backend without it uses fp32.
            shapes: fixes dynamic input shapes, by input name, where that runs faster.

        Raises:
            BackendMissing: the runtime is not installed.
            ModelMissing: there is no such file.
            ModelRejected: the file is not a network that this runtime reads.
        """
