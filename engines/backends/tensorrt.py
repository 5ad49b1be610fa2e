"""NVIDIA GPUs: serialized engines run by `tensorrt` or `tensorrt_rtx`.

Engines come from the cache of `tensorrt_build`; building is an explicit step
(`kveil models build`), because the first build of a network takes seconds to minutes. An
engine covers batches and image sizes in a range (`shape_ranges`), so that one serves all clips.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from engines.backends.backend import Precision, Tensors, TensorSpec
from engines.backends.cuda_graphs import Replay
from engines.backends.cuda_memory import DeviceStream, current_capability, gpu_name, open_stream
from engines.backends.networks import stripped
from engines.backends.tensorrt_build import (
    BuildRequest,
    ShapeRange,
    build_engine,
    cached_engine,
    capabilities,
    engine_path,
    shape_ranges,
    tensorrt_module,
)
from engines.cache_folder import cache_folder
from engines.errors import EngineFault, ModelMissing, ModelRejected

__all__ = ["TensorrtBackend", "TensorrtSession", "engine_cache", "engine_request", "gpu_defect"]

_KINDS: Final = "ComputeCapability"
"""Where a TensorRT has it, engines are built for a named capability, on any machine."""
_DTYPES: Final = {"FLOAT": np.float32, "UINT8": np.uint8, "INT64": np.int64}


def engine_cache() -> Path:
    """Folder of built engines, in the user's cache."""
    return cache_folder() / "engines"


def engine_request(
    content: bytes,
    precision: Precision,
    capability: str,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
) -> BuildRequest:
    """What is built for a network: its whole range where that covers the wanted shapes.

    Args:
        content: the network.
        precision: of the arithmetic.
        capability: of the GPU.
        shapes: that will be run, by input.
    """
    wanted, ranges = shapes or {}, shape_ranges(content)
    if all(name in ranges and _covers(ranges[name], shape) for name, shape in wanted.items()):
        return BuildRequest(precision, capability, ranges)
    exact = {name: ShapeRange(shape, shape, shape) for name, shape in wanted.items()}
    return BuildRequest(precision, capability, {**ranges, **exact})


def _covers(given: ShapeRange, shape: tuple[int, ...]) -> bool:
    pairs = zip(given.least, shape, given.most, strict=True)
    return all(least <= size <= most for least, size, most in pairs)


def gpu_defect() -> str:
    """Why the installed TensorRT cannot run on this machine's GPU; empty where it can.

    TensorRT-RTX knows a list of capabilities, and refuses data centre GPUs that are not in it.

    Raises:
        BackendMissing: TensorRT or the GPU is not there.
    """
    known, own = capabilities(), current_capability()
    if not known or own in known:
        return ""
    return f"TensorRT-RTX does not know capability {own}, only {', '.join(known)}"


class TensorrtBackend:
    """Loads ONNX networks through cached TensorRT engines for the GPU of this machine.

    Args:
        cache: folder of engines; the user's where None.
        builds: builds an engine that is not in the cache; else its network is missing.
    """

    name = "tensorrt"

    def __init__(self, cache: Path | None = None, *, builds: bool = True) -> None:
        self._cache = cache or engine_cache()
        self._builds = builds

    @property
    def version(self) -> str:
        """Which TensorRT, and its release."""
        module = tensorrt_module()
        return f"{module.__name__} {module.__version__}"

    @property
    def processor(self) -> str:
        """What the GPU calls itself; see `gpu_name` for what it raises."""
        return gpu_name()

    @property
    def reduced(self) -> tuple[Precision, ...]:
        """Half precisions that it computes in, the better first."""
        return ("fp16", "bf16")

    def load(
        self,
        model: Path | bytes,
        *,
        precision: Precision = "fp32",
        shapes: Mapping[str, tuple[int, ...]] | None = None,
    ) -> TensorrtSession:
        """Loads a network; see `engines.backends.backend.Backend.load`."""
        content = stripped(model)
        capability = current_capability() if hasattr(tensorrt_module(), _KINDS) else "current"
        request = engine_request(content, precision, capability, shapes)
        if not self._builds and not engine_path(content, request, self._cache).is_file():
            raise ModelMissing(
                f"its {precision} engines are not built; run `kveil models build` once"
            )
        try:
            path = cached_engine(content, request, self._cache)
        except OSError:  # a cache that cannot be written costs every start a build
            return TensorrtSession(build_engine(content, request))
        try:
            return TensorrtSession(path.read_bytes())
        except ModelRejected:
            # Damaged, or of another driver: what the name cannot tell.
            path.unlink(missing_ok=True)
        return TensorrtSession(cached_engine(content, request, self._cache).read_bytes())


class TensorrtSession:
    """One engine with its buffers; calls from several threads take turns.

    Args:
        engine: serialized by the same TensorRT version for this GPU.

    Raises:
        BackendMissing: TensorRT, its CUDA binding or the GPU is not there.
        ModelRejected: the engine is for another GPU or version.
    """

    def __init__(self, engine: bytes) -> None:
        self._trt: ModuleType = tensorrt_module()
        self._stream: DeviceStream = open_stream()
        self._lock = threading.Lock()
        with self._stream.entered():
            self._open(engine)

    def _open(self, engine: bytes) -> None:
        runtime = self._trt.Runtime(self._trt.Logger(self._trt.Logger.ERROR))
        self._engine = runtime.deserialize_cuda_engine(engine)
        if self._engine is None:
            raise ModelRejected("the engine is for another GPU or TensorRT; build it again")
        self._context = self._new_context()
        enqueue = partial(self._context.execute_async_v3, self._stream.handle)
        self._replay = Replay(self._stream, enqueue, records=not self._records_itself)
        self._buffers: dict[str, tuple[int, int]] = {}
        specs = [self._spec(i) for i in range(self._engine.num_io_tensors)]
        self._inputs = tuple(spec for spec in specs if self._is_input(spec.name))
        self._outputs = tuple(spec for spec in specs if not self._is_input(spec.name))

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """What the network takes."""
        return self._inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """What the network gives."""
        return self._outputs

    def run(self, tensors: Tensors) -> dict[str, NDArray[np.float32]]:
        """Runs the network once; see `engines.backends.backend.Session.run`."""
        with self._lock, self._stream.entered():
            shapes = tuple(self._feed(spec, tensors) for spec in self._inputs)
            results = {spec.name: self._target(spec) for spec in self._outputs}
            self._replay.run((shapes, tuple(self._buffers.values())))
            for name, array in results.items():
                self._stream.download(array, self._buffers[name][0])
            self._stream.synchronize()
        if not all(np.isfinite(array).all() for array in results.values()):
            raise EngineFault("the network returned NaN or infinity")
        return results

    def close(self) -> None:
        """Frees device memory; idempotent."""
        self._stream.close()

    @property
    def _records_itself(self) -> bool:
        """Whether this TensorRT captures CUDA graphs by itself."""
        return hasattr(self._trt, "CudaGraphStrategy") and hasattr(
            self._engine, "create_runtime_config"
        )

    def _new_context(self) -> Any:
        if not self._records_itself:
            return self._engine.create_execution_context()
        config = self._engine.create_runtime_config()
        config.cuda_graph_strategy = self._trt.CudaGraphStrategy.WHOLE_GRAPH_CAPTURE
        return self._engine.create_execution_context(config)

    def _spec(self, index: int) -> TensorSpec:
        name = self._engine.get_tensor_name(index)
        shape = tuple(None if n < 0 else int(n) for n in self._engine.get_tensor_shape(name))
        kind = self._engine.get_tensor_dtype(name).name
        if kind not in _DTYPES:
            raise ModelRejected(f"tensor {name} is {kind}; networks take float32, uint8 or int64")
        return TensorSpec(name, shape, np.dtype(_DTYPES[kind]))

    def _is_input(self, name: str) -> bool:
        return bool(self._engine.get_tensor_mode(name) == self._trt.TensorIOMode.INPUT)

    def _feed(self, spec: TensorSpec, tensors: Tensors) -> tuple[int, ...]:
        if spec.name not in tensors:
            raise EngineFault(f"the network needs the input {spec.name}")
        array = np.ascontiguousarray(tensors[spec.name], dtype=spec.dtype)
        if not self._context.set_input_shape(spec.name, array.shape):
            raise EngineFault(f"input {spec.name} has a shape the engine was not built for")
        self._stream.upload(self._address(spec.name, array.nbytes), array)
        return tuple(array.shape)

    def _target(self, spec: TensorSpec) -> NDArray[np.float32]:
        shape = tuple(int(n) for n in self._context.get_tensor_shape(spec.name))
        array = np.empty(shape, np.float32)
        self._address(spec.name, array.nbytes)
        return array

    def _address(self, name: str, nbytes: int) -> int:
        """The tensor's device buffer; grown, never shrunk, so steady use allocates nothing."""
        address, size = self._buffers.get(name, (0, 0))
        if size < nbytes:
            address = self._stream.allocate(nbytes)
            self._buffers[name] = (address, nbytes)
        self._context.set_tensor_address(name, address)
        return address
