"""What a session does with TensorRT and with CUDA, told by stand-ins for both."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import numpy.typing as npt
import pytest

from engines.backends import tensorrt
from engines.backends.tensorrt import TensorrtBackend, TensorrtSession
from engines.backends.tensorrt_build import BuildRequest
from engines.errors import EngineFault, ModelRejected
from tests.engines.models.packs import small_generator
from tests.engines.streams import Stream

pytestmark = pytest.mark.unit

Values = npt.NDArray[np.float32]
Job = Callable[[Values], Values]


class Context:
    """Runs `x` [N, 3] to `y` [N, 3]."""

    def __init__(self, memory: Stream, job: Job, config: object = None) -> None:
        self.memory, self.job, self.config = memory, job, config
        self.shape: tuple[int, ...] = ()
        self.addresses: dict[str, int] = {}

    def set_input_shape(self, name: str, shape: tuple[int, ...]) -> bool:
        self.shape = shape
        return 1 <= shape[0] <= 16 and shape[1:] == (3,)

    def get_tensor_shape(self, name: str) -> tuple[int, ...]:
        return self.shape

    def set_tensor_address(self, name: str, address: int) -> bool:
        self.addresses[name] = address
        return True

    def execute_async_v3(self, handle: int) -> bool:
        assert self.memory.depth == 1, "no context is current on this thread"
        size = self.shape[0] * 3
        x = self.memory.buffers[self.addresses["x"]][:size].reshape(self.shape)
        self.memory.buffers[self.addresses["y"]][:size] = self.job(x).ravel()
        return handle == Stream.handle


class Engine:
    num_io_tensors = 2

    def __init__(self, memory: Stream, job: Job, kind: str = "FLOAT") -> None:
        self.memory, self.job, self.kind = memory, job, kind
        self.contexts: list[Context] = []

    def get_tensor_name(self, index: int) -> str:
        return "xy"[index]

    def get_tensor_shape(self, name: str) -> tuple[int, ...]:
        return (-1, 3)

    def get_tensor_dtype(self, name: str) -> SimpleNamespace:
        return SimpleNamespace(name=self.kind)

    def get_tensor_mode(self, name: str) -> str:
        return {"x": "input", "y": "output"}[name]

    def create_runtime_config(self) -> SimpleNamespace:
        return SimpleNamespace(cuda_graph_strategy="none")

    def create_execution_context(self, config: object = None) -> Context:
        self.contexts.append(Context(self.memory, self.job, config))
        return self.contexts[-1]


class Installed:
    """A TensorRT and a GPU for the length of a test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, job: Job, kind: str = "FLOAT") -> None:
        self.memory = Stream()
        self.engine = Engine(self.memory, job, kind)
        self.sound = b"engine"

        def logger(level: int) -> None:
            del level

        logger.ERROR = 1  # type: ignore[attr-defined]
        self.module = SimpleNamespace(
            Logger=logger,
            Runtime=lambda _: SimpleNamespace(deserialize_cuda_engine=self._read),
            TensorIOMode=SimpleNamespace(INPUT="input"),
            ComputeCapability=SimpleNamespace(),
            CudaGraphStrategy=SimpleNamespace(WHOLE_GRAPH_CAPTURE="whole"),
        )
        monkeypatch.setattr(tensorrt, "tensorrt_module", lambda: self.module)
        monkeypatch.setattr(tensorrt, "open_stream", lambda: self.memory)
        monkeypatch.setattr(tensorrt, "current_capability", lambda: "8.6")

    def _read(self, content: bytes) -> Engine | None:
        return self.engine if content == self.sound else None


def test_run_gives_each_batch_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = Installed(monkeypatch, lambda x: 2 * x)
    session = TensorrtSession(b"engine")
    assert [spec.name for spec in session.inputs] == ["x"]
    assert session.outputs[0].shape == (None, 3)
    for count in (1, 16, 4):
        x = np.random.default_rng(count).standard_normal((count, 3)).astype(np.float32)
        np.testing.assert_array_equal(session.run({"x": x})["y"], 2 * x)
    grown = len(installed.memory.buffers)
    session.run({"x": np.zeros((8, 3), np.float32)})
    assert len(installed.memory.buffers) == grown
    session.close()
    assert installed.memory.is_closed


def test_graphs_are_captured_where_tensorrt_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = Installed(monkeypatch, lambda x: x)
    TensorrtSession(b"engine")
    assert installed.engine.contexts[0].config == SimpleNamespace(cuda_graph_strategy="whole")
    del installed.module.CudaGraphStrategy
    TensorrtSession(b"engine")
    assert installed.engine.contexts[1].config is None


def test_graphs_give_each_run_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = Installed(monkeypatch, lambda x: 2 * x)
    del installed.module.CudaGraphStrategy
    recorded: list[int] = []

    def record(work: Callable[[], bool]) -> Callable[[], None]:
        recorded.append(installed.engine.contexts[0].shape[0])
        return lambda: None if work() else pytest.fail("the network was refused")

    installed.memory.record = record
    session = TensorrtSession(b"engine")
    for turn, count in enumerate((2,) * 6 + (3,) * 2 + (2,) * 6 + (16,) * 6):
        x = np.random.default_rng(turn).standard_normal((count, 3)).astype(np.float32)
        np.testing.assert_array_equal(session.run({"x": x})["y"], 2 * x)
    assert recorded == [2, 2, 16]


@pytest.mark.parametrize("shape", [(17, 3), (2, 4)])
def test_shape_that_was_not_built_is_a_fault(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...]
) -> None:
    Installed(monkeypatch, lambda x: x)
    with pytest.raises(EngineFault, match="shape"):
        TensorrtSession(b"engine").run({"x": np.zeros(shape, np.float32)})


def test_absent_input_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    Installed(monkeypatch, lambda x: x)
    with pytest.raises(EngineFault, match="input x"):
        TensorrtSession(b"engine").run({})


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_answer_that_is_no_number_is_a_fault(monkeypatch: pytest.MonkeyPatch, value: float) -> None:
    Installed(monkeypatch, lambda x: x + np.float32(value))
    with pytest.raises(EngineFault, match="NaN"):
        TensorrtSession(b"engine").run({"x": np.zeros((1, 3), np.float32)})


def test_engine_of_another_gpu_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    Installed(monkeypatch, lambda x: x)
    with pytest.raises(ModelRejected, match="build it again"):
        TensorrtSession(b"other")


def test_tensor_of_another_type_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    Installed(monkeypatch, lambda x: x, "HALF")
    with pytest.raises(ModelRejected, match="HALF"):
        TensorrtSession(b"engine")


def test_damaged_engine_in_the_cache_is_built_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installed = Installed(monkeypatch, lambda x: x)
    path = tmp_path / "kept.engine"
    path.write_bytes(b"damaged")
    asked: list[BuildRequest] = []

    def cached(model: bytes, request: BuildRequest, folder: Path) -> Path:
        asked.append(request)
        if not path.exists():
            path.write_bytes(installed.sound)
        return path

    monkeypatch.setattr(tensorrt, "cached_engine", cached)
    TensorrtBackend(tmp_path).load(small_generator(), precision="fp16")
    assert [request.capability for request in asked] == ["8.6", "8.6"]
    assert asked[0].shapes["latents"].most == (16, 2, 8)
    assert path.read_bytes() == installed.sound


def test_cache_that_cannot_be_written_costs_a_build_and_no_more(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installed = Installed(monkeypatch, lambda x: x)

    def unwritable(model: bytes, request: BuildRequest, folder: Path) -> Path:
        raise PermissionError

    monkeypatch.setattr(tensorrt, "cached_engine", unwritable)
    monkeypatch.setattr(tensorrt, "build_engine", lambda model, request: installed.sound)
    assert TensorrtBackend(tmp_path).load(small_generator()).inputs
