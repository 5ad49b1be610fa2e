"""Builds TensorRT engines from ONNX, explicitly and into a cache; needs no GPU to do so.

One path serves both Python modules: `tensorrt` (vendor wheels, Jetson) and `tensorrt_rtx`
(package registry). Networks are strongly typed, so half precision is a property of the
graph: it is converted before parsing, with float32 inputs and outputs.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Final

import onnx

from engines.backends.backend import Precision
from engines.errors import BackendMissing, ModelRejected

__all__ = ["BuildRequest", "ShapeRange", "build_engine", "cached_engine", "tensorrt_module"]

_MODULES: Final = ("tensorrt", "tensorrt_rtx")
_WORKSPACE_BYTES: Final = 1 << 30


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
        precision: `fp32` or `fp16`.
        capability: compute capability such as `8.6`; `current` for the GPU of this machine.
        shapes: range of each dynamic input, by name.
    """

    precision: Precision
    capability: str
    shapes: Mapping[str, ShapeRange]


def tensorrt_module() -> ModuleType:
    """The installed TensorRT module; the vendor's where both are there.

    Raises:
        BackendMissing: neither is installed.
    """
    for name in _MODULES:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        if hasattr(module, "Builder"):
            return module
    raise BackendMissing("TensorRT is not installed; pip install 'kveil[gpu]'")


def build_engine(model: bytes, request: BuildRequest) -> bytes:
    """Builds a serialized engine from an ONNX network.

    Raises:
        BackendMissing: TensorRT is not installed.
        ModelRejected: the network does not parse, or cannot be built as requested.
    """
    trt = tensorrt_module()
    graph = _prepared(model, request)
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    parser = trt.OnnxParser(network, logger)
    if not parser.parse(graph):
        raise ModelRejected(f"TensorRT cannot read the network: {parser.get_error(0).desc()}")
    config = builder.create_builder_config()
    config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, _WORKSPACE_BYTES)
    _set_capability(trt, config, request.capability)
    _set_shapes(builder, config, request.shapes)
    engine = builder.build_serialized_network(network, config)
    if engine is None:
        raise ModelRejected("TensorRT could not build the network; see its messages above")
    return bytes(engine)


def cached_engine(model: bytes, request: BuildRequest, folder: Path) -> Path:
    """The engine's file in the cache, built now if it is not there.

    The name holds everything that the engine depends on: the network's hash, precision,
    compute capability, shapes, and TensorRT's name and version.

    Raises:
        BackendMissing, ModelRejected: see `build_engine`.
        OSError: the folder cannot be written.
    """
    path = folder / f"{_cache_key(model, request)}.engine"
    if path.exists():
        return path
    engine = build_engine(model, request)
    folder.mkdir(parents=True, exist_ok=True)
    handle, partial = tempfile.mkstemp(dir=folder, suffix=".partial")
    with os.fdopen(handle, "wb") as file:
        file.write(engine)
    Path(partial).replace(path)
    return path


def _cache_key(model: bytes, request: BuildRequest) -> str:
    trt = tensorrt_module()
    parts = (
        hashlib.sha256(model).hexdigest(),
        request.precision,
        request.capability,
        repr(sorted((name, shape) for name, shape in request.shapes.items())),
        trt.__name__,
        trt.__version__,
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _prepared(model: bytes, request: BuildRequest) -> bytes:
    """The graph without weights among its inputs, its dynamic axes open, in its precision."""
    try:
        graph = onnx.load_model_from_string(model)
    except Exception:  # protobuf raises its own kinds, which differ by implementation
        raise ModelRejected("the file is not an ONNX network") from None
    weights = {weight.name for weight in graph.graph.initializer}
    inputs = [node for node in graph.graph.input if node.name not in weights]
    del graph.graph.input[:]
    graph.graph.input.extend(inputs)
    _open_axes(inputs, request.shapes)
    del graph.graph.value_info[:]
    for output in graph.graph.output:
        output.type.tensor_type.ClearField("shape")
    if request.precision == "fp16":
        from onnxruntime.transformers.float16 import convert_float_to_float16

        graph = convert_float_to_float16(graph, keep_io_types=True, disable_shape_infer=True)
    elif request.precision != "fp32":
        raise ModelRejected(f"TensorRT engines are fp32 or fp16, not {request.precision}")
    return bytes(graph.SerializeToString())


def _open_axes(inputs: list[onnx.ValueInfoProto], shapes: Mapping[str, ShapeRange]) -> None:
    for node in inputs:
        wanted = shapes.get(node.name)
        if wanted is None:
            continue
        for axis, dim in enumerate(node.type.tensor_type.shape.dim):
            if wanted.least[axis] != wanted.most[axis]:
                dim.dim_param = f"{node.name}_{axis}"
            else:
                dim.dim_value = wanted.best[axis]


def _set_capability(trt: ModuleType, config: object, capability: str) -> None:
    if capability == "current" or not hasattr(trt, "ComputeCapability"):
        return
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
