"""TensorRT engines build without a GPU, and their cache is keyed by all they depend on."""

from __future__ import annotations

from importlib import util
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from engines.backends.tensorrt_build import BuildRequest, ShapeRange, build_engine, cached_engine
from engines.errors import ModelRejected

pytestmark = [
    pytest.mark.unit,
    pytest.mark.skipif(
        not (util.find_spec("tensorrt") or util.find_spec("tensorrt_rtx")),
        reason="needs TensorRT: pip install 'kveil[gpu]'",
    ),
]

IMAGE = ShapeRange((1, 3, 16, 16), (2, 3, 16, 16), (8, 3, 16, 16))


def tiny_network() -> bytes:
    """y = relu(conv(x, w)), with the weight listed as an input as old exporters do."""
    weight = helper.make_tensor("w", TensorProto.FLOAT, (4, 3, 3, 3), [0.1] * 108)
    shape: list[str | int | None] = ["n", 3, 16, 16]
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
            helper.make_node("Relu", ["c"], ["y"]),
        ],
        "tiny",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, shape),
            helper.make_tensor_value_info("w", TensorProto.FLOAT, (4, 3, 3, 3)),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4, 16, 16])],
        [weight],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


@pytest.mark.parametrize("precision", ["fp32", "fp16"])
@pytest.mark.parametrize("capability", ["8.6", "8.9"])
def test_engine_builds_without_a_gpu(precision: str, capability: str) -> None:
    request = BuildRequest("fp16" if precision == "fp16" else "fp32", capability, {"x": IMAGE})
    assert len(build_engine(tiny_network(), request)) > 1000


def test_second_request_comes_from_the_cache(tmp_path: Path) -> None:
    request = BuildRequest("fp32", "8.6", {"x": IMAGE})
    path = cached_engine(tiny_network(), request, tmp_path)
    changed = path.stat().st_mtime_ns
    assert cached_engine(tiny_network(), request, tmp_path) == path
    assert path.stat().st_mtime_ns == changed
    other = BuildRequest("fp16", "8.6", {"x": IMAGE})
    assert cached_engine(tiny_network(), other, tmp_path) != path
    assert not list(tmp_path.glob("*.partial"))


@pytest.mark.parametrize("content", [b"", b"not a network", tiny_network()[:200]])
def test_malformed_network_is_rejected(content: bytes) -> None:
    with pytest.raises(ModelRejected):
        build_engine(content, BuildRequest("fp32", "8.6", {}))


def test_unknown_capability_is_rejected_with_the_known_ones() -> None:
    with pytest.raises(ModelRejected, match="SM86"):
        build_engine(tiny_network(), BuildRequest("fp32", "1.0", {"x": IMAGE}))
