"""TensorRT 8 is given networks that it reads rightly, and is told which values stay in float32."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from engines.backends import tensorrt_build
from engines.backends.onnxruntime import OnnxRuntime
from engines.backends.tensorrt_build import BuildRequest, build_engine
from engines.backends.tensorrt_types import (
    as_opset_17,
    is_strongly_typed,
    new_network,
    set_arithmetic,
    values_kept,
)
from engines.errors import BackendMissing, ModelRejected
from engines.models.probes import probes_for
from engines.stylegan.pack import bundled_pack, read_pack

pytestmark = pytest.mark.unit


def reduced(axes: str) -> onnx.ModelProto:
    """y = mean of x over axes that are constant, or those that are asked for."""
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 4])]
    if axes == "asked":
        inputs.append(helper.make_tensor_value_info("asked", TensorProto.INT64, [1]))
    nodes = [helper.make_node("ReduceMean", ["x", axes], ["y"], keepdims=0)]
    if axes == "node":
        nodes.insert(0, helper.make_node("Constant", [], ["node"], value_ints=[1]))
        nodes[0].attribute[0].CopyFrom(
            helper.make_attribute("value", helper.make_tensor("t", TensorProto.INT64, [1], [1]))
        )
    weights = [helper.make_tensor("weight", TensorProto.INT64, [1], [1])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", "m"])]
    graph = helper.make_graph(
        nodes, "reduced", inputs, outputs, weights if axes == "weight" else []
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


class Network:
    """Layers as TensorRT lists them: a convolution and a look-up on a grid."""

    def __init__(self) -> None:
        self.layers = [self._layer("features"), self._layer("moved")]
        self.num_layers = len(self.layers)
        self.kept: list[tuple[str, str]] = []

    def _layer(self, name: str) -> SimpleNamespace:
        def keep(index: int, kind: str) -> None:
            del index
            self.kept.append((name, kind))

        return SimpleNamespace(
            num_outputs=1,
            get_output=lambda _: SimpleNamespace(name=name),
            set_output_type=keep,
            precision=None,
        )

    def get_layer(self, index: int) -> SimpleNamespace:
        return self.layers[index]


class Config:
    """What a builder's configuration was told."""

    def __init__(self) -> None:
        self.flags = {"TF32"}
        self.sources = 0b11111

    def set_flag(self, flag: str) -> None:
        self.flags.add(flag)

    def clear_flag(self, flag: str) -> None:
        self.flags.discard(flag)

    def get_tactic_sources(self) -> int:
        return self.sources

    def set_tactic_sources(self, sources: int) -> None:
        self.sources = sources


def tensorrt(*flags: str) -> ModuleType:
    """A TensorRT that has these flags for new networks."""
    told = {
        "NetworkDefinitionCreationFlag": SimpleNamespace(**{f: i for i, f in enumerate(flags)}),
        "BuilderFlag": SimpleNamespace(TF32="TF32", FP16="FP16", OBEY_PRECISION_CONSTRAINTS="OBEY"),
        "TacticSource": SimpleNamespace(CUBLAS=0, CUBLAS_LT=1, CUDNN=2),
        "float32": "float32",
    }
    module = ModuleType("tensorrt")
    vars(module).update(told)
    return module


OLD, NEW = tensorrt("EXPLICIT_BATCH"), tensorrt("EXPLICIT_BATCH", "STRONGLY_TYPED")


@pytest.mark.parametrize("axes", ["weight", "node"])
def test_axes_of_reductions_are_where_tensorrt_8_looks(axes: str) -> None:
    network = reduced(axes)
    x = np.random.default_rng(1).standard_normal((2, 3, 4)).astype(np.float32)
    wanted = OnnxRuntime().load(network.SerializeToString()).run({"x": x})["y"]
    as_opset_17(network, "fp32")
    (mean,) = (node for node in network.graph.node if node.op_type == "ReduceMean")
    assert list(mean.input) == ["x"]
    assert network.opset_import[0].version == 17
    given = OnnxRuntime().load(network.SerializeToString()).run({"x": x})["y"]
    np.testing.assert_array_equal(given, wanted)
    assert given.shape == (2, 4)


def test_axes_that_are_computed_are_refused() -> None:
    with pytest.raises(ModelRejected, match="axes"):
        as_opset_17(reduced("asked"), "fp32")


@pytest.mark.parametrize("name", ["generator", "encoder", "landmarker", "lids"])
def test_bundled_network_answers_as_before(name: str) -> None:
    pack = read_pack(bundled_pack())
    network = onnx.load(pack.path(f"{name}.onnx"))
    before = OnnxRuntime().load(network.SerializeToString())
    as_opset_17(network, "fp16")
    onnx.checker.check_model(network, full_check=True)
    probes = probes_for(before.inputs, pack)
    given = OnnxRuntime().load(network.SerializeToString()).run(probes)
    for port, values in before.run(probes).items():
        np.testing.assert_allclose(given[port], values, atol=1e-5)


def test_bf16_is_refused() -> None:
    with pytest.raises(ModelRejected, match="no bf16"):
        as_opset_17(reduced("weight"), "bf16")


def test_places_stay_in_float32() -> None:
    config, network = Config(), Network()
    set_arithmetic(OLD, config, network, "fp16", {"moved"})
    assert config.flags == {"FP16", "OBEY"}
    assert network.kept == [("moved", "float32")]
    assert [layer.precision for layer in network.layers] == [None, "float32"]


def test_float32_is_no_tf32_and_needs_no_other_library() -> None:
    config, network = Config(), Network()
    set_arithmetic(OLD, config, network, "fp32", {"moved"})
    assert not config.flags
    assert config.sources == 0b11000
    assert not network.kept


def test_typed_networks_are_left_alone() -> None:
    config, network = Config(), Network()
    set_arithmetic(NEW, config, network, "fp16", {"moved"})
    assert config.flags == {"TF32"}
    assert not network.kept


def test_new_network_is_typed_where_that_is_known() -> None:
    builder = SimpleNamespace(create_network=lambda flags: flags)
    assert new_network(OLD, builder) == 1
    assert new_network(NEW, builder) == 2
    assert (is_strongly_typed(OLD), is_strongly_typed(NEW)) == (False, True)


def test_without_a_gpu_the_build_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(logger: object) -> None:
        raise TypeError("pybind11::init(): factory function returned nullptr")

    module = tensorrt("EXPLICIT_BATCH")
    vars(module).update(ILogger=object, Builder=refuse, __version__="8.6.1")
    monkeypatch.setattr(tensorrt_build, "tensorrt_module", lambda wanted: module)
    with pytest.raises(BackendMissing, match=r"8\.6\.1 builds on a machine with an NVIDIA GPU"):
        build_engine(reduced("weight").SerializeToString(), BuildRequest("fp32", "current", {}))


def test_values_kept_are_those_on_a_grid() -> None:
    pack = read_pack(bundled_pack())
    network = onnx.load(pack.path("encoder.onnx"))
    kinds = {name: node.op_type for node in network.graph.node for name in node.output}
    assert {kinds[name] for name in values_kept(network)} == {"GridSample", "Resize"}
