"""A deadline around an engine: one that hangs becomes a fault, not a stopped stream."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.backends.answers import faults_told
from engines.backends.backend import Session, Tensors, TensorSpec
from engines.errors import EngineFault

__all__ = ["Guarded"]

_MOST_HUNG: Final = 4
Arrays = dict[str, NDArray[np.float32]]


class Guarded:
    """A session whose every run ends within a deadline.

    A run that takes longer keeps its thread, which no one can stop; its result is dropped.
    While four such runs have not ended the engine counts as dead and refuses at once, so that
    hung threads stay few.

    Args:
        session: the engine.
        deadline_s: seconds for one run. Larger waits longer on a slow machine before the
            face is covered; smaller takes a slow run for a hung one.
    """

    def __init__(self, session: Session, deadline_s: float) -> None:
        self._session = session
        self._deadline_s = deadline_s
        self._idle: SimpleQueue[_Worker] = SimpleQueue()
        self._hung = 0
        self._lock = threading.Lock()

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """What the network takes."""
        return self._session.inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """What the network gives."""
        return self._session.outputs

    @property
    def is_dead(self) -> bool:
        """Whether too many runs hang for another to be tried."""
        return self._hung >= _MOST_HUNG

    def run(self, tensors: Tensors) -> Arrays:
        """Runs the network once within the deadline; see `Session.run`.

        Raises:
            EngineFault: it failed, or gave no answer in time.
        """
        if self.is_dead:
            fault = EngineFault("the engine hung several times and is given up; restart kveil")
            fault.retryable = False
            raise fault
        try:
            worker = self._idle.get_nowait()
        except Empty:
            worker = _Worker()
        outcome = worker.start(lambda: self._session.run(tensors))
        if not outcome.is_done.wait(self._deadline_s):
            with self._lock:
                self._hung += 1
            worker.retire()
            outcome.after_end(self._recover)
            raise EngineFault(f"the engine gave no answer within {self._deadline_s:g} s")
        self._idle.put(worker)
        with faults_told("the engine"):
            return outcome.result()

    def close(self) -> None:
        """Ends the idle threads and closes the engine; idempotent."""
        while True:
            try:
                self._idle.get_nowait().retire()
            except Empty:
                break
        self._session.close()

    def _recover(self) -> None:
        """A late run has ended after all, so its thread is gone."""
        with self._lock:
            self._hung -= 1


class _Outcome:
    """What one run gave; read after `is_done` is set."""

    def __init__(self) -> None:
        self.is_done = threading.Event()
        self._arrays: Arrays = {}
        self._fault: BaseException | None = None
        self._call: Callable[[], None] | None = None
        self._lock = threading.Lock()

    def fill(self, job: Callable[[], Arrays]) -> None:
        try:
            self._arrays = job()
        except BaseException as fault:  # else the thread would die, and all later runs hang
            self._fault = fault
        finally:
            with self._lock:
                self.is_done.set()
                call = self._call
            if call is not None:
                call()

    def after_end(self, call: Callable[[], None]) -> None:
        """Calls once the job has ended: at once, or later on the job's own thread."""
        with self._lock:
            if not self.is_done.is_set():
                self._call = call
                return
        call()

    def result(self) -> Arrays:
        if isinstance(self._fault, Exception):
            raise self._fault
        if self._fault is not None:
            raise EngineFault(f"the engine failed ({type(self._fault).__name__})")
        return self._arrays


class _Worker:
    """A daemon thread, so that a hung run does not keep the program from ending."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[tuple[Callable[[], Arrays], _Outcome] | None] = SimpleQueue()
        threading.Thread(target=self._work, name="kveil-engine", daemon=True).start()

    def start(self, job: Callable[[], Arrays]) -> _Outcome:
        outcome = _Outcome()
        self._jobs.put((job, outcome))
        return outcome

    def retire(self) -> None:
        """Ends the thread after the job it has."""
        self._jobs.put(None)

    def _work(self) -> None:
        while (given := self._jobs.get()) is not None:
            job, outcome = given
            outcome.fill(job)
