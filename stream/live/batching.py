"""Runs a network once for several streams that ask at about the same time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from engines.backends.backend import Session, Tensors, TensorSpec
from engines.errors import EngineFault

__all__ = ["BatchingSession"]

Outputs = dict[str, NDArray[np.float32]]


@dataclass(slots=True)
class _Batch:
    """Requests of equal shape that are run together; the first to come runs them."""

    key: tuple[object, ...]
    requests: list[Tensors] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    is_closed: bool = False
    done: threading.Event = field(default_factory=threading.Event)
    outputs: list[Outputs] = field(default_factory=list)
    fault: Exception | None = None


class BatchingSession:
    """A session that joins calls from several threads along the first axis.

    The first caller waits at most `wait_s` for others and then runs the network for all. Inputs
    of different shape are run apart. A fault of the joint run is everybody's fault: each
    caller covers its own faces.

    Args:
        session: takes a dynamic first axis; outputs have one row per input row.
        most: rows of one run at most.
        wait_s: how long the first caller waits; larger fills batches better and adds latency.
        deadline_s: how long the others wait for the run.
        now: monotonic seconds.
    """

    def __init__(
        self,
        session: Session,
        most: int,
        wait_s: float,
        deadline_s: float = 10.0,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._session = session
        self._most = most
        self._wait_s = wait_s
        self._deadline_s = deadline_s
        self._now = now
        self._changed = threading.Condition()
        self._open: dict[tuple[object, ...], _Batch] = {}
        self.runs = 0
        self.rows = 0

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """As of the session beneath."""
        return self._session.inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """As of the session beneath."""
        return self._session.outputs

    def close(self) -> None:
        """Frees the session beneath; idempotent."""
        self._session.close()

    def run(self, tensors: Tensors) -> Outputs:
        """Runs these rows, together with those of others; see `Session.run`.

        Raises:
            EngineFault: the joint run failed or took too long.
        """
        batch, place = self._join(tensors)
        if place == 0:
            self._lead(batch)
        elif not batch.done.wait(self._deadline_s):
            raise EngineFault("a network shared with other streams did not answer in time")
        if batch.fault is not None:
            raise EngineFault(f"a joint run failed ({type(batch.fault).__name__})")
        return batch.outputs[place]

    def _join(self, tensors: Tensors) -> tuple[_Batch, int]:
        key = tuple((name, one.shape[1:], one.dtype.str) for name, one in sorted(tensors.items()))
        rows = next(iter(tensors.values())).shape[0]
        with self._changed:
            batch = self._open.get(key)
            if batch is None or batch.is_closed or sum(batch.rows) + rows > self._most:
                batch = _Batch(key)
                self._open[key] = batch
            batch.requests.append(tensors)
            batch.rows.append(rows)
            self._changed.notify_all()
            return batch, len(batch.requests) - 1

    def _lead(self, batch: _Batch) -> None:
        with self._changed:
            self._changed.wait_for(lambda: sum(batch.rows) >= self._most, self._wait_s)
            batch.is_closed = True
            if self._open.get(batch.key) is batch:
                del self._open[batch.key]
        try:
            batch.outputs = self._run_joined(batch)
        except Exception as fault:
            batch.fault = fault
        finally:
            batch.done.set()

    def _run_joined(self, batch: _Batch) -> list[Outputs]:
        names = list(batch.requests[0])
        joined = {name: np.concatenate([one[name] for one in batch.requests]) for name in names}
        results = self._session.run(joined)
        with self._changed:
            self.runs += 1
            self.rows += sum(batch.rows)
        ends = np.cumsum(batch.rows)
        return [
            {name: array[end - rows : end] for name, array in results.items()}
            for rows, end in zip(batch.rows, ends, strict=True)
        ]
