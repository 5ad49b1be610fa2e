"""ONNX Runtime: on the processor the second opinion, on NVIDIA GPUs where TensorRT has no build."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from numpy.typing import NDArray

from engines.backends.answers import checked, faults_told
from engines.backends.backend import Precision, Tensors, TensorSpec
from engines.backends.cuda_memory import gpu_name
from engines.backends.half_precision import halved
from engines.backends.networks import sized, stripped
from engines.errors import BackendMissing, EngineFault, ModelRejected, import_failure

if TYPE_CHECKING:
    import onnxruntime

__all__ = ["OnnxRuntime", "OnnxRuntimeSession"]

_FATAL_ONLY: Final = 4
"""All other faults are raised; cuDNN logs an error for every plan that it does not have."""
_CUDA: Final = "CUDAExecutionProvider"
_CUDA_OPTIONS: Final = {
    "use_tf32": "0",  # else fp32 is not what it says
    "cudnn_conv_algo_search": "HEURISTIC",  # a trial of all at every new image size takes seconds
}
_DTYPES: Final[Mapping[str, type[np.generic]]] = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(uint8)": np.uint8,
    "tensor(int8)": np.int8,
    "tensor(int32)": np.int32,
    "tensor(int64)": np.int64,
    "tensor(bool)": np.bool_,
}


class OnnxRuntime:
    """Loads ONNX networks, on the processor always in fp32.

    Args:
        threads: processor threads for one run; 0 takes all cores.
        device: `cuda` is the first NVIDIA GPU, through `onnxruntime-gpu`.

    Raises:
        BackendMissing: ONNX Runtime is not installed, or has no CUDA.
    """

    def __init__(self, *, threads: int = 0, device: Literal["cpu", "cuda"] = "cpu") -> None:
        try:
            import onnxruntime
        except ImportError as fault:
            message = import_failure("ONNX Runtime", "pip install onnxruntime", fault)
            raise BackendMissing(message) from fault
        self._runtime = onnxruntime
        self._threads = threads
        self._device = device
        if device == "cuda":
            _find_cuda(onnxruntime)

    @property
    def name(self) -> str:
        """`onnxruntime`, or `onnxruntime-cuda`."""
        return "onnxruntime" if self._device == "cpu" else "onnxruntime-cuda"

    @property
    def version(self) -> str:
        """Release of the runtime."""
        return str(self._runtime.__version__)

    @property
    def processor(self) -> str:
        """What the GPU calls itself; see `gpu_name` for what it raises."""
        return "cpu" if self._device == "cpu" else gpu_name()

    @property
    def reduced(self) -> tuple[Precision, ...]:
        """Half precisions that it computes in, the better first."""
        return () if self._device == "cpu" else ("fp16",)

    def load(
        self,
        model: Path | bytes,
        *,
        precision: Precision = "fp32",
        shapes: Mapping[str, tuple[int, ...]] | None = None,
    ) -> OnnxRuntimeSession:
        """Loads an ONNX network; see `Backend.load`. On the processor all runs in fp32."""
        content = sized(stripped(model), shapes) if shapes else stripped(model)
        used: Precision = precision if precision in self.reduced else "fp32"
        if used != "fp32":
            content = halved(content, used)
        options = self._runtime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.log_severity_level = _FATAL_ONLY
        on_gpu: list[str | tuple[str, dict[str, str]]] = [(_CUDA, _CUDA_OPTIONS)]
        providers = ["CPUExecutionProvider"] if self._device == "cpu" else on_gpu
        try:
            session = self._runtime.InferenceSession(content, options, providers=providers)
        except Exception as fault:  # one unrelated exception type per status code
            how = "" if used == "fp32" else f" in {used}"
            message = f"ONNX Runtime cannot read this network{how}; export it with a common opset"
            raise ModelRejected(message) from fault
        if self._device == "cuda":
            _stay_on_gpu(session)
        return OnnxRuntimeSession(session, used)


def _find_cuda(runtime: ModuleType) -> None:
    """Load the CUDA libraries that lie among the Python packages, where they do.

    Raises:
        BackendMissing: this ONNX Runtime has no CUDA.
    """
    if _CUDA not in runtime.get_available_providers():
        raise BackendMissing(
            "this ONNX Runtime has no CUDA; pip install 'onnxruntime-gpu[cuda,cudnn]' in its place"
        )
    with redirect_stdout(StringIO()):  # it prints what it does not find
        runtime.preload_dlls()


def _stay_on_gpu(session: onnxruntime.InferenceSession) -> None:
    """Neither now nor after a fault does the network run on the processor instead.

    Raises:
        BackendMissing: CUDA would not start; ONNX Runtime has gone to the processor.
    """
    session.disable_fallback()
    if _CUDA not in session.get_providers():
        raise BackendMissing(
            "ONNX Runtime cannot start CUDA: check the driver (nvidia-smi), CUDA 13 and cuDNN 9"
        )


class OnnxRuntimeSession:
    """One loaded network; the runtime itself lets threads run it at once."""

    def __init__(
        self, session: onnxruntime.InferenceSession, precision: Precision = "fp32"
    ) -> None:
        self.precision: Precision = precision
        self.inputs = tuple(_spec(value) for value in session.get_inputs())
        self.outputs = tuple(_spec(value) for value in session.get_outputs())
        self._session: onnxruntime.InferenceSession | None = session

    def run(self, tensors: Tensors) -> dict[str, NDArray[np.float32]]:
        """Runs the network once; see `Session.run`."""
        session = self._session
        if session is None:
            raise EngineFault("this engine was closed; load the network again")
        names = [spec.name for spec in self.outputs]
        with faults_told("ONNX Runtime"):
            answer = session.run(names, dict(tensors))
            return checked(dict(zip(names, answer, strict=True)))

    def close(self) -> None:
        """Lets the network go once running calls are done."""
        self._session = None


def _spec(value: onnxruntime.NodeArg) -> TensorSpec:
    shape = tuple(size if isinstance(size, int) else None for size in value.shape)
    return TensorSpec(value.name, shape, np.dtype(_DTYPES.get(value.type, np.float32)))
