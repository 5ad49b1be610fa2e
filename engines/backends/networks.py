"""Reading an ONNX file before any runtime sees it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from engines.errors import ModelMissing, ModelRejected

if TYPE_CHECKING:
    import onnx

__all__ = [
    "SoundNetwork",
    "model_bytes",
    "model_sha256",
    "port_names",
    "refuse_giants",
    "sized",
    "stripped",
]

_LOOPS: Final = frozenset({"Loop", "Scan", "SequenceMap"})
_PICTURE: Final = (1, 3, 640, 640)
"""Picture at which a network of any size is judged."""
_MOST_ELEMENTS: Final = 1 << 28
"""Largest tensor that a network may have."""
_GIANT: Final = "the network needs gigabytes for one picture; it is not loaded"
_UNSURE: Final = (
    "how much memory the network needs is known only when it runs; export it for pictures of one "
    "size"
)


class SoundNetwork(bytes):
    """A serialized ONNX network that `stripped` found sound, so that nobody checks it again.

    Whoever keeps a network to load it several times keeps this.
    """

    __slots__ = ()


def model_bytes(model: Path | bytes) -> bytes:
    """The content of a model file.

    Args:
        model: file, or its bytes.

    Returns:
        The bytes, as they are.

    Raises:
        ModelMissing: there is no such file, or it cannot be read.
        ModelRejected: it is empty.
    """
    if isinstance(model, bytes):
        content = model
    else:
        try:
            content = model.read_bytes()
        except OSError as fault:
            message = f"model {model.name} cannot be read ({fault.strerror}); check its path"
            raise ModelMissing(message) from fault
    if not content:
        raise ModelRejected("the model file is empty; fetch it again")
    return content


def model_sha256(model: Path | bytes) -> str:
    """SHA-256 of a model file, in hexadecimal.

    >>> model_sha256(b"abc")[:8]
    'ba7816bf'
    """
    return hashlib.sha256(model_bytes(model)).hexdigest()


def stripped(model: Path | bytes) -> SoundNetwork:
    """The network without weights among its inputs.

    Old exporters list every weight as an input, which a caller might override; runtimes
    then must not fold it into the layers before and after.

    Args:
        model: ONNX file, or its bytes.

    Returns:
        A serialized ONNX network; given again, it is not checked again.

    Raises:
        ModelMissing: there is no such file.
        ModelRejected: the content is not an ONNX network, a damaged one, or not all of it, or
            it might run without end.
    """
    import onnx

    if isinstance(model, SoundNetwork):
        return model
    content = model_bytes(model)
    try:
        network = onnx.load_model_from_string(content)
        is_whole = _is_whole(network)
        if is_whole:
            onnx.checker.check_model(network)
    except Exception as fault:  # protobuf and checker raise unrelated types
        message = "the model is not a sound ONNX network; fetch or export it again"
        raise ModelRejected(message) from fault
    if not is_whole:
        raise ModelRejected("the network keeps its weights in other files; save it as one file")
    _refuse_loops(network)
    weights = {tensor.name for tensor in network.graph.initializer}
    inputs = [value for value in network.graph.input if value.name not in weights]
    if len(inputs) == len(network.graph.input):
        return SoundNetwork(content)
    del network.graph.input[:]
    network.graph.input.extend(inputs)
    return SoundNetwork(network.SerializeToString())


def _is_whole(network: onnx.ModelProto) -> bool:
    """Whether no tensor, wherever it stands, has its values in another file.

    A runtime would look for that file wherever the program happens to be started.
    """
    import onnx

    outside = onnx.TensorProto.EXTERNAL
    return not any(
        tensor.data_location == outside or tensor.external_data for tensor in _tensors(network)
    )


def _refuse_loops(network: onnx.ModelProto) -> None:
    """Refuses what can make a short file work for ever; runtimes cannot be stopped within a run.

    Functions are no loops, but may call each other twice each, a hundred deep.

    Raises:
        ModelRejected: there are loops or functions.
    """
    loops = sorted({node.op_type for node in _nodes(network.graph)} & _LOOPS)
    if loops or network.functions:
        what = ", ".join(loops) or "functions"
        raise ModelRejected(f"the network has {what}, which may run for ever; export it without")


def _nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """All nodes, those of subgraphs too."""
    for one in _graphs(graph):
        yield from one.node


def _graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """The graph and all that its nodes hold."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                yield from _graphs(inner)


def refuse_giants(content: bytes, picture: tuple[int, ...] = _PICTURE) -> None:
    """Refuses a network that would take gigabytes for a picture, or nobody knows how much.

    Args:
        content: a stripped network whose first input is the picture.
        picture: sizes of its axes where the file leaves them open.

    Raises:
        ModelRejected: a tensor of it would have more than 2²⁸ elements, or a size that depends
            on what the picture shows.
    """
    import onnx
    from onnx import shape_inference

    network = onnx.load_model_from_string(content)
    for value in network.graph.input[:1]:
        axes = value.type.tensor_type.shape.dim
        for size, wanted in zip(axes, picture, strict=False):
            if size.dim_value <= 0:
                size.dim_value = wanted
    try:
        inferred = shape_inference.infer_shapes(network, data_prop=True)
    except Exception as fault:  # protobuf and the library raise unrelated types
        message = "the model is not a sound ONNX network; fetch or export it again"
        raise ModelRejected(message) from fault
    for graph in _graphs(inferred.graph):
        _refuse_giants_in(graph)


def sized(content: bytes, shapes: Mapping[str, tuple[int, ...]]) -> bytes:
    """The network for inputs of certain sizes; sizes that follow from them are left to runtimes.

    Args:
        content: a stripped network.
        shapes: sizes of all axes, by name of the input; others stay as they are.

    Returns:
        A serialized ONNX network.
    """
    import onnx

    network = onnx.load_model_from_string(content)
    for value in network.graph.input:
        axes = value.type.tensor_type.shape.dim
        for axis, size in zip(axes, shapes.get(value.name, ()), strict=False):
            axis.dim_value = size
    for value in network.graph.output:
        for axis in value.type.tensor_type.shape.dim:
            axis.ClearField("value")
    del network.graph.value_info[:]
    return bytes(network.SerializeToString())


def _refuse_giants_in(graph: onnx.GraphProto) -> None:
    known = {value.name: value.type for value in (*graph.value_info, *graph.output)}
    for name in (name for node in graph.node for name in node.output if name):
        if name not in known or not known[name].tensor_type.HasField("shape"):
            raise ModelRejected(_UNSURE)
        sizes = [size.dim_value for size in known[name].tensor_type.shape.dim]
        if any(size < 0 or size > _MOST_ELEMENTS for size in sizes):
            raise ModelRejected(_GIANT)
        if math.prod(size for size in sizes if size > 0) > _MOST_ELEMENTS:
            raise ModelRejected(_GIANT)
        if not all(size.HasField("dim_value") for size in known[name].tensor_type.shape.dim):
            raise ModelRejected(_UNSURE)


def _tensors(message: Any) -> Iterator[onnx.TensorProto]:
    """All tensors below: initializers, attributes, subgraphs, functions, sparse ones."""
    import onnx

    if isinstance(message, onnx.TensorProto):
        yield message
        return
    for field, value in message.ListFields():
        if field.message_type is not None:
            for part in [value] if hasattr(value, "ListFields") else value:
                yield from _tensors(part)


def port_names(content: bytes) -> tuple[list[str], list[str]]:
    """Names of the inputs and outputs of a stripped network, in its own order.

    A runtime may know one tensor under several names; callers use those of the file.
    """
    import onnx

    graph = onnx.load_model_from_string(content).graph
    return [value.name for value in graph.input], [value.name for value in graph.output]
