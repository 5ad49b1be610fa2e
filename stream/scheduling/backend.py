"""A runtime whose networks run through the scheduler of their device."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engines.backends.backend import Precision, Session, Tensors, TensorSpec
from engines.detectors.gate import HardwareBackend
from stream.scheduling.scheduler import Scheduler

__all__ = ["ScheduledBackend", "ScheduledSession"]


class ScheduledSession:
    """A network that the scheduler runs; see `Session`.

    Args:
        network: of the scheduler's device.
        scheduler: runs it.
    """

    def __init__(self, network: Session, scheduler: Scheduler) -> None:
        self._network = network
        self._scheduler = scheduler

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """What the network takes."""
        return self._network.inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """What the network gives."""
        return self._network.outputs

    def run(self, tensors: Tensors) -> dict[str, NDArray[np.float32]]:
        """Runs the network once, as the scheduler can.

        Raises:
            EngineFault: see `Scheduler.run`.
        """
        return self._scheduler.run(self._network, tensors)

    def close(self) -> None:
        """Closes the network; idempotent."""
        self._network.close()


class ScheduledBackend:
    """Loads networks on the thread that asks, as that may take long; a scheduler runs them.

    Args:
        backend: the runtime.
        scheduler: of its device.
    """

    def __init__(self, backend: HardwareBackend, scheduler: Scheduler) -> None:
        self._backend = backend
        self._scheduler = scheduler

    @property
    def name(self) -> str:
        """The runtime's."""
        return self._backend.name

    @property
    def version(self) -> str:
        """Release of the runtime."""
        return self._backend.version

    @property
    def processor(self) -> str:
        """What the processor or GPU calls itself."""
        return self._backend.processor

    @property
    def reduced(self) -> tuple[Precision, ...]:
        """Half precisions that it computes in natively, the better first."""
        return self._backend.reduced

    def load(
        self,
        model: Path | bytes,
        *,
        precision: Precision = "fp32",
        shapes: Mapping[str, tuple[int, ...]] | None = None,
    ) -> ScheduledSession:
        """Loads an ONNX network; see `Backend.load`."""
        network = self._backend.load(model, precision=precision, shapes=shapes)
        return ScheduledSession(network, self._scheduler)
