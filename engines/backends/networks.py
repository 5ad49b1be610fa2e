"""Reading an ONNX file before any runtime sees it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engines.errors import ModelMissing, ModelRejected

if TYPE_CHECKING:
    import onnx

__all__ = ["model_bytes", "model_sha256", "port_names", "stripped"]


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


def stripped(model: Path | bytes) -> bytes:
    """The network without weights among its inputs.

    Old exporters list every weight as an input, which a caller might override; runtimes
    then must not fold it into the layers before and after.

    Args:
        model: ONNX file, or its bytes.

    Returns:
        A serialized ONNX network.

    Raises:
        ModelMissing: there is no such file.
        ModelRejected: the content is not an ONNX network, a damaged one, or not all of it.
    """
    import onnx

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
    weights = {tensor.name for tensor in network.graph.initializer}
    inputs = [value for value in network.graph.input if value.name not in weights]
    if len(inputs) == len(network.graph.input):
        return content
    del network.graph.input[:]
    network.graph.input.extend(inputs)
    return bytes(network.SerializeToString())


def _is_whole(network: onnx.ModelProto) -> bool:
    """Whether no tensor, wherever it stands, has its values in another file.

    A runtime would look for that file wherever the program happens to be started.
    """
    import onnx

    outside = onnx.TensorProto.EXTERNAL
    return not any(
        tensor.data_location == outside or tensor.external_data for tensor in _tensors(network)
    )


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
