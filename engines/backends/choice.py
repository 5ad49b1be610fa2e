"""Which runtime and arithmetic the detector gets on this machine, and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal

from engines.backends.backend import Precision
from engines.backends.networks import model_bytes
from engines.backends.onnxruntime import OnnxRuntime
from engines.backends.openvino import OpenVino
from engines.detectors.detector import Detector
from engines.detectors.gate import HardwareBackend, gate_int8, gate_precision
from engines.detectors.loading import detector_from_model
from engines.errors import BackendMissing

__all__ = [
    "BackendName",
    "Choice",
    "Chosen",
    "Device",
    "GpuGate",
    "choose_backend",
    "choose_detector",
    "has_gpu",
    "settled_names",
]

BackendName = Literal["auto", "openvino", "onnxruntime", "tensorrt"]
Device = Literal["auto", "cpu", "cuda"]
GpuGate = Callable[[HardwareBackend, HardwareBackend], str]
"""Given a GPU's runtime and the processor's: why the first may not be taken; empty if it may."""
_GPU_PLACES: Final = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/nvhost-gpu", "/dev/nvgpu", "/dev/dxg")
"""Where the drivers of cards, of Jetson boards and of WSL show a GPU."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A runtime and why it was taken.

    Attributes:
        backend: ready to load networks.
        reason: one line for `kveil doctor` and the report.
    """

    backend: HardwareBackend
    reason: str


@dataclass(frozen=True, slots=True)
class Chosen:
    """A detector ready to run, and how it runs.

    Attributes:
        detector: loaded.
        backend: name of the runtime.
        precision: its arithmetic, and that which further networks may be tried in.
        reason: why both were taken.
        is_int8: it runs in int8 where it can.
    """

    detector: Detector
    backend: str
    precision: Precision
    reason: str
    is_int8: bool = False


def choose_backend(
    name: BackendName = "auto",
    device: Device = "auto",
    *,
    threads: int = 0,
    streams: int = 1,
    gate: GpuGate | None = None,
) -> Choice:
    """Picks the runtime.

    Args:
        name: a runtime, or `auto` for the fastest that is installed and runs here.
        device: `cuda` asks for an NVIDIA GPU, `cpu` refuses one; `auto` takes one whose
            networks pass their gate, and stays on the processor where none is given.
        threads: processor threads per run; 0 takes all cores.
        streams: runs side by side on a processor; see `OpenVino`. The rest run one by one.
        gate: says why a GPU's runtime may not replace the processor's; empty where it may.

    Raises:
        BackendMissing: the runtime that was asked for is not installed, or device and
            runtime contradict each other.
    """
    if name == "tensorrt" and device == "cpu":
        raise BackendMissing("tensorrt needs a GPU; drop --device cpu or choose openvino")
    if name == "tensorrt":
        return Choice(_tensorrt(), "tensorrt was asked for")
    if device == "cuda":
        return _on_gpu(name)
    if name == "onnxruntime":
        return Choice(OnnxRuntime(threads=threads), "onnxruntime was asked for")
    if name == "openvino":
        return Choice(OpenVino(threads=threads, streams=streams), "openvino was asked for")
    own = _on_processor(threads, streams)
    if device == "cpu" or gate is None or not has_gpu():
        return own
    return _judged(own, gate)


def choose_detector(
    model: Path | bytes,
    choice: Choice,
    *,
    precision: Literal["auto", "int8", "fp32", "bf16", "fp16"] = "auto",
    quantised: Path | None = None,
    cache: Path | None = None,
) -> Chosen:
    """Loads the detector in the fastest arithmetic that passes its gate.

    Args:
        model: ONNX file or its bytes, of any layout that `engines.detectors.loading` knows.
        choice: the runtime, from `choose_backend`.
        precision: what was asked for; bf16 and int8 too must pass their gates.
        quantised: the detector's file in int8, where there is one. Only OpenVINO takes it.
        cache: file of the gate's verdicts; the user's cache folder where None.

    Raises:
        ModelMissing: there is no such file.
        ModelRejected: it is no detector, or the runtime cannot read it.
    """
    content, backend = model_bytes(model), choice.backend
    load: Callable[[Precision], Detector] = partial(detector_from_model, backend, content)
    wanted = "auto" if precision == "int8" else precision
    gate = gate_precision(load, content, backend, wanted=wanted, cache=cache)
    reason = f"{choice.reason}; {gate.reason}"
    if precision not in ("auto", "int8") or quantised is None or backend.name != "openvino":
        return Chosen(load(gate.precision), backend.name, gate.precision, reason)
    packed = model_bytes(quantised)
    load_int8 = partial(detector_from_model, backend, packed, gate.precision)
    is_int8, told = gate_int8(
        load,
        load_int8,
        (content, packed),
        backend,
        gate.precision,
        is_speed_asked=precision == "auto",
        cache=cache,
    )
    detector = load_int8() if is_int8 else load(gate.precision)
    return Chosen(detector, backend.name, gate.precision, f"{reason}; {told}", is_int8)


def has_gpu() -> bool:
    """Whether the driver of an NVIDIA GPU shows one; asked before anything heavy is imported."""
    return any(Path(place).exists() for place in _GPU_PLACES)


def settled_names(backend: HardwareBackend) -> tuple[BackendName, Device]:
    """What names the same runtime and device again, without `auto`.

    Used where further runtimes must be of the same kind, such as in processes that draw faces.
    """
    found: dict[str, tuple[BackendName, Device]] = {
        "tensorrt": ("tensorrt", "cuda"),
        "onnxruntime-cuda": ("onnxruntime", "cuda"),
        "onnxruntime": ("onnxruntime", "cpu"),
    }
    return found.get(backend.name, ("openvino", "cpu"))


def _on_processor(threads: int, streams: int) -> Choice:
    try:
        backend = OpenVino(threads=threads, streams=streams)
    except BackendMissing as fault:
        return Choice(OnnxRuntime(threads=threads), f"the processor; {fault}")
    return Choice(backend, f"the processor ({backend.processor}); OpenVINO is its default")


def _judged(own: Choice, gate: GpuGate) -> Choice:
    """The GPU by the first runtime that passes the gate, else the processor."""
    reasons = []
    for make in (_built_tensorrt, _cuda_runtime):
        try:
            gpu = make()
        except BackendMissing as fault:
            reasons.append(str(fault))
            continue
        fault_found = gate(gpu, own.backend)
        if not fault_found:
            told = f"the GPU ({gpu.processor}); its networks answer as the processor's, and sooner"
            return Choice(gpu, told)
        reasons.append(f"{gpu.name} failed its gate: {fault_found}")
    return Choice(own.backend, f"{own.reason}; the GPU is not taken: {'; '.join(reasons)}")


def _built_tensorrt() -> HardwareBackend:
    """TensorRT with the engines that were built: `auto` does not build for minutes by itself."""
    return _tensorrt(builds=False)


def _cuda_runtime() -> HardwareBackend:
    return OnnxRuntime(device="cuda")


def _tensorrt(*, builds: bool = True) -> HardwareBackend:
    """TensorRT on this machine's GPU.

    Raises:
        BackendMissing: it is absent, or does not run on this GPU.
    """
    if not (find_spec("tensorrt_rtx") or find_spec("tensorrt")):
        raise BackendMissing("TensorRT is absent; pip install 'kveil[gpu]', or use --device cpu")
    from engines.backends.tensorrt import TensorrtBackend, gpu_defect

    defect = gpu_defect()
    if defect:
        raise BackendMissing(f"{defect}; install NVIDIA's tensorrt or onnxruntime-gpu")
    return TensorrtBackend(builds=builds)


def _on_gpu(name: BackendName) -> Choice:
    """The GPU by the runtime that is named; by TensorRT, else ONNX Runtime, where none is."""
    if name == "openvino":
        raise BackendMissing("openvino runs on the processor; use --device cpu or tensorrt")
    if name == "onnxruntime":
        return Choice(OnnxRuntime(device="cuda"), "onnxruntime on the GPU was asked for")
    try:
        return Choice(_tensorrt(), "a GPU was asked for")
    except BackendMissing as fault:
        try:
            return Choice(OnnxRuntime(device="cuda"), f"a GPU was asked for; {fault}")
        except BackendMissing:
            raise fault from None
