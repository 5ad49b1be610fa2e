"""Graphs on a CUDA stream, told by a stand-in for the binding: one at a time, and none is lost."""

from __future__ import annotations

import sys
from itertools import count
from types import ModuleType, SimpleNamespace

import pytest

from engines.backends.cuda_memory import open_stream

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
