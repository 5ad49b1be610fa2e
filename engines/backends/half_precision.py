"""Rewrites an ONNX network to compute in fp16 or bf16, with float32 inputs and outputs.

Runtimes with strong types take the arithmetic from the graph. Weights and float constants
become half; casts stand at the borders, and around the few operators that compute places
rather than pictures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import numpy as np
import numpy.typing as npt

from engines.errors import ModelRejected

if TYPE_CHECKING:
    import onnx

__all__ = ["KEPT", "HalfPrecision", "halved"]

HalfPrecision = Literal["fp16", "bf16"]
KEPT: Final = frozenset({"GridSample", "Resize", "Sin", "Softplus"})
"""Operators that stay in float32: places on a grid, and functions of large arguments."""
_KEPT_IN_BF16: Final = KEPT | {"ConvTranspose"}
"""TensorRT has no transposed convolution in bf16."""
_LARGEST: Final = 65504.0


def halved(model: bytes, precision: HalfPrecision) -> bytes:
    """The network in half precision.

    Args:
        model: a serialized ONNX network without weights among its inputs.
        precision: of its arithmetic.

    Raises:
        ModelRejected: it has branches or loops, whose types cannot be told.
    """
    import onnx

    network = onnx.load_model_from_string(model)
    _Rewriter(network, precision).rewrite()
    return bytes(network.SerializeToString())


class _Rewriter:
    """Rewrites one network in place."""

    def __init__(self, network: onnx.ModelProto, precision: HalfPrecision) -> None:
        from onnx import TensorProto, shape_inference

        self._half = TensorProto.FLOAT16 if precision == "fp16" else TensorProto.BFLOAT16
        self._kept = KEPT if precision == "fp16" else _KEPT_IN_BF16
        self._full, self._fp16 = TensorProto.FLOAT, TensorProto.FLOAT16
        self._graph = network.graph
        known = shape_inference.infer_shapes(network).graph
        self._types = {
            value.name: value.type.tensor_type.elem_type
            for values in (known.input, known.value_info, known.output)
            for value in values
        }
        self._types |= {weight.name: weight.data_type for weight in known.initializer}
        self._wide: set[str] = set()
        self._casts: dict[tuple[str, int], str] = {}

    def rewrite(self) -> None:
        nodes = list(self._graph.node)
        if any(attribute.HasField("g") for node in nodes for attribute in node.attribute):
            raise ModelRejected("the network has branches or loops; build it in fp32")
        used = {name for node in nodes if node.op_type in self._kept for name in node.input}
        self._wide = {value.name for value in self._graph.input if self._is_full(value.name)}
        for weight in self._graph.initializer:
            self._halve_unless(weight, weight.name in used)
        del self._graph.node[:], self._graph.value_info[:]
        for node in nodes:
            if node.op_type in ("Constant", "ConstantOfShape"):
                self._halve_attributes(node, node.output[0] in used)
            if node.op_type in self._kept:
                self._keep(node)
            else:
                self._lower(node)
        for value in self._graph.output:
            if self._is_full(value.name):
                self._return_full(value.name)

    def _is_full(self, name: str) -> bool:
        """Whether a value was float32 before."""
        return bool(self._types.get(name, self._full) == self._full)

    def _halve_unless(self, tensor: onnx.TensorProto, is_kept: bool) -> None:
        from onnx import helper, numpy_helper

        if tensor.data_type != self._full:
            return
        if is_kept:
            self._wide.add(tensor.name)
            return
        values = np.clip(numpy_helper.to_array(tensor), -_LARGEST, _LARGEST)
        content = self._bytes(values)
        made = helper.make_tensor(tensor.name, self._half, list(tensor.dims), content, raw=True)
        tensor.CopyFrom(made)

    def _halve_attributes(self, node: onnx.NodeProto, is_kept: bool) -> None:
        from onnx import helper

        for attribute in list(node.attribute):
            if attribute.name in ("value_float", "value_floats"):
                values = list(attribute.floats) or [attribute.f]
                shape = [len(values)] if attribute.name == "value_floats" else []
                made = helper.make_tensor(node.output[0], self._full, shape, values)
                node.attribute.remove(attribute)
                node.attribute.append(helper.make_attribute("value", made))
        for attribute in node.attribute:
            if attribute.name == "value" and attribute.t.data_type == self._full:
                attribute.t.name = node.output[0]
                self._halve_unless(attribute.t, is_kept)

    def _bytes(self, values: npt.NDArray[np.float32]) -> bytes:
        """Rounded to the nearest, little-endian."""
        if self._half == self._fp16:
            return bytes(values.astype("<f2").tobytes())
        bits = values.astype("<f4").view("<u4")
        return bytes(((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2").tobytes())

    def _lower(self, node: onnx.NodeProto) -> None:
        """A node in half precision."""
        for place, name in enumerate(node.input):
            if name in self._wide and node.op_type != "Cast":
                node.input[place] = self._cast(name, self._half)
        if node.op_type == "Cast":
            for attribute in node.attribute:
                if attribute.name == "to" and attribute.i == self._full:
                    attribute.i = self._half
        self._graph.node.append(node)

    def _keep(self, node: onnx.NodeProto) -> None:
        """A node in float32 between casts; its results are half again."""
        for place, name in enumerate(node.input):
            if name and name not in self._wide and self._is_full(name):
                node.input[place] = self._cast(name, self._full)
        wanted = list(node.output)
        for place, name in enumerate(wanted):
            node.output[place] = f"{name}_full"
        self._graph.node.append(node)
        for name in wanted:
            self._cast(f"{name}_full", self._half, name)

    def _return_full(self, name: str) -> None:
        """Cast a result back under its own name."""
        inner = f"{name}_half"
        for node in self._graph.node:
            for names in (node.input, node.output):
                for place, used in enumerate(names):
                    if used == name:
                        names[place] = inner
        self._cast(inner, self._full, name)

    def _cast(self, name: str, to: int, result: str = "") -> str:
        """Add a cast, or give the one that is there."""
        from onnx import helper

        if not result and (name, to) in self._casts:
            return self._casts[name, to]
        number = len(self._graph.node)
        made = result or f"{name}_cast_{number}"
        self._casts[name, to] = made
        self._graph.node.append(helper.make_node("Cast", [name], [made], f"cast_{number}", to=to))
        return made
