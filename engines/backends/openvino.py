"""OpenVINO: the default runtime on x86 and Arm processors."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from queue import Empty, LifoQueue
from threading import Lock
from types import ModuleType
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from engines.backends.answers import checked, faults_told
from engines.backends.backend import Precision, Tensors, TensorSpec
from engines.backends.mapped_files import page_out
from engines.backends.networks import port_names, sized, stripped
from engines.cache_folder import cache_folder
from engines.errors import BackendMissing, EngineFault, ModelRejected, import_failure

if TYPE_CHECKING:
    import openvino

__all__ = ["OpenVino", "OpenVinoSession", "compiled_cache", "openvino_runtime"]

_HINTS: Final[Mapping[Precision, str]] = {"fp32": "f32", "bf16": "bf16", "fp16": "f32"}
_TOOLS: Final = "openvino.tools.ovc"
_TYPE_TABLE: Final = Lock()
_COMPILING: Final = Lock()
"""OpenVINO sets the locale of the whole process while it compiles, and back afterwards: of two
threads at once, the second would set back what the first had set."""
_LEAST_REQUESTS: Final = 2
"""Runs that may be prepared at once per network; larger costs memory for activations, smaller makes
threads wait for each other."""
_LARGE_ROW: Final = 1 << 16
"""Numbers in a row of an output from which on rows are run one by one. Larger: a little less time
for each of several pictures that are painted at once, and the memory of the largest batch kept."""
_MOST_ROWS: Final = 4
"""Rows of other networks that are run at once, for the same reason: more take no less time each."""
_MOST_COMPILED: Final = 64
"""Compiled networks kept on the disk, some 8 MB each."""


def openvino_runtime() -> ModuleType:
    """OpenVINO without its tools, whose import alone is reported to their maker over the network.

    Raises:
        ImportError: it is not installed.
    """
    if "openvino" not in sys.modules:
        sys.modules.setdefault(_TOOLS, None)  # type: ignore[arg-type]
    return import_module("openvino")


def compiled_cache() -> Path:
    """Folder of compiled networks, in the user's cache."""
    return cache_folder() / "openvino"


@cache
def _core() -> openvino.Core:
    """The process's one core, which lives to its end.

    Every core's CPU plugin gives the thread that made it a signal stack of its own and takes
    it away again. Cores that go in another order, or on another thread, leave a stack that is
    no more, and the next Ctrl-C ends the process with a segmentation fault.
    """
    core: openvino.Core = openvino_runtime().Core()
    return core


class OpenVino:
    """Loads ONNX networks for the processor.

    Args:
        threads: processor threads for one run; 0 takes all cores. Fewer leave more to
            decoding and encoding, more shorten a run.
        streams: runs that compute side by side, each on its share of the processor. More
            than 1 finish more runs a second, each of them later.
        cache: folder for compiled networks, so that the next start need not compile them;
            `compiled_cache()` where None. Where it cannot be written, nothing is kept.

    Raises:
        BackendMissing: OpenVINO is not installed.
    """

    def __init__(self, *, threads: int = 0, streams: int = 1, cache: Path | None = None) -> None:
        try:
            runtime = openvino_runtime()
        except ImportError as fault:
            message = import_failure("OpenVINO", "pip install openvino", fault)
            raise BackendMissing(message) from fault
        _fill_type_table(runtime)
        self._core = _core()
        self._threads = threads
        self._cache = cache or compiled_cache()
        _prune(self._cache)
        self._streams = max(1, streams)
        self._requests = max(_LEAST_REQUESTS, self._streams)

    @property
    def name(self) -> str:
        """`openvino`."""
        return "openvino"

    @property
    def version(self) -> str:
        """Release of the runtime."""
        return str(openvino_runtime().__version__)

    @property
    def processor(self) -> str:
        """What the processor calls itself."""
        return str(self._core.get_property("CPU", "FULL_DEVICE_NAME"))

    @property
    def has_bf16(self) -> bool:
        """Whether the processor computes in bf16 natively."""
        return "BF16" in self._core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")

    @property
    def reduced(self) -> tuple[Precision, ...]:
        """Half precisions that it computes in, the better first."""
        return ("bf16",) if self.has_bf16 else ()

    def load(
        self,
        model: Path | bytes,
        *,
        precision: Precision = "fp32",
        shapes: Mapping[str, tuple[int, ...]] | None = None,
    ) -> OpenVinoSession:
        """Loads an ONNX network; see `Backend.load`. fp16 runs as fp32 on processors."""
        used: Precision = "bf16" if precision == "bf16" and self.has_bf16 else "fp32"
        content = stripped(model)
        try:
            with _COMPILING:
                # By its bytes, a network that was compiled before is not even read again.
                network = sized(content, shapes) if shapes else content
                compiled = self._core.compile_model(
                    network, "CPU", self._settings(used), weights=b""
                )
        except Exception as fault:  # OpenVINO raises RuntimeError and its own kinds
            message = "OpenVINO cannot read this network; export it with a common ONNX opset"
            raise ModelRejected(message) from fault
        return OpenVinoSession(compiled, port_names(content), used, self._requests, self._cache)

    def _settings(self, precision: Precision) -> dict[str, str | int | bool]:
        settings: dict[str, str | int | bool] = {
            "PERFORMANCE_HINT": "LATENCY" if self._streams == 1 else "THROUGHPUT",
            "NUM_STREAMS": self._streams,
            # Without this line OpenVINO picks bf16 by itself where the processor has it.
            "INFERENCE_PRECISION_HINT": _HINTS[precision],
            "INFERENCE_NUM_THREADS": self._threads,
            # Pinned threads starve when decoder and encoder share their cores.
            "ENABLE_CPU_PINNING": False,
        }
        if _is_writable(self._cache):
            # Compiling a size takes longer than searching a dozen frames at it.
            settings["CACHE_DIR"] = str(self._cache)
        return settings


class OpenVinoSession:
    """One compiled network with a few requests that threads take in turn.

    Args:
        compiled: the network.
        names: of its inputs and of its outputs, as in the file.
        precision: its arithmetic.
        requests: runs that may be prepared at once.
        cache: folder of compiled networks. OpenVINO maps them, and by the end of the first run has
            a copy of the weights in the order in which the processor wants them.
    """

    def __init__(
        self,
        compiled: openvino.CompiledModel,
        names: tuple[Sequence[str], Sequence[str]],
        precision: Precision,
        requests: int,
        cache: Path,
    ) -> None:
        self.precision = precision
        self.inputs = tuple(map(_spec, compiled.inputs, names[0]))
        self.outputs = tuple(map(_spec, compiled.outputs, names[1]))
        self._most_rows = _most_rows(self.inputs, self.outputs)
        self._cache = cache
        self._has_run = False
        self._is_closed = False
        self._free: LifoQueue[openvino.InferRequest | None] = LifoQueue()
        for _ in range(requests):
            self._free.put(compiled.create_infer_request())

    def run(self, tensors: Tensors) -> dict[str, NDArray[np.float32]]:
        """Runs the network once; see `Session.run`."""
        request = self._free.get()
        try:
            # A run under way at the closing puts its request back on top of the None.
            if self._is_closed or request is None:
                raise EngineFault("this engine was closed; load the network again")
            if set(tensors) != {spec.name for spec in self.inputs}:
                # A request keeps its last inputs: a missing one would be a stale face.
                raise EngineFault("a run needs every input of the network, by name")
            with faults_told("OpenVINO"):
                return self._run_rows(request, tensors)
        finally:
            self._free.put(None if self._is_closed else request)

    def _run_rows(
        self, request: openvino.InferRequest, tensors: Tensors
    ) -> dict[str, NDArray[np.float32]]:
        """Runs a few rows at once: OpenVINO keeps the memory of the largest batch for good."""
        step = self._most_rows
        rows = {len(one) for one in tensors.values()} if step else set()
        if len(rows) != 1 or max(rows) <= step:
            return self._run_once(request, tensors)
        parts = [
            self._run_once(request, {name: one[row : row + step] for name, one in tensors.items()})
            for row in range(0, max(rows), step)
        ]
        return {
            spec.name: np.concatenate([part[spec.name] for part in parts]) for spec in self.outputs
        }

    def _run_once(
        self, request: openvino.InferRequest, tensors: Tensors
    ) -> dict[str, NDArray[np.float32]]:
        contiguous = {name: np.ascontiguousarray(value) for name, value in tensors.items()}
        answer = request.infer(contiguous, share_inputs=True, share_outputs=True)
        if not self._has_run:
            self._has_run = True
            page_out(self._cache)
        return checked({spec.name: answer[i] for i, spec in enumerate(self.outputs)})

    def close(self) -> None:
        """Frees the requests that no thread is using, and refuses further runs."""
        self._is_closed = True
        with suppress(Empty):
            while True:
                self._free.get_nowait()
        self._free.put(None)


def _fill_type_table(runtime: ModuleType) -> None:
    """Converts one element type, both ways, before several threads may.

    OpenVINO's binding fills its tables of types on the first conversion, holding a C++ guard
    and letting go of the interpreter's lock meanwhile: two threads that convert first at once
    wait for each other for ever.
    """
    with _TYPE_TABLE:
        runtime.Type(runtime.Type.f32.to_dtype())


def _is_writable(folder: Path) -> bool:
    """Whether files can be put there, after making it; OpenVINO refuses a network otherwise."""
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder.is_dir() and os.access(folder, os.R_OK | os.W_OK | os.X_OK)


def _prune(folder: Path) -> None:
    """Keeps the most recent compiled networks; every frame size adds one."""
    if not folder.is_dir():
        return
    with suppress(OSError):  # another process may prune as well
        blobs = sorted(folder.glob("*.blob"), key=lambda blob: blob.stat().st_mtime)
        for blob in blobs[:-_MOST_COMPILED]:
            blob.unlink(missing_ok=True)


def _most_rows(inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> int:
    """Rows that a network is to be run on at once; 0 where it takes no rows of any number.

    >>> _most_rows([], [TensorSpec("texture", (None, 3, 256, 256), np.dtype(np.float32))])
    1
    """
    if any(spec.shape[:1] != (None,) for spec in (*inputs, *outputs)):
        return 0
    is_large = any(math.prod(size or 1 for size in one.shape[1:]) >= _LARGE_ROW for one in outputs)
    return 1 if is_large else _MOST_ROWS


def _spec(port: openvino.ConstOutput, name: str) -> TensorSpec:
    shape = tuple(None if size.is_dynamic else size.get_length() for size in port.partial_shape)
    return TensorSpec(name, shape, np.dtype(port.element_type.to_dtype()))
