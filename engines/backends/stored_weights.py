"""Unfolds weights that a file keeps small, as half precision or as bytes, to float32.

Packs store such weights with a `Cast` behind them. Processor runtimes fold it when they load;
TensorRT takes a constant of bytes for quantized and refuses it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import onnx

__all__ = ["constants", "with_plain_weights"]


def constants(graph: onnx.GraphProto) -> dict[str, onnx.TensorProto]:
    """Values that are known before a network runs, by name."""
    return {weight.name: weight for weight in graph.initializer} | {
        name: attribute.t
        for node in graph.node
        if node.op_type == "Constant"
        for name, attribute in zip(node.output, node.attribute, strict=True)
        if attribute.name == "value"
    }


def with_plain_weights(model: onnx.ModelProto) -> None:
    """Replace every constant that is cast to float32 by its values, in place."""
    from onnx import TensorProto, numpy_helper

    graph = model.graph
    stored = constants(graph)
    kept = []
    for node in graph.node:
        to = [attribute.i for attribute in node.attribute if attribute.name == "to"]
        if node.op_type == "Cast" and to == [TensorProto.FLOAT] and node.input[0] in stored:
            values = numpy_helper.to_array(stored[node.input[0]]).astype(np.float32)
            graph.initializer.append(numpy_helper.from_array(values, node.output[0]))
        else:
            kept.append(node)
    if len(kept) == len(graph.node):
        return
    used = {name for node in kept for name in node.input}
    used |= {value.name for value in graph.output}
    weights = [weight for weight in graph.initializer if weight.name in used]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(kept)
    graph.initializer.extend(weights)
