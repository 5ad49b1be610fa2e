"""Runs what is the same every time as one CUDA graph: one launch instead of one per kernel."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final

from engines.backends.cuda_memory import DeviceStream
from engines.errors import EngineFault

__all__ = ["Replay"]

_STEADY: Final = 3
"""Runs alike, one after another, before a graph is worth recording."""


class Replay:
    """One network on one stream.

    Runs are plain until a few in a row were alike; then the next is recorded as a graph, which is
    launched for as long as they stay so. A graph is never used across a change: what TensorRT keeps
    in an execution context may have changed with it. Where nothing can be recorded runs stay plain.

    Args:
        stream: on which it runs.
        enqueue: puts the network's kernels on the stream; whether it could.
        records: whether graphs are recorded at all.
    """

    def __init__(
        self, stream: DeviceStream, enqueue: Callable[[], bool], *, records: bool = True
    ) -> None:
        self._stream = stream
        self._enqueue = enqueue
        self._records = records
        self._kind: Hashable = None
        self._alike = 0
        self._launch: Callable[[], None] | None = None

    def run(self, kind: Hashable) -> None:
        """Put the network on the stream.

        Args:
            kind: shapes and places of inputs and outputs; runs of one kind are alike.

        Raises:
            EngineFault: TensorRT or CUDA refused.
        """
        if kind != self._kind:
            self._kind, self._alike, self._launch = kind, 0, None
        self._alike += 1
        if self._records and self._launch is None and self._alike > _STEADY:
            self._launch = self._stream.record(self._enqueue)
            self._records = self._launch is not None
        if self._launch is not None:
            self._launch()
        elif not self._enqueue():
            raise EngineFault("TensorRT refused to run the network")
