"""Networks for tests of the scheduler: what they give is told by a function."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from engines.backends.backend import Tensors, TensorSpec
from engines.errors import EngineFault
from stream.scheduling.scheduler import Scheduler
from tests.engines.backends.fake import FakeSession

FLOAT = np.dtype(np.float32)
Rows = NDArray[np.float32]


class Doubles(FakeSession):
    """Doubles its rows, and notes how many came together; negative ones hang until released.

    Args:
        fault: raised instead, whatever it is.
    """

    def __init__(self, fault: BaseException | None = None) -> None:
        rows = (None, None)
        super().__init__(
            self._doubled, (TensorSpec("x", rows, FLOAT),), (TensorSpec("y", rows, FLOAT),)
        )
        self.fault = fault
        self.sizes: list[int] = []
        self.threads: list[threading.Thread] = []
        self.release = threading.Event()

    def run(self, tensors: Tensors) -> dict[str, Rows]:
        if self.fault is not None:
            raise self.fault
        return super().run(tensors)

    def _doubled(self, tensors: Tensors) -> dict[str, Rows]:
        rows = np.asarray(tensors["x"], np.float32)
        self.sizes.append(len(rows))
        self.threads.append(threading.current_thread())
        if rows.min() < 0:
            self.release.wait(30.0)
        return {"y": 2 * rows}


def rows_of(value: float, count: int = 1, width: int = 3) -> dict[str, Rows]:
    return {"x": np.full((count, width), value, np.float32)}


def asked(scheduler: Scheduler, network: Doubles, tensors: Tensors) -> Rows | EngineFault:
    """What a run gives, or its fault."""
    try:
        return scheduler.run(network, tensors)["y"]
    except EngineFault as fault:
        return fault


def together(*jobs: Callable[[], object]) -> list[object]:
    """What jobs give that are run at the same time, each on its own thread."""
    found: list[object] = [None] * len(jobs)

    def run(place: int) -> None:
        found[place] = jobs[place]()

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30.0)
    return found
