"""How TensorRT is told a network's arithmetic: by types, or before TensorRT 9 layer by layer.

From TensorRT 9 on, and in TensorRT-RTX, networks are strongly typed: the graph itself is written
in half precision (`half_precision`). TensorRT 8 (tried: 8.6, which JetPack 6.0 has) picks types
itself: there the graph stays in float32, half precision is allowed, and what computes places is
held in float32. Its parser reads ONNX up to opset 17, and newer networks wrongly (from opset 18 on
the axes of a reduction are an input, at which it does not look), so they are rewritten.
"""

from __future__ import annotations

from collections.abc import Container
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from engines.backends.backend import Precision
from engines.backends.half_precision import KEPT
from engines.backends.stored_weights import constants
from engines.errors import ModelRejected

if TYPE_CHECKING:
    import onnx

__all__ = ["as_opset_17", "is_strongly_typed", "new_network", "set_arithmetic", "values_kept"]

_OPSET: Final = 17
_REDUCTIONS: Final = frozenset(
    f"Reduce{name}"
    for name in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "SumSquare")
)
"""Operators whose axes became an input in opset 18; those of `ReduceSum` did in 13."""


def is_strongly_typed(trt: ModuleType) -> bool:
    """Whether this TensorRT takes the arithmetic from the graph."""
    return hasattr(trt.NetworkDefinitionCreationFlag, "STRONGLY_TYPED")


def new_network(trt: ModuleType, builder: Any) -> Any:
    """An empty network, strongly typed where this TensorRT has that."""
    flags = trt.NetworkDefinitionCreationFlag
    flag = flags.STRONGLY_TYPED if is_strongly_typed(trt) else flags.EXPLICIT_BATCH
    return builder.create_network(1 << int(flag))


def set_arithmetic(
    trt: ModuleType, config: Any, network: Any, precision: Precision, kept: Container[str]
) -> None:
    """Tell a TensorRT before 9 in what to compute a parsed float32 network; others know it.

    float32 is float32 there, not TF32, and libraries that need not be installed are left alone.

    Args:
        trt: the module.
        config: of the builder; changed.
        network: parsed; its layers are changed.
        precision: of the arithmetic.
        kept: values that stay in float32, from `values_kept`.
    """
    if is_strongly_typed(trt):
        return
    config.clear_flag(trt.BuilderFlag.TF32)
    lent = (trt.TacticSource.CUBLAS, trt.TacticSource.CUBLAS_LT, trt.TacticSource.CUDNN)
    config.set_tactic_sources(
        config.get_tactic_sources() & ~sum(1 << int(source) for source in lent)
    )
    if precision == "fp32":
        return
    config.set_flag(trt.BuilderFlag.FP16)
    config.set_flag(trt.BuilderFlag.OBEY_PRECISION_CONSTRAINTS)
    for layer in (network.get_layer(index) for index in range(network.num_layers)):
        if layer.num_outputs == 1 and layer.get_output(0).name in kept:
            layer.precision = trt.float32
            layer.set_output_type(0, trt.float32)


def as_opset_17(network: onnx.ModelProto, precision: Precision) -> None:
    """Rewrite a network in place as TensorRT 8 reads it.

    Args:
        network: any that uses no operator newer than opset 17 but in how it is written.
        precision: it will be computed in.

    Raises:
        ModelRejected: the precision is bf16, which TensorRT 8 has not, or the axes of a reduction
            are not constant.
    """
    if precision == "bf16":
        raise ModelRejected("TensorRT 8 has no bf16; use fp16 or fp32")
    if all(opset.domain or opset.version <= _OPSET for opset in network.opset_import):
        return
    known = constants(network.graph)
    for node in network.graph.node:
        if node.op_type in _REDUCTIONS and len(node.input) > 1:
            _write_axes(node, known)
    for opset in network.opset_import:
        if not opset.domain:
            opset.version = _OPSET


def values_kept(network: onnx.ModelProto) -> frozenset[str]:
    """Names of the values that stay in float32 whatever the precision."""
    return frozenset(
        name for node in network.graph.node if node.op_type in KEPT for name in node.output
    )


def _write_axes(node: onnx.NodeProto, known: dict[str, onnx.TensorProto]) -> None:
    """Move the axes of a reduction from its second input to an attribute."""
    from onnx import helper, numpy_helper

    if node.input[1] not in known:
        raise ModelRejected("a reduction over axes that are not constant; TensorRT 8 has none")
    axes = np.atleast_1d(numpy_helper.to_array(known[node.input[1]]))
    del node.input[1:]
    node.attribute.extend([helper.make_attribute("axes", [int(axis) for axis in axes])])
