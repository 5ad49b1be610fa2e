"""What the scheduler itself costs: streams that ask a GPU which only sleeps.

    python -m benchmarks.streams [--faces 1] [--search-ms 2.0] [--seconds 3]

Every stream asks, as fast as it is answered, for what a frame takes: a search, and for its faces
landmarks and eyelids. The networks take the time that they take on a GPU and
next to none of the processor's, so that what the process spends is the scheduler's, copies for
joint runs included.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from engines.backends.backend import Tensors, TensorSpec
from stream.scheduling.request import Outputs
from stream.scheduling.scheduler import Scheduler, Terms

__all__ = ["ScheduleCost", "cost_table", "measure_schedule"]

_STREAMS: Final = (1, 2, 4, 8, 16, 32, 64)
_BATCHES: Final = (1, 4, 8, 16)
_LANDMARKER_MS: Final = (0.77, 0.24, 0.15, 0.09)
_LIDS_MS: Final = (0.26, 0.07, 0.03, 0.02)
"""Per row in batches of `_BATCHES`, as docs/models.md has them of an H200."""
_FLOAT: Final = np.dtype(np.float32)


@dataclass(frozen=True, slots=True)
class ScheduleCost:
    """What so many streams take.

    Attributes:
        streams: that ask.
        fps: frames a second, of all together.
        least_fps: of the stream that got the fewest.
        rows_per_run: of the networks of faces and searches, on average.
        processor_ms: of the process per frame.
    """

    streams: int
    fps: float
    least_fps: float
    rows_per_run: float
    processor_ms: float


class _Sleeps:
    """A network that takes rows of some shape, sleeps, and gives one number for each.

    Args:
        row: shape of a row.
        row_ms: time of a row in batches of `_BATCHES`; of any run, where it takes one at a time.
    """

    def __init__(self, row: tuple[int, ...], row_ms: Sequence[float]) -> None:
        rows = 1 if len(row_ms) == 1 else None  # searches are not joined
        self.inputs = (TensorSpec("x", (rows, *row), _FLOAT),)
        self.outputs = (TensorSpec("y", (rows, 1), _FLOAT),)
        self._row_ms = row_ms

    def run(self, tensors: Tensors) -> Outputs:
        """Sleeps as long as a GPU would work."""
        rows = len(tensors["x"])
        row_ms = np.interp(rows, _BATCHES[: len(self._row_ms)], self._row_ms)
        time.sleep(rows * float(row_ms) / 1e3)
        return {"y": np.zeros((rows, 1), np.float32)}

    def close(self) -> None:
        """Nothing to free."""


def measure_schedule(streams: int, faces: int, search_ms: float, seconds: float) -> ScheduleCost:
    """Lets streams ask for a while.

    Args:
        streams: that ask, each on a thread of its own.
        faces: in every frame.
        search_ms: time of a search of one frame.
        seconds: how long.

    Raises:
        EngineFault: the machine is so busy that a run took longer than it may.
    """
    scheduler, done = Scheduler(Terms()), [0] * streams
    jobs: list[tuple[_Sleeps, Tensors]] = [
        (_Sleeps((448, 768, 3), (search_ms,)), {"x": np.zeros((1, 448, 768, 3), np.uint8)}),
        (_Sleeps((3, 128, 128), _LANDMARKER_MS), _zeros(faces, 3, 128, 128)),
        (_Sleeps((1, 32, 48), _LIDS_MS), _zeros(2 * faces, 1, 32, 48)),
    ]
    end_s = time.monotonic() + seconds

    def stream(number: int) -> None:
        while time.monotonic() < end_s:
            for network, tensors in jobs:
                scheduler.run(network, tensors)
            done[number] += 1

    threads = [threading.Thread(target=stream, args=(number,)) for number in range(streams)]
    start_s, spent_s = time.monotonic(), time.process_time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    taken_s, spent_s = time.monotonic() - start_s, time.process_time() - spent_s
    scheduler.close()
    counts = scheduler.counts()
    frames = max(sum(done), 1)
    return ScheduleCost(
        streams,
        sum(done) / taken_s,
        min(done) / taken_s,
        counts["rows"] / counts["runs"],
        1e3 * spent_s / frames,
    )


def _zeros(*shape: int) -> Tensors:
    return {"x": np.zeros(shape, np.float32)}


def cost_table(costs: Sequence[ScheduleCost]) -> str:
    """The costs as a Markdown table."""
    lines = [
        "| streams | frames a second | of the least served stream | rows a run "
        "| processor ms per frame |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {one.streams} | {one.fps:.0f} | {one.least_fps:.1f} | {one.rows_per_run:.1f} "
        f"| {one.processor_ms:.2f} |"
        for one in costs
    ]
    return "\n".join(lines)


def main() -> None:
    """Prints the table, stream by stream."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--faces", type=int, default=1, help="in every frame")
    parser.add_argument("--search-ms", type=float, default=2.0, help="of a search; an assumption")
    parser.add_argument("--seconds", type=float, default=3.0, help="for each number of streams")
    chosen = parser.parse_args()
    costs = [
        measure_schedule(streams, chosen.faces, chosen.search_ms, chosen.seconds)
        for streams in _STREAMS
    ]
    sys.stdout.write(cost_table(costs) + "\n")


if __name__ == "__main__":
    main()
