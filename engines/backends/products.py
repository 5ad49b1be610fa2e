"""Rewrites matrix products as sums of products, for GPUs whose runtime has no float32 ones.

TensorRT-RTX refuses `Gemm` and `MatMul` in float32 on capability 7.5. Those of the face networks
are small; a multiplication and a sum, which it fuses, give the same values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engines.errors import ModelRejected

if TYPE_CHECKING:
    import onnx

__all__ = ["without_products"]


def without_products(model: bytes) -> bytes:
    """The network without `Gemm` and `MatMul`.

    Args:
        model: a serialized ONNX network of opset 13 or later where it has any.

    Raises:
        ModelRejected: it has some, and an older opset.
    """
    import onnx

    network = onnx.load_model_from_string(model)
    nodes = list(network.graph.node)
    if not any(node.op_type in ("Gemm", "MatMul") for node in nodes):
        return model
    if any(opset.domain == "" and opset.version < 13 for opset in network.opset_import):
        raise ModelRejected("the network's opset is too old for this GPU in fp32; use fp16")
    del network.graph.node[:]
    for number, node in enumerate(nodes):
        if node.op_type in ("Gemm", "MatMul"):
            _Product(network.graph, node, f"product_{number}").replace()
        else:
            network.graph.node.append(node)
    return bytes(network.SerializeToString())


class _Product:
    """Replaces one node; new values are named after it."""

    def __init__(self, graph: onnx.GraphProto, node: onnx.NodeProto, name: str) -> None:
        from onnx import helper

        self._graph = graph
        self._node = node
        self._name = name
        self._settings = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        self._count = 0

    def replace(self) -> None:
        a, b = list(self._node.input)[:2]
        if self._settings.get("transA"):
            a = self._add("Transpose", a)
        if self._settings.get("transB"):
            b = self._add("Transpose", b)
        # [.., M, K, 1] times [.., 1, K, N], summed over K.
        wide = self._add("Unsqueeze", a, self._axis(-1))
        tall = self._add("Unsqueeze", b, self._axis(-3))
        made = self._add("ReduceSum", self._add("Mul", wide, tall), self._axis(-2))
        self._graph.node[-1].attribute.extend(self._without_kept_axis())
        made = self._scaled(made, "alpha")
        if len(self._node.input) > 2 and self._node.input[2]:
            made = self._add("Add", made, self._scaled(self._node.input[2], "beta"))
        self._graph.node[-1].output[0] = self._node.output[0]

    def _without_kept_axis(self) -> list[onnx.AttributeProto]:
        from onnx import helper

        return [helper.make_attribute("keepdims", 0)]

    def _scaled(self, name: str, setting: str) -> str:
        factor = float(self._settings.get(setting, 1.0))
        if factor == 1.0:
            return name
        return self._add("Mul", name, self._constant(np.array(factor, np.float32)))

    def _axis(self, axis: int) -> str:
        return self._constant(np.array([axis], np.int64))

    def _constant(self, values: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> str:
        from onnx import numpy_helper

        name = self._next()
        self._graph.initializer.append(numpy_helper.from_array(values, name))
        return name

    def _add(self, kind: str, *inputs: str) -> str:
        from onnx import helper

        name = self._next()
        self._graph.node.append(helper.make_node(kind, list(inputs), [name], name))
        return name

    def _next(self) -> str:
        self._count += 1
        return f"{self._name}_{self._count}"
