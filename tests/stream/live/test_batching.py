from __future__ import annotations

import threading

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.backends.backend import Tensors, TensorSpec
from engines.errors import EngineFault
from stream.live.batching import BatchingSession

pytestmark = pytest.mark.unit


class Doubles:
    """A session that doubles its input, or fails."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.sizes: list[int] = []
        self._fault = fault

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        return ()

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        return ()

    def run(self, tensors: Tensors) -> dict[str, NDArray[np.float32]]:
        self.sizes.append(len(tensors["x"]))
        if self._fault is not None:
            raise self._fault
        return {"y": np.asarray(tensors["x"], np.float32) * 2}

    def close(self) -> None:
        self.sizes.clear()


def ask_together(session: BatchingSession, values: list[int]) -> dict[int, object]:
    answers: dict[int, object] = {}

    def ask(value: int) -> None:
        rows = np.full((2, 3), value, np.float32)
        try:
            answers[value] = session.run({"x": rows})["y"]
        except EngineFault as fault:
            answers[value] = fault

    threads = [threading.Thread(target=ask, args=(value,)) for value in values]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10.0)
    return answers


def test_calls_at_the_same_time_run_once_and_get_their_own_rows() -> None:
    inner = Doubles()
    answers = ask_together(BatchingSession(inner, most=8, wait_s=5.0), [1, 2, 3, 4])
    assert inner.sizes == [8]
    for value, answer in answers.items():
        assert isinstance(answer, np.ndarray)
        assert answer.tolist() == [[2.0 * value] * 3] * 2


def test_lonely_call_waits_no_longer_than_its_deadline() -> None:
    inner = Doubles()
    rows = np.ones((1, 3), np.float32)
    assert BatchingSession(inner, most=8, wait_s=0.0).run({"x": rows})["y"].shape == (1, 3)
    assert inner.sizes == [1]


def test_inputs_of_different_shape_are_run_apart() -> None:
    inner = Doubles()
    session = BatchingSession(inner, most=2, wait_s=0.0)
    session.run({"x": np.ones((1, 3), np.float32)})
    session.run({"x": np.ones((1, 5), np.float32)})
    assert inner.sizes == [1, 1]


def test_fault_of_a_joint_run_is_told_to_everyone() -> None:
    session = BatchingSession(Doubles(ValueError("broken")), most=4, wait_s=5.0)
    answers = ask_together(session, [1, 2])
    assert all(isinstance(answer, EngineFault) for answer in answers.values())
