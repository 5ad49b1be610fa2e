"""Graphs on a CUDA stream, told by a stand-in for the binding: one at a time, and none is lost."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from itertools import count
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from engines.backends.cuda_memory import open_stream
from tests.engines.backends.pycuda_driver import Driver, installed_driver

pytestmark = pytest.mark.unit

OK: tuple[int] = (0,)


class Runtime(ModuleType):
    """What the binding offers; counts what was made and freed."""

    cudaStreamCaptureMode = SimpleNamespace(cudaStreamCaptureModeThreadLocal=1)  # noqa: N815

    def __init__(self) -> None:
        super().__init__("cuda.bindings.runtime")
        self.names = count(1)
        self.recorded: set[int] = set()
        self.made: set[int] = set()
        self.launched: list[int] = []
        self.capturing = False
        self.capture_status = 0

    def cudaGetDeviceCount(self) -> tuple[int, int]:  # noqa: N802
        return 0, 1

    def cudaStreamCreate(self) -> tuple[int, int]:  # noqa: N802
        return 0, 7

    def cudaStreamDestroy(self, stream: int) -> tuple[int]:  # noqa: N802
        return OK

    def cudaGetLastError(self) -> tuple[int]:  # noqa: N802
        return OK

    def cudaStreamBeginCapture(self, stream: int, mode: int) -> tuple[int]:  # noqa: N802
        self.capturing = True
        return OK

    def cudaStreamEndCapture(self, stream: int) -> tuple[int, int]:  # noqa: N802
        self.capturing = False
        if self.capture_status:
            return self.capture_status, 0
        graph = next(self.names)
        self.recorded.add(graph)
        return 0, graph

    def cudaGraphInstantiate(self, graph: int, flags: int) -> tuple[int, int]:  # noqa: N802
        made = next(self.names)
        self.made.add(made)
        return 0, made

    def cudaGraphDestroy(self, graph: int) -> tuple[int]:  # noqa: N802
        self.recorded.remove(graph)
        return OK

    def cudaGraphExecDestroy(self, graph: int) -> tuple[int]:  # noqa: N802
        self.made.remove(graph)
        return OK

    def cudaGraphLaunch(self, graph: int, stream: int) -> tuple[int]:  # noqa: N802
        assert graph in self.made, "a graph that was freed"
        self.launched.append(graph)
        return OK


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Runtime:
    made = Runtime()
    monkeypatch.setitem(sys.modules, "cuda", ModuleType("cuda"))
    monkeypatch.setitem(sys.modules, "cuda.bindings", ModuleType("cuda.bindings"))
    monkeypatch.setitem(sys.modules, "cuda.bindings.runtime", made)
    return made


def test_a_stream_holds_one_graph_and_frees_it(runtime: Runtime) -> None:
    """The planted fault: a stream whose number of faces changes recorded ever more of them."""
    stream = open_stream()
    for turn in range(3):
        launch = stream.record(lambda: True)
        assert launch is not None
        launch()
        assert len(runtime.made) == 1
        assert len(set(runtime.launched)) == turn + 1
    stream.close()
    stream.close()
    assert not runtime.made
    assert not runtime.recorded


def test_what_is_refused_while_recording_leaves_nothing_behind(runtime: Runtime) -> None:
    stream = open_stream()
    assert stream.record(lambda: False) is None
    runtime.capture_status = 901
    assert stream.record(lambda: True) is None
    assert not runtime.made
    assert not runtime.recorded


def test_recording_ends_whatever_happens(runtime: Runtime) -> None:
    def work() -> bool:
        raise MemoryError

    with pytest.raises(MemoryError):
        open_stream().record(work)
    assert not runtime.capturing


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    return installed_driver(monkeypatch)


def on_another_thread(work: Callable[[], object]) -> None:
    """Runs work elsewhere; what it raises is raised here."""
    raised: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=guarded)
    thread.start()
    thread.join(10.0)
    for error in raised:
        raise error


def test_context_is_entered_on_whatever_thread_works(driver: Driver) -> None:
    stream = open_stream()
    assert driver.depth == 0, "the maker's thread keeps no context that others would miss"
    sent = np.arange(6, dtype=np.float32)
    back = np.zeros_like(sent)

    def work() -> None:
        with stream.entered():
            place = stream.allocate(sent.nbytes)
            stream.upload(place, sent)
            stream.download(back, place)
            stream.synchronize()
        assert driver.depth == 0

    on_another_thread(work)
    np.testing.assert_array_equal(back, sent)
    on_another_thread(stream.close)
    on_another_thread(stream.close)
    assert driver.live == 0


def test_context_is_left_after_a_fault(driver: Driver) -> None:
    stream = open_stream()
    with pytest.raises(ValueError, match="x"), stream.entered():
        raise ValueError("x")
    assert driver.depth == 0


def test_work_outside_of_the_context_is_what_the_stand_in_refuses(driver: Driver) -> None:
    stream = open_stream()
    with pytest.raises(RuntimeError, match="invalid device context"):
        on_another_thread(lambda: stream.allocate(4))
