"""ONNX Runtime on the processor: the second opinion, and where OpenVINO has no build."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from engines.backends.answers import checked, faults_told
from engines.backends.backend import Precision, Tensors, TensorSpec
from engines.backends.networks import stripped
from engines.errors import BackendMissing, EngineFault, ModelRejected

if TYPE_CHECKING:
    import onnx
    import onnxruntime

__all__ = ["OnnxRuntime", "OnnxRuntimeSession"]

_ERRORS_ONLY: Final = 3
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
    """Loads ONNX networks for the processor, always in fp32.

    Args:
        threads: processor threads for one run; 0 takes all cores.

    Raises:
        BackendMissing: ONNX Runtime is not installed.
    """

    def __init__(self, *, threads: int = 0) -> None:
        try:
            import onnxruntime
        except ImportError as fault:
            raise BackendMissing("ONNX Runtime is absent; pip install onnxruntime") from fault
        self._runtime = onnxruntime
        self._threads = threads

    @property
    def name(self) -> str:
        """`onnxruntime`."""
        return "onnxruntime"

    @property
    def version(self) -> str:
        """Release of the runtime."""
        return str(self._runtime.__version__)

    def load(
        self,
        model: Path | bytes,
        *,
        precision: Precision = "fp32",
        shapes: Mapping[str, tuple[int, ...]] | None = None,
    ) -> OnnxRuntimeSession:
        """Loads an ONNX network; see `Backend.load`. Every precision runs as fp32."""
        content = _reshaped(stripped(model), shapes) if shapes else stripped(model)
        options = self._runtime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.log_severity_level = _ERRORS_ONLY
        try:
            session = self._runtime.InferenceSession(
                content, options, providers=["CPUExecutionProvider"]
            )
        except Exception as fault:  # one unrelated exception type per status code
            message = "ONNX Runtime cannot read this network; export it with a common opset"
            raise ModelRejected(message) from fault
        return OnnxRuntimeSession(session)


class OnnxRuntimeSession:
    """One loaded network; the runtime itself lets threads run it at once."""

    def __init__(self, session: onnxruntime.InferenceSession) -> None:
        self.precision: Precision = "fp32"
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


def _reshaped(content: bytes, shapes: Mapping[str, tuple[int, ...]]) -> bytes:
    """Writes fixed input sizes into the graph; sizes derived from them are dropped."""
    import onnx

    network = onnx.load_model_from_string(content)
    for value in network.graph.input:
        if value.name in shapes:
            _set_shape(value, shapes[value.name])
    for value in network.graph.output:
        rank = len(value.type.tensor_type.shape.dim)
        _set_shape(value, tuple(f"{value.name}_{axis}" for axis in range(rank)))
    del network.graph.value_info[:]
    return bytes(network.SerializeToString())


def _set_shape(value: onnx.ValueInfoProto, sizes: tuple[int | str, ...]) -> None:
    shape = value.type.tensor_type.shape
    del shape.dim[:]
    for size in sizes:
        if isinstance(size, int):
            shape.dim.add().dim_value = size
        else:
            shape.dim.add().dim_param = size


def _spec(value: onnxruntime.NodeArg) -> TensorSpec:
    shape = tuple(size if isinstance(size, int) else None for size in value.shape)
    return TensorSpec(value.name, shape, np.dtype(_DTYPES.get(value.type, np.float32)))
