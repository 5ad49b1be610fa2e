"""A run of a network that somebody waits for, and how several become one."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from engines.backends.backend import Session, Tensors
from engines.errors import EngineFault, KveilError

__all__ = ["Outputs", "Request", "answered", "request_of"]

Outputs = dict[str, NDArray[np.float32]]
_Form = tuple[tuple[object, ...], ...]


@dataclass(slots=True, eq=False)
class Request:
    """One run that is wanted. Its first answer counts; what comes later is dropped.

    Attributes:
        network: that is run.
        tensors: one array per input, by name; not changed.
        asked_s: when it was asked for, monotonic s.
        due_s: until when somebody waits; infinite for as long as it takes.
        rows: length of the first axis.
        form: names, shapes of a row and types of the tensors; empty where the network takes a
            fixed number of rows.
        done: set once there is an answer.
    """

    network: Session
    tensors: Tensors
    asked_s: float
    due_s: float
    rows: int = 1
    form: _Form = ()
    done: threading.Event = field(default_factory=threading.Event)
    _outputs: Outputs = field(default_factory=dict)
    _fault: BaseException | None = None

    def fits(self, other: Request) -> bool:
        """Whether both can be one run: of the same network, and rows of the same shape."""
        return self.network is other.network and bool(self.form) and self.form == other.form

    def answer(self, answer: Outputs | BaseException) -> None:
        """Gives outputs, or the fault in their place."""
        if self.done.is_set():
            return
        if isinstance(answer, BaseException):
            self._fault = answer
        else:
            self._outputs = answer
        self.done.set()

    def outputs(self) -> Outputs:
        """What the run gave, once it is done.

        Raises:
            EngineFault: the run failed, or there was none.
        """
        fault = self._fault
        if fault is None:
            return self._outputs
        told = str(fault) if isinstance(fault, KveilError) else type(fault).__name__
        raise EngineFault(f"an engine failed: {told}") from fault


def request_of(network: Session, tensors: Tensors, asked_s: float, due_s: float) -> Request:
    """A request, which can be joined with others where every first axis of its network is open."""
    firsts = [one.shape[:1] for one in (*network.inputs, *network.outputs)]
    if not network.inputs or firsts.count((None,)) < len(firsts):
        return Request(network, tensors, asked_s, due_s)
    form = tuple(sorted([(name, *one.shape[1:], one.dtype.str) for name, one in tensors.items()]))
    rows = max(map(len, tensors.values()), default=1)
    return Request(network, tensors, asked_s, due_s, rows, form)


def answered(batch: Sequence[Request]) -> list[Outputs | BaseException]:
    """Runs requests that fit together as one, and says for each what came of it.

    Where the joint run fails, each is run alone, so that nobody pays for another's fault. What a
    run raises is an answer, also where it is no `Exception`, as with panics of Rust.

    Args:
        batch: of one network, not empty.
    """
    try:
        return _split(batch[0].network.run(_joined(batch)), [one.rows for one in batch])
    except BaseException as fault:
        if len(batch) == 1:
            return [fault]
    return [answer for one in batch for answer in answered([one])]


def _joined(batch: Sequence[Request]) -> Tensors:
    if len(batch) == 1:
        return batch[0].tensors
    return {name: np.concatenate([one.tensors[name] for one in batch]) for name in batch[0].tensors}


def _split(outputs: Outputs, rows: Sequence[int]) -> list[Outputs | BaseException]:
    """Everybody's rows of the outputs of one run."""
    if len(rows) == 1:
        return [outputs]
    ends = np.cumsum(rows).tolist()
    return [
        {name: one[end - own : end] for name, one in outputs.items()}
        for own, end in zip(rows, ends, strict=True)
    ]
