"""Well-formed networks that would run for ever, or take all memory, are refused before they run."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from config.loading import load_settings
from engines.backends.networks import stripped
from engines.backends.onnxruntime import OnnxRuntime
from engines.detectors.loading import detector_from_model, layout_of
from engines.errors import ModelRejected
from engines.models.catalogue import centerface_path
from engines.models.importing import import_model
from engines.models.model_trial import import_bounded, refuse_unbounded
from stream.pipeline import engine_set
from stream.pipeline.engine_set import open_engines

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
    model = helper.make_model(
        graph, opset_imports=domains, functions=functions or [], ir_version=10
    )
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


def filled_within_a_branch() -> bytes:
    fill = helper.make_node("ConstantOfShape", ["shape"], ["big"], value=constant("", [1]))
    most = helper.make_node("ReduceMax", ["big"], ["v2"], keepdims=0)
    given = helper.make_tensor_value_info("v2", TensorProto.FLOAT, [])
    branch = helper.make_graph([fill, most], "branch", [], [given])
    nodes = [
        helper.make_node("If", ["yes"], ["v"], then_branch=branch, else_branch=branch),
        helper.make_node("Add", ["x", "v"], ["y"]),
    ]
    shape = constant("shape", [300_000, 300_000], np.int64)
    return detector_after(nodes, [shape, constant("yes", True, np.bool_)])


def filled_as_the_picture_says() -> bytes:
    """As many elements as the sum of the picture's samples."""
    nodes = [
        helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0),
        helper.make_node("Cast", ["sum"], ["n"], to=TensorProto.INT64),
        helper.make_node("Unsqueeze", ["n", "axis"], ["shape"]),
        helper.make_node("ConstantOfShape", ["shape"], ["big"], value=constant("", [1])),
        helper.make_node("ReduceMax", ["big"], ["most"], keepdims=0),
        helper.make_node("Mul", ["x", "most"], ["y"]),
    ]
    return detector_after(nodes, [constant("axis", [0], np.int64)])


def places_found() -> bytes:
    nodes = [
        helper.make_node("NonZero", ["x"], ["places"]),
        helper.make_node("Cast", ["places"], ["far"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMax", ["far"], ["most"], keepdims=0),
        helper.make_node("Mul", ["x", "most"], ["y"]),
    ]
    return detector_after(nodes, [])


def enlarged_to_the_pictures_size() -> bytes:
    """As exporters write an enlargement for pictures of any size."""
    nodes = [
        helper.make_node("MaxPool", ["x"], ["half"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Shape", ["x"], ["all"]),
        helper.make_node("Slice", ["all", "two", "four", "axis"], ["sides"]),
        helper.make_node("Shape", ["half"], ["small"]),
        helper.make_node("Slice", ["small", "axis", "two", "axis"], ["first"]),
        helper.make_node("Concat", ["first", "sides"], ["size"], axis=0),
        helper.make_node("Resize", ["half", "", "", "size"], ["y"], mode="nearest"),
    ]
    numbers = {"axis": [0], "two": [2], "four": [4]}
    return detector_after(nodes, [constant(name, at, np.int64) for name, at in numbers.items()])


def explodes_in_wide_pictures() -> bytes:
    """Takes nothing more for pictures 640 px wide, and a mebi of values for each column beyond."""
    nodes = [
        helper.make_node("Shape", ["x"], ["all"]),
        helper.make_node("Slice", ["all", "three", "four", "axis"], ["width"]),
        helper.make_node("Sub", ["width", "usual"], ["more"]),
        helper.make_node("Mul", ["more", "much"], ["shape"]),
        helper.make_node("ConstantOfShape", ["shape"], ["big"], value=constant("", [1])),
        helper.make_node("ReduceSum", ["big"], ["sum"], keepdims=0),
        helper.make_node("Add", ["x", "sum"], ["y"]),
    ]
    numbers = {"axis": [0], "three": [3], "four": [4], "usual": [640], "much": [2**20]}
    return detector_after(nodes, [constant(name, at, np.int64) for name, at in numbers.items()])


def slow() -> bytes:
    """A short file that works for minutes on any machine: the same weights over and over."""
    nodes = [helper.make_node("Conv", ["x", "first"], ["y0"], pads=[4, 4, 4, 4])]
    for number in range(1000):
        names = [f"y{number}", "again"], [f"y{number + 1}"]
        nodes.append(helper.make_node("Conv", *names, pads=[4, 4, 4, 4]))
    nodes.append(helper.make_node("Conv", ["y1000", "last"], ["y"], pads=[4, 4, 4, 4]))
    sizes = {"first": (64, 3), "again": (64, 64), "last": (3, 64)}
    means = {name: np.full((*size, 9, 9), 1 / (81 * size[1])) for name, size in sizes.items()}
    return detector_after(nodes, [constant(name, mean) for name, mean in means.items()])


def broad(count: int = 40) -> bytes:
    """Tensors of half a gigabyte in full HD: the first made is the last that is needed."""
    nodes = [helper.make_node("Resize", ["x", "", "scale"], ["a0"], mode="nearest")]
    nodes += [helper.make_node("Sin", [f"a{n}"], [f"a{n + 1}"]) for n in range(count)]
    nodes.append(helper.make_node("Identity", [f"a{count}"], [f"b{count}"]))
    for n in reversed(range(count)):
        nodes.append(helper.make_node("Add", [f"a{n}", f"b{n + 1}"], [f"b{n}"]))
    nodes += [
        helper.make_node("ReduceMax", ["b0"], ["most"], keepdims=0),
        helper.make_node("Mul", ["x", "most"], ["y"]),
    ]
    return detector_after(nodes, [constant("scale", [1, 1, 4.5, 4.5])])


@pytest.mark.parametrize("made", [filled, enlarged, tiled])
def test_network_that_takes_gigabytes_is_refused(made: object) -> None:
    assert callable(made)
    content: bytes = made()
    with pytest.raises(ModelRejected, match="gigabytes"):
        layout_of(content)


@pytest.mark.parametrize("made", [filled_within_a_branch, filled_as_the_picture_says, places_found])
def test_network_whose_memory_is_known_only_at_run_is_refused(made: Callable[[], bytes]) -> None:
    with pytest.raises(ModelRejected, match="known only when it runs"):
        layout_of(made())


def test_network_that_takes_gigabytes_for_large_pictures_is_refused_at_these() -> None:
    detector = detector_from_model(OnnxRuntime(), explodes_in_wide_pictures())
    detector.detect(np.zeros((96, 640, 3), np.uint8), min_score=0.3)
    with pytest.raises(ModelRejected, match="gigabytes"):
        detector.detect(np.zeros((96, 1920, 3), np.uint8), min_score=0.3)


def test_ordinary_networks_pass(shared_data: Path) -> None:
    same: list[Node] = [helper.make_node("Identity", ["x"], ["y"])]
    assert layout_of(detector_after(same, [])) == "centerface"
    assert layout_of(enlarged_to_the_pictures_size()) == "centerface"
    assert layout_of(centerface_path()) == "centerface"
    for name in ("yunet_2026may", "scrfd_500m"):
        (path,) = (shared_data / "models").glob(f"*{name}*.onnx")
        assert layout_of(path) == name.partition("_")[0]


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_network_that_is_too_slow_is_refused_in_time(tmp_path: Path) -> None:
    path = written(tmp_path / "a.onnx", slow())
    with pytest.raises(ModelRejected, match="within 9 s"):
        refuse_unbounded(path, deadline_s=9.0, cache=tmp_path / "gates.json")
    with pytest.raises(ModelRejected, match="within 9 s"):
        import_bounded(path, folder=tmp_path / "models", deadline_s=9.0)
    assert not list((tmp_path / "models").glob("*"))


def test_network_that_takes_all_memory_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "a.onnx", broad())
    with pytest.raises(ModelRejected, match=r"does not run within|takes more than"):
        refuse_unbounded(path, cache=tmp_path / "gates.json")
    assert not (tmp_path / "gates.json").exists()


def test_known_good_network_is_tried_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    same: list[Node] = [helper.make_node("Identity", ["x"], ["y"])]
    path = written(tmp_path / "a.onnx", detector_after(same, []))
    refuse_unbounded(path, cache=tmp_path / "gates.json")
    monkeypatch.setattr(subprocess, "run", None)
    refuse_unbounded(path, cache=tmp_path / "gates.json")
    refuse_unbounded(centerface_path(), cache=tmp_path / "none.json")


def test_process_that_dies_is_a_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(ModelRejected, match="ended the process"):
        refuse_unbounded(written(tmp_path / "a.onnx", b"x"), cache=tmp_path / "gates.json")


def test_run_refuses_a_slow_detector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "a.onnx", slow())
    monkeypatch.setattr(engine_set, "refuse_unbounded", partial(refuse_unbounded, deadline_s=6.0))
    settings = load_settings(flags={"detection.model": str(path)}, environment={})
    with pytest.raises(ModelRejected, match="within 6 s"), open_engines(settings):
        pytest.fail("it was opened")
