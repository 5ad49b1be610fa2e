"""Well-formed networks that would run for ever, or take all memory, are refused before they run."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from engines.backends.networks import refuse_giants, stripped
from engines.catalogue import centerface_path
from engines.detectors.loading import layout_of
from engines.errors import ModelRejected
from engines.importing import import_model
from engines.stylegan.pack import bundled_pack

pytestmark = pytest.mark.unit

Node = onnx.NodeProto
HEADS = (("a", 1), ("b", 2), ("c", 2), ("d", 10))


def constant(name: str, value: object, kind: type = np.float32) -> onnx.TensorProto:
    return numpy_helper.from_array(np.asarray(value, kind), name)


def detector_after(
    nodes: list[Node],
    constants: list[onnx.TensorProto],
    functions: list[onnx.FunctionProto] | None = None,
) -> bytes:
    """A network with CenterFace's outputs; `nodes` make y of the picture x."""
    outputs, heads, weights = [], [], list(constants)
    for name, channels in HEADS:
        outputs.append(
            helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, channels, "h", "w"])
        )
        heads.append(helper.make_node("Conv", ["y", f"w{name}"], [name], strides=[4, 4]))
        weights.append(constant(f"w{name}", np.full((channels, 3, 4, 4), 0.01)))
    picture = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, "H", "W"])
    graph = helper.make_graph([*nodes, *heads], "g", [picture], outputs, weights)
    domains = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]
    model = helper.make_model(graph, opset_imports=domains, functions=functions or [])
    return bytes(model.SerializeToString())


def counting() -> onnx.GraphProto:
    kinds = [("i", TensorProto.INT64), ("c", TensorProto.BOOL), ("v", TensorProto.FLOAT)]
    nodes = [
        helper.make_node("Identity", ["c"], ["c2"]),
        helper.make_node("Add", ["v", "one"], ["v2"]),
    ]
    taken = [helper.make_tensor_value_info(name, kind, []) for name, kind in kinds]
    given = [helper.make_tensor_value_info(f"{name}2", kind, []) for name, kind in kinds[1:]]
    return helper.make_graph(nodes, "body", taken, given, [constant("one", 1)])


def looped() -> bytes:
    nodes = [
        helper.make_node("Loop", ["n", "yes", "zero"], ["v"], body=counting()),
        helper.make_node("Add", ["x", "v"], ["y"]),
    ]
    more = [constant("n", 2**62, np.int64), constant("yes", True, np.bool_), constant("zero", 0)]
    return detector_after(nodes, more)


def looped_within_a_branch() -> bytes:
    loop = helper.make_node("Loop", ["n", "yes", "zero"], ["v3"], body=counting())
    given = helper.make_tensor_value_info("v3", TensorProto.FLOAT, [])
    branch = helper.make_graph([loop], "branch", [], [given])
    nodes = [
        helper.make_node("If", ["yes"], ["v"], then_branch=branch, else_branch=branch),
        helper.make_node("Add", ["x", "v"], ["y"]),
    ]
    more = [constant("n", 2**62, np.int64), constant("yes", True, np.bool_), constant("zero", 0)]
    return detector_after(nodes, more)


def doubled_functions() -> bytes:
    """Each function calls the one before twice."""
    domains = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]
    functions = []
    for depth in range(60):
        kind, domain = (f"f{depth - 1}", "mine") if depth else ("Identity", "")
        nodes = [
            helper.make_node(kind, ["p"], ["q"], domain=domain),
            helper.make_node(kind, ["q"], ["r"], domain=domain),
        ]
        functions.append(helper.make_function("mine", f"f{depth}", ["p"], ["r"], nodes, domains))
    call = helper.make_node("f59", ["x"], ["y"], domain="mine")
    return detector_after([call], [], functions)


def filled() -> bytes:
    nodes = [
        helper.make_node("ConstantOfShape", ["shape"], ["big"], value=constant("", [1])),
        helper.make_node("ReduceMax", ["big"], ["most"], keepdims=0),
        helper.make_node("Mul", ["x", "most"], ["y"]),
    ]
    return detector_after(nodes, [constant("shape", [300_000, 300_000], np.int64)])


def enlarged() -> bytes:
    nodes = [helper.make_node("Resize", ["x", "", "scale"], ["y"], mode="nearest")]
    return detector_after(nodes, [constant("scale", [1, 1, 400, 400])])


def tiled() -> bytes:
    nodes = [helper.make_node("Tile", ["x", "times"], ["y"])]
    return detector_after(nodes, [constant("times", [1, 1, 4000, 4000], np.int64)])


@pytest.mark.parametrize("made", [looped, looped_within_a_branch, doubled_functions])
def test_network_that_may_run_for_ever_is_refused(made: object, tmp_path: Path) -> None:
    assert callable(made)
    content: bytes = made()
    start = time.process_time()
    with pytest.raises(ModelRejected):
        stripped(content)
    (tmp_path / "a.onnx").write_bytes(content)
    with pytest.raises(ModelRejected):
        import_model(tmp_path / "a.onnx", folder=tmp_path / "models")
    assert time.process_time() - start < 5.0


@pytest.mark.parametrize("made", [filled, enlarged, tiled])
def test_network_that_takes_gigabytes_is_refused(made: object) -> None:
    assert callable(made)
    content: bytes = made()
    with pytest.raises(ModelRejected, match="gigabytes"):
        layout_of(content)


def test_ordinary_networks_pass() -> None:
    same: list[Node] = [helper.make_node("Identity", ["x"], ["y"])]
    assert layout_of(detector_after(same, [])) == "centerface"
    for path in (centerface_path(), *bundled_pack().glob("*.onnx")):
        refuse_giants(stripped(path))
