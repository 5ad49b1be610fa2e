"""Builds TensorRT engines from ONNX, explicitly and into a cache; TensorRT-RTX needs no GPU to.

One path serves both Python modules: `tensorrt` (vendor wheels, Jetson) and `tensorrt_rtx`
(package registry). Half precision is a property of the graph: it is rewritten before parsing,
with float32 inputs and outputs; see `tensorrt_types` for TensorRT 8.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Literal

import onnx

from engines.backends.backend import Precision
from engines.backends.half_precision import halved
from engines.backends.networks import stripped
from engines.backends.products import without_products
from engines.backends.stored_weights import with_plain_weights
from engines.backends.tensorrt_types import (
    as_opset_17,
    is_strongly_typed,
    new_network,
    set_arithmetic,
    values_kept,
)
from engines.errors import BackendMissing, ModelRejected

__all__ = [
    "BuildRequest",
    "ShapeRange",
    "TensorrtName",
    "build_engine",
    "cached_engine",
    "capabilities",
    "engine_path",
    "shape_ranges",
    "tensorrt_module",
]

TensorrtName = Literal["auto", "tensorrt", "tensorrt-rtx"]
_MODULES: Final = ("tensorrt", "tensorrt_rtx")
_WORKSPACE_BYTES: Final = 4 << 30
_REVISION: Final = "2"
"""Goes up when networks are rewritten otherwise, so that older engines are built anew."""
_LONGEST_REASON: Final = 300
_BATCH: Final = (1, 4, 16)
_SIDES: Final = ((32, 448, 2176), (32, 768, 3840))
"""Least, best and most rows, then columns, of a detector's image, px."""
_LEAST_BF16: Final = 8.0
"""Capability with bf16; TensorRT-RTX has no float32 matrix product below it either."""


@dataclass(frozen=True, slots=True)
class ShapeRange:
    """The shapes one input may take; the engine is fastest at `best`."""

    least: tuple[int, ...]
    best: tuple[int, ...]
    most: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """What an engine is built for.

    Attributes:
        precision: of the arithmetic; inputs and outputs stay float32.
        capability: compute capability such as `8.6`; `current` for the GPU of this machine.
        shapes: range of each dynamic input, by name.
        runtime: which TensorRT; the vendor's where both are there and `auto` is asked for.
    """

    precision: Precision
    capability: str
    shapes: Mapping[str, ShapeRange]
    runtime: TensorrtName = "auto"


def tensorrt_module(wanted: TensorrtName = "auto") -> ModuleType:
    """The installed TensorRT module; the vendor's where both are there.

    Raises:
        BackendMissing: it is not installed.
    """
    for name in _MODULES if wanted == "auto" else (wanted.replace("-", "_"),):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        if hasattr(module, "Builder"):
            return module
    if wanted == "tensorrt":
        raise BackendMissing("tensorrt is not installed; get it from NVIDIA, or use tensorrt-rtx")
    raise BackendMissing("TensorRT is not installed; pip install 'kveil[gpu]'")


def capabilities(wanted: TensorrtName = "auto") -> list[str]:
    """Compute capabilities that the installed TensorRT can build for, without a GPU.

    Empty where it builds for the GPU of this machine alone.

    Raises:
        BackendMissing: TensorRT is not installed.
    """
    kinds = getattr(tensorrt_module(wanted), "ComputeCapability", None)
    found = [word[2:] for word in dir(kinds) if word.startswith("SM") and word[2:].isdigit()]
    return [f"{digits[:-1]}.{digits[-1]}" for digits in sorted(found, key=int)]


def shape_ranges(model: bytes) -> dict[str, ShapeRange]:
    """The range of every input whose shape is open: batches of 1 to 16, images up to 4K.

    Built engines cover these ranges, so that one serves every clip.

    Raises:
        ModelRejected: the content is not an ONNX network.
    """
    ranges = {}
    for value in onnx.load_model_from_string(stripped(model)).graph.input:
        sizes = [size.dim_value for size in value.type.tensor_type.shape.dim]
        if len(sizes) == 4 and sizes[3] == 3 and not sizes[1] and not sizes[2]:
            rows, columns = _SIDES
            least, best, most = (
                (sizes[0] or 1, row, column, 3) for row, column in zip(rows, columns, strict=True)
            )
            ranges[value.name] = ShapeRange(least, best, most)
        elif sizes and not sizes[0] and all(sizes[1:]):
            least, best, most = ((count, *sizes[1:]) for count in _BATCH)
            ranges[value.name] = ShapeRange(least, best, most)
    return ranges


def build_engine(model: bytes, request: BuildRequest) -> bytes:
    """Builds a serialized engine from an ONNX network.

    Raises:
        BackendMissing: TensorRT is not installed.
        ModelRejected: the network does not parse, or cannot be built as requested.
    """
    trt = tensorrt_module(request.runtime)
    graph = _prepared(trt, model, request)
    logger = _collector(trt)
    builder = _builder(trt, logger)
    network = new_network(trt, builder)
    parser = trt.OnnxParser(network, logger)
    if not parser.parse(graph):
        raise ModelRejected(f"TensorRT cannot read the network: {parser.get_error(0).desc()}")
    config = builder.create_builder_config()
    config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, _WORKSPACE_BYTES)
    _set_capability(trt, config, request.capability)
    kept = values_kept(onnx.load_model_from_string(graph))
    set_arithmetic(trt, config, network, request.precision, kept)
    _set_shapes(builder, config, request.shapes)
    engine = builder.build_serialized_network(network, config)
    if engine is None:
        reason = " ".join(logger.lines)[:_LONGEST_REASON] or "it does not say why"
        raise ModelRejected(f"TensorRT could not build the network: {reason}")
    return bytes(engine)


def cached_engine(model: bytes, request: BuildRequest, folder: Path) -> Path:
    """The engine's file in the cache, built now if it is not there.

    The name holds everything that the engine depends on: the network's hash, precision,
    compute capability, shapes, and TensorRT's name and version.

    Raises:
        BackendMissing, ModelRejected: see `build_engine`.
        OSError: the folder cannot be written.
    """
    path = engine_path(model, request, folder)
    if path.exists():
        return path
    engine = build_engine(model, request)
    folder.mkdir(parents=True, exist_ok=True)
    handle, partial = tempfile.mkstemp(dir=folder, suffix=".partial")
    with os.fdopen(handle, "wb") as file:
        file.write(engine)
    Path(partial).replace(path)
    return path


def engine_path(model: bytes, request: BuildRequest, folder: Path) -> Path:
    """Where the engine lies in the cache once it is built.

    Raises:
        BackendMissing: TensorRT is not installed.
    """
    return folder / f"{_cache_key(model, request)}.engine"


def _cache_key(model: bytes, request: BuildRequest) -> str:
    trt = tensorrt_module(request.runtime)
    parts = (
        hashlib.sha256(model).hexdigest(),
        request.precision,
        request.capability,
        _REVISION,
        repr(sorted((name, shape) for name, shape in request.shapes.items())),
        trt.__name__,
        trt.__version__,
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _prepared(trt: ModuleType, model: bytes, request: BuildRequest) -> bytes:
    """The graph without weights among its inputs, its dynamic axes open, in its precision."""
    graph = onnx.load_model_from_string(stripped(model))
    _open_axes(graph.graph.input, request.shapes)
    del graph.graph.value_info[:]
    with_plain_weights(graph)
    for output in graph.graph.output:
        output.type.tensor_type.ClearField("shape")
    if not is_strongly_typed(trt):
        as_opset_17(graph, request.precision)
        return bytes(graph.SerializeToString())
    content = bytes(graph.SerializeToString())
    is_old = _is_older(request.capability, _LEAST_BF16)
    if request.precision == "fp32":
        return without_products(content) if is_old else content
    if request.precision == "bf16" and is_old:
        raise ModelRejected(f"capability {request.capability} has no bf16; use fp16 or fp32")
    return halved(content, request.precision)


def _is_older(capability: str, least: float) -> bool:
    try:
        return float(capability) < least
    except ValueError:  # `current`: the runtime says so itself
        return False


def _open_axes(inputs: Iterable[onnx.ValueInfoProto], shapes: Mapping[str, ShapeRange]) -> None:
    for node in inputs:
        wanted = shapes.get(node.name)
        if wanted is None:
            continue
        for axis, dim in enumerate(node.type.tensor_type.shape.dim):
            if wanted.least[axis] != wanted.most[axis]:
                dim.dim_param = f"{node.name}_{axis}"
            else:
                dim.dim_value = wanted.best[axis]


def _collector(trt: ModuleType) -> Any:
    """A logger that keeps errors for the message instead of printing them."""

    class Collector(trt.ILogger):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            trt.ILogger.__init__(self)
            self.lines: list[str] = []

        def log(self, severity: object, text: str) -> None:
            if severity in (trt.ILogger.ERROR, trt.ILogger.INTERNAL_ERROR):
                self.lines.append(text)

    return Collector()


def _builder(trt: ModuleType, logger: Any) -> Any:
    """The builder; some releases give none at all without a GPU, others raise."""
    try:
        return trt.Builder(logger)
    except (TypeError, RuntimeError):
        raise BackendMissing(
            f"TensorRT {trt.__version__} builds on a machine with an NVIDIA GPU and driver only"
        ) from None


def _set_capability(trt: ModuleType, config: object, capability: str) -> None:
    if capability == "current":
        return
    if not hasattr(trt, "ComputeCapability"):
        raise ModelRejected("this TensorRT builds for the GPU of this machine; drop --capability")
    name = "SM" + capability.replace(".", "")
    target = getattr(trt.ComputeCapability, name, None)
    if target is None:
        known = [word for word in dir(trt.ComputeCapability) if word.startswith("SM")]
        raise ModelRejected(f"no compute capability {capability}; TensorRT has {known}")
    config.num_compute_capabilities = 1  # type: ignore[attr-defined]
    config.set_compute_capability(target, 0)  # type: ignore[attr-defined]


def _set_shapes(builder: object, config: object, shapes: Mapping[str, ShapeRange]) -> None:
    profile = builder.create_optimization_profile()  # type: ignore[attr-defined]
    for name, shape in shapes.items():
        profile.set_shape(name, shape.least, shape.best, shape.most)
    if shapes:
        config.add_optimization_profile(profile)  # type: ignore[attr-defined]
