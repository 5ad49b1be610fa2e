"""A device's memory and stream, told on the processor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from engines.backends.cuda_memory import HostArray

__all__ = ["Stream"]

Recorder = Callable[[Callable[[], bool]], Callable[[], None] | None]


def _run_again(work: Callable[[], bool]) -> Callable[[], None]:
    """A graph that does what was recorded."""

    def launch() -> None:
        work()

    return launch


class Stream:
    """Buffers by address, copied in order.

    Args:
        record: what recording gives.
    """

    handle = 7

    def __init__(self, record: Recorder = _run_again) -> None:
        self.buffers: dict[int, npt.NDArray[np.float32]] = {}
        self.is_closed = False
        self.depth = 0
        self.record = record

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Counts who is inside."""
        self.depth += 1
        yield
        self.depth -= 1

    def allocate(self, nbytes: int) -> int:
        """The address of a new buffer of float32."""
        address = 1000 + len(self.buffers)
        self.buffers[address] = np.zeros(nbytes // 4, np.float32)
        return address

    def upload(self, address: int, array: HostArray) -> None:
        """Copies into a buffer."""
        self.buffers[address][: array.size] = array.ravel()

    def download(self, array: HostArray, address: int) -> None:
        """Copies out of a buffer."""
        array.ravel()[:] = self.buffers[address][: array.size]

    def synchronize(self) -> None:
        """Nothing is outstanding."""

    def close(self) -> None:
        """Told to the test."""
        self.is_closed = True
