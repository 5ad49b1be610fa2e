"""The one seam to CUDA: device buffers, a stream, and graphs, over whichever binding is there.

`pycuda` compiles from source and needs the CUDA toolkit; `cuda-python` comes as wheels.
Both are optional and imported only when a GPU session is opened.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import ModuleType
from typing import NamedTuple, Protocol, SupportsInt, TypeVar

import numpy as np
from numpy.typing import NDArray

from engines.errors import BackendMissing, EngineFault

__all__ = ["DeviceStream", "current_capability", "gpu_name", "open_stream"]

T = TypeVar("T")
HostArray = NDArray[np.float32] | NDArray[np.uint8] | NDArray[np.int64]


class DeviceStream(Protocol):
    """One CUDA stream and the buffers used on it. Not for several threads at once.

    Whoever uses it, TensorRT included, does so inside of `entered`, on whatever thread.
    """

    def entered(self) -> AbstractContextManager[None]:
        """Makes the GPU's context the calling thread's for as long as the body runs."""

    @property
    def handle(self) -> int:
        """The stream as TensorRT takes it."""

    def allocate(self, nbytes: int) -> int:
        """A device buffer, freed by `close`; its address."""

    def upload(self, address: int, array: HostArray) -> None:
        """Copies a C-contiguous array to the device, in stream order."""

    def download(self, array: HostArray, address: int) -> None:
        """Copies from the device into a C-contiguous array, in stream order."""

    def record(self, work: Callable[[], bool]) -> Callable[[], None] | None:
        """Records what `work` puts on the stream as one CUDA graph, without running it.

        A stream holds one graph: the one before is freed, and must not be launched any more.

        Args:
            work: puts kernels on the stream, neither waits nor allocates; whether it could.

        Returns:
            What launches the graph, in stream order; None where it cannot be recorded.
        """

    def synchronize(self) -> None:
        """Waits until everything on the stream is done."""

    def close(self) -> None:
        """Frees buffers, graph and stream; idempotent."""


def open_stream() -> DeviceStream:
    """A stream over the first binding that works.

    Raises:
        BackendMissing: no binding, no driver or no GPU.
    """
    ways: tuple[Callable[[], DeviceStream], ...] = (_RuntimeStream, _PycudaStream)
    return _by_first_binding(*ways)


def current_capability() -> str:
    """Compute capability of the first GPU, such as `8.6`.

    Raises:
        BackendMissing: no binding, no driver or no GPU.
    """
    return _by_first_binding(_gpu_by_runtime, _gpu_by_pycuda).capability


def gpu_name() -> str:
    """What the first GPU calls itself.

    Raises:
        BackendMissing: no binding, no driver or no GPU.
    """
    return _by_first_binding(_gpu_by_runtime, _gpu_by_pycuda).name


class _Gpu(NamedTuple):
    name: str
    capability: str


def _by_first_binding(*ways: Callable[[], T]) -> T:
    for way in ways:
        try:
            return way()
        except (ImportError, EngineFault, RuntimeError, OSError):
            continue
    raise BackendMissing(
        "no usable GPU: install the NVIDIA driver and `pip install cuda-python` (or pycuda)"
    )


def _gpu_by_runtime() -> _Gpu:
    cuda: ModuleType = importlib.import_module("cuda.bindings.runtime")
    status, found = cuda.cudaGetDeviceProperties(0)
    if int(status) != 0:
        raise EngineFault(f"CUDA call failed: {status}")
    return _Gpu(found.name.decode(), f"{found.major}.{found.minor}")


def _gpu_by_pycuda() -> _Gpu:
    driver: ModuleType = importlib.import_module("pycuda.driver")
    driver.init()
    device = driver.Device(0)
    major, minor = device.compute_capability()
    return _Gpu(str(device.name()), f"{major}.{minor}")


class _RuntimeStream:
    """Over `cuda-python`'s runtime bindings."""

    def __init__(self) -> None:
        self._cuda: ModuleType = importlib.import_module("cuda.bindings.runtime")
        self._buffers: list[int] = []
        self._graph: object | None = None
        count = self._checked(self._cuda.cudaGetDeviceCount())
        if not count:
            raise EngineFault("the machine has no GPU")
        self._stream = self._checked(self._cuda.cudaStreamCreate())

    def entered(self) -> AbstractContextManager[None]:
        """Nothing to do: the runtime gives every thread the context of the first GPU."""
        return nullcontext()

    @property
    def handle(self) -> int:
        """The stream as TensorRT takes it."""
        return int(self._stream or 0)

    def allocate(self, nbytes: int) -> int:
        """A device buffer, freed by `close`; its address."""
        address = int(self._checked(self._cuda.cudaMalloc(nbytes)) or 0)
        self._buffers.append(address)
        return address

    def upload(self, address: int, array: HostArray) -> None:
        """Copies a C-contiguous array to the device, in stream order."""
        kind = self._cuda.cudaMemcpyKind.cudaMemcpyHostToDevice
        self._copy(address, array.ctypes.data, array.nbytes, kind)

    def download(self, array: HostArray, address: int) -> None:
        """Copies from the device into a C-contiguous array, in stream order."""
        kind = self._cuda.cudaMemcpyKind.cudaMemcpyDeviceToHost
        self._copy(array.ctypes.data, address, array.nbytes, kind)

    def record(self, work: Callable[[], bool]) -> Callable[[], None] | None:
        """Records what `work` puts on the stream as one CUDA graph, without running it."""
        cuda, is_done = self._cuda, False
        self._free_graph()
        mode = cuda.cudaStreamCaptureMode.cudaStreamCaptureModeThreadLocal
        self._checked(cuda.cudaStreamBeginCapture(self._stream, mode))
        try:
            is_done = work()
        finally:
            status, recorded = cuda.cudaStreamEndCapture(self._stream)
        if int(status) != 0:
            cuda.cudaGetLastError()  # else the next call reports it
            return None
        try:
            if is_done:
                self._graph = self._checked(cuda.cudaGraphInstantiate(recorded, 0))
        finally:
            cuda.cudaGraphDestroy(recorded)
        return self._launch if is_done else None

    def synchronize(self) -> None:
        """Waits until everything on the stream is done."""
        self._checked(self._cuda.cudaStreamSynchronize(self._stream))

    def close(self) -> None:
        """Frees buffers, graph and stream; idempotent."""
        self._free_graph()
        while self._buffers:
            self._cuda.cudaFree(self._buffers.pop())
        if self._stream is not None:
            self._cuda.cudaStreamDestroy(self._stream)
            self._stream = None

    def _launch(self) -> None:
        self._checked(self._cuda.cudaGraphLaunch(self._graph, self._stream))

    def _free_graph(self) -> None:
        if self._graph is not None:
            self._cuda.cudaGraphExecDestroy(self._graph)
            self._graph = None

    def _copy(self, target: int, source: int, nbytes: int, kind: object) -> None:
        self._checked(self._cuda.cudaMemcpyAsync(target, source, nbytes, kind, self._stream))

    def _checked(self, answer: tuple[SupportsInt, ...]) -> SupportsInt | None:
        status, *values = answer
        if int(status) != 0:
            raise EngineFault(f"CUDA call failed: {status}")
        return values[0] if values else None


class _PycudaStream:
    """Over `pycuda`'s driver bindings."""

    def __init__(self) -> None:
        self._driver: ModuleType = importlib.import_module("pycuda.driver")
        self._driver.init()
        self._context = self._driver.Device(0).retain_primary_context()
        self._buffers: list[object] = []
        with self.entered():
            self._stream = self._driver.Stream()

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Pushes the context on the calling thread's stack: that of its maker is no other's."""
        self._context.push()
        try:
            yield
        finally:
            self._context.pop()

    @property
    def handle(self) -> int:
        """The stream as TensorRT takes it."""
        return int(self._stream.handle)

    def allocate(self, nbytes: int) -> int:
        """A device buffer, freed by `close`; its address."""
        buffer = self._driver.mem_alloc(nbytes)
        self._buffers.append(buffer)
        return int(buffer)

    def upload(self, address: int, array: HostArray) -> None:
        """Copies a C-contiguous array to the device, in stream order."""
        self._driver.memcpy_htod_async(address, array, self._stream)

    def download(self, array: HostArray, address: int) -> None:
        """Copies from the device into a C-contiguous array, in stream order."""
        self._driver.memcpy_dtoh_async(array, address, self._stream)

    def record(self, work: Callable[[], bool]) -> Callable[[], None] | None:
        """Nothing: no graphs here; kernels are launched one by one."""
        del work
        return None

    def synchronize(self) -> None:
        """Waits until everything on the stream is done."""
        self._stream.synchronize()

    def close(self) -> None:
        """Frees buffers and stream; idempotent."""
        if self._stream is None:
            return
        with self.entered():  # what is freed outside of its context is never freed
            self._buffers.clear()
            self._stream = None
