"""One contract over every backend, on tiny networks made here."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import openvino
import pytest
from onnx import TensorProto, helper, numpy_helper

from engines.backends.backend import Backend, Tensors
from engines.backends.networks import model_sha256, stripped
from engines.backends.onnxruntime import OnnxRuntime
from engines.backends.openvino import OpenVino, OpenVinoSession
from engines.errors import EngineFault, ModelMissing, ModelRejected
from tests.engines.backends.fake import Fake, FakeSession

pytestmark = pytest.mark.unit

BACKENDS: dict[str, Callable[[], Backend]] = {
    "openvino": lambda: OpenVino(threads=1),
    "onnxruntime": lambda: OnnxRuntime(threads=1),
    "fake": Fake,
}
WEIGHT = np.array([[2.0, -1.0, 0.5]], np.float32).reshape(1, 3, 1, 1)


@pytest.fixture(params=BACKENDS, scope="module")
def backend(request: pytest.FixtureRequest) -> Backend:
    return BACKENDS[str(request.param)]()


def network(
    *, weights_are_inputs: bool = False, operator: str = "Conv", size: int | str = "side"
) -> bytes:
    """image (1×3×side×side) → sum (1×1×side×side), and its square root as a second output."""
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, size, size])
    outputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1, size, size])
        for name in ("sum", "root")
    ]
    weight = numpy_helper.from_array(WEIGHT, "weight")
    nodes = [
        helper.make_node(operator, ["image", "weight"], ["sum"]),
        helper.make_node("Sqrt", ["sum"], ["root"]),
    ]
    inputs = [image]
    if weights_are_inputs:
        inputs.append(helper.make_tensor_value_info("weight", TensorProto.FLOAT, WEIGHT.shape))
    graph = helper.make_graph(nodes, "tiny", inputs, outputs, [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return bytes(model.SerializeToString())


def image_of(*channels: float, side: int = 4) -> Tensors:
    values = np.array(channels, np.float32).reshape(1, 3, 1, 1)
    return {"image": np.broadcast_to(values, (1, 3, side, side)).copy()}


def test_sound_network_gives_named_float_outputs(backend: Backend) -> None:
    session = backend.load(network())
    answer = session.run(image_of(3, 1, 8))
    assert set(answer) == {"sum", "root"}
    assert answer["sum"].dtype == np.float32
    assert answer["sum"].shape == (1, 1, 4, 4)
    np.testing.assert_allclose(answer["sum"], 9.0, rtol=1e-5)
    np.testing.assert_allclose(answer["root"], 3.0, rtol=1e-5)
    session.close()


def test_network_tells_its_inputs_and_outputs(backend: Backend) -> None:
    session = backend.load(network())
    assert [spec.name for spec in session.inputs] == ["image"]
    assert [spec.name for spec in session.outputs] == ["sum", "root"]
    assert session.inputs[0].shape == (1, 3, None, None)
    assert session.inputs[0].dtype == np.float32


def test_dynamic_sizes_run_one_after_another(backend: Backend) -> None:
    session = backend.load(network())
    for side in (2, 7, 4):
        assert session.run(image_of(1, 0, 0, side=side))["sum"].shape == (1, 1, side, side)


@pytest.mark.parametrize("size", ["side", 2])
def test_fixed_shape_replaces_the_networks_own(backend: Backend, size: int | str) -> None:
    session = backend.load(network(size=size), shapes={"image": (1, 3, 6, 6)})
    assert session.inputs[0].shape == (1, 3, 6, 6)
    assert session.run(image_of(1, 0, 0, side=6))["sum"].shape == (1, 1, 6, 6)


def test_weights_listed_as_inputs_are_hidden(backend: Backend) -> None:
    session = backend.load(network(weights_are_inputs=True))
    assert [spec.name for spec in session.inputs] == ["image"]
    np.testing.assert_allclose(session.run(image_of(1, 0, 0))["sum"], 2.0)


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
def test_each_precision_is_close_to_the_truth(backend: Backend, precision: str) -> None:
    assert precision in ("fp32", "bf16", "fp16")
    session = backend.load(network(), precision=precision)  # type: ignore[arg-type]
    answer = session.run(image_of(3.01, 1.003, 8.07))
    np.testing.assert_allclose(answer["sum"], 9.052, rtol=2e-2)


def doubling(side: int) -> bytes:
    """pictures (rows×1×side×side) → twice (rows×1×side×side)."""
    shape: list[str | int | None] = ["rows", 1, side, side]
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name in ("pictures", "twice")
    ]
    node = helper.make_node("Add", ["pictures", "pictures"], ["twice"])
    graph = helper.make_graph([node], "doubling", ends[:1], ends[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return bytes(model.SerializeToString())


@pytest.mark.parametrize("side", [2, 256])
def test_rows_come_back_in_their_order(backend: Backend, side: int) -> None:
    pictures = np.random.default_rng(1).random((6, 1, side, side), np.float32)
    answer = backend.load(doubling(side)).run({"pictures": pictures})
    np.testing.assert_allclose(answer["twice"], 2 * pictures, rtol=1e-6)


@pytest.mark.parametrize(("side", "runs"), [(2, [4, 1]), (256, [1, 1, 1, 1, 1])])
def test_openvino_runs_a_few_rows_at_once_and_large_outputs_one_by_one(
    monkeypatch: pytest.MonkeyPatch, side: int, runs: list[int]
) -> None:
    found: list[int] = []
    run_once = OpenVinoSession._run_once

    def counted(
        session: OpenVinoSession, request: openvino.InferRequest, tensors: Tensors
    ) -> dict[str, npt.NDArray[np.float32]]:
        found.append(len(tensors["pictures"]))
        return run_once(session, request, tensors)

    monkeypatch.setattr(OpenVinoSession, "_run_once", counted)
    session = OpenVino(threads=1).load(doubling(side))
    session.run({"pictures": np.zeros((5, 1, side, side), np.float32)})
    assert found == runs


def test_file_loads_like_its_bytes(backend: Backend, tmp_path: Path) -> None:
    path = tmp_path / "tiny.onnx"
    path.write_bytes(network())
    np.testing.assert_allclose(backend.load(path).run(image_of(1, 0, 0))["sum"], 2.0)


def test_absent_file_is_missing(backend: Backend, tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match=r"absent\.onnx"):
        backend.load(tmp_path / "absent.onnx")


def test_folder_is_missing(backend: Backend, tmp_path: Path) -> None:
    with pytest.raises(ModelMissing):
        backend.load(tmp_path)


MALFORMED: dict[str, Callable[[], bytes]] = {
    "empty": lambda: b"",
    "text": lambda: b"this is no network at all",
    "truncated": lambda: network()[:-60],
    "unknown-operator": lambda: network(operator="Frobnicate"),
    "zeros": lambda: bytes(500),
}


@pytest.mark.parametrize("defect", MALFORMED)
def test_malformed_file_is_rejected(backend: Backend, defect: str, tmp_path: Path) -> None:
    path = tmp_path / f"{defect}.onnx"
    path.write_bytes(MALFORMED[defect]())
    for model in (path, MALFORMED[defect]()):
        with pytest.raises(ModelRejected):
            backend.load(model)


def test_nan_in_an_output_is_a_fault(backend: Backend) -> None:
    session = backend.load(network())
    with pytest.raises(EngineFault, match=r"NaN or infinity"):
        session.run(image_of(0, 5, 0))


def test_infinity_in_an_output_is_a_fault(backend: Backend) -> None:
    session = backend.load(network())
    with pytest.raises(EngineFault, match=r"NaN or infinity"):
        session.run(image_of(np.inf, 0, 0))


def test_session_survives_its_own_faults(backend: Backend) -> None:
    session = backend.load(network())
    for _ in range(5):
        with pytest.raises(EngineFault):
            session.run(image_of(0, 5, 0))
        np.testing.assert_allclose(session.run(image_of(1, 0, 0))["sum"], 2.0)


@pytest.mark.parametrize(
    "tensors",
    [
        {},
        {"picture": np.zeros((1, 3, 4, 4), np.float32)},
        {"image": np.zeros((1, 5, 4, 4), np.float32)},
    ],
    ids=["missing", "misnamed", "misshapen"],
)
def test_wrong_inputs_are_a_fault(backend: Backend, tensors: Tensors) -> None:
    session = backend.load(network())
    with pytest.raises(EngineFault):
        session.run(tensors)


def test_closed_session_refuses_to_run(backend: Backend) -> None:
    session = backend.load(network())
    session.close()
    session.close()
    with pytest.raises(EngineFault, match="closed"):
        session.run(image_of(1, 0, 0))


def test_inputs_are_not_changed_and_outputs_belong_to_the_caller(backend: Backend) -> None:
    session = backend.load(network())
    tensors = image_of(3, 1, 8)
    first = session.run(tensors)["sum"]
    first[...] = -1
    np.testing.assert_array_equal(tensors["image"], image_of(3, 1, 8)["image"])
    second = session.run(image_of(1, 0, 0))["sum"]
    np.testing.assert_allclose(second, 2.0)
    assert (first == -1).all()


def test_slices_of_larger_arrays_are_read_rightly(backend: Backend) -> None:
    session = backend.load(network())
    wide = np.zeros((1, 3, 4, 8), np.float32)
    wide[..., ::2] = 1.0
    np.testing.assert_allclose(session.run({"image": wide[..., ::2]})["sum"], 1.5)


def test_threads_share_a_session(backend: Backend) -> None:
    session = backend.load(network())
    wrong: list[float] = []

    def work(value: int) -> None:
        for _ in range(20):
            got = session.run(image_of(value, 0, 0))["sum"]
            if not np.allclose(got, 2 * value):
                wrong.append(float(got.max()))

    threads = [threading.Thread(target=work, args=(value,)) for value in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_bf16_is_used_only_when_asked_for_and_present() -> None:
    backend = OpenVino(threads=1)
    assert backend.load(network()).precision == "fp32"
    asked = backend.load(network(), precision="bf16").precision
    assert asked == ("bf16" if backend.has_bf16 else "fp32")
    assert backend.load(network(), precision="fp16").precision == "fp32"


def test_function_stands_in_for_a_network() -> None:
    backend = Fake(lambda tensors: {"sum": tensors["image"] * 0})
    assert backend.load(network()).run(image_of(1, 2, 3))["sum"].max() == 0


def test_function_that_raises_is_a_fault() -> None:
    def planted(tensors: Tensors) -> dict[str, np.ndarray]:
        raise OSError("planted")

    with pytest.raises(EngineFault, match="OSError"):
        FakeSession(planted).run({})


def test_stripping_leaves_a_clean_network_as_it_is() -> None:
    assert stripped(network()) == network()
    assert stripped(found := stripped(network(weights_are_inputs=True))) is found
    listed = onnx.load_model_from_string(stripped(network(weights_are_inputs=True)))
    assert [value.name for value in listed.graph.input] == ["image"]


def outside_tensor() -> TensorProto:
    """A tensor whose values are in another file."""
    tensor = TensorProto(name="far", data_type=TensorProto.FLOAT, dims=[1])
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="far.bin")
    return tensor


def in_attribute(model: onnx.ModelProto) -> None:
    model.graph.node.append(helper.make_node("Constant", [], ["far"], value=outside_tensor()))


def in_branch(model: onnx.ModelProto) -> None:
    branch = helper.make_graph([], "branch", [], [], [outside_tensor()])
    model.graph.node.append(helper.make_node("If", ["sum"], ["far"], then_branch=branch))


def in_sparse_weight(model: onnx.ModelProto) -> None:
    model.graph.sparse_initializer.add().values.CopyFrom(outside_tensor())


def in_function(model: onnx.ModelProto) -> None:
    node = helper.make_node("Constant", [], ["far"], value=outside_tensor())
    model.functions.add(name="far").node.append(node)


@pytest.mark.parametrize("place", [in_attribute, in_branch, in_sparse_weight, in_function])
def test_network_with_values_in_another_file_is_rejected(
    place: Callable[[onnx.ModelProto], None],
) -> None:
    model = onnx.load_model_from_string(network())
    place(model)
    with pytest.raises(ModelRejected, match="other files"):
        stripped(bytes(model.SerializeToString()))


def test_hash_is_that_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "tiny.onnx"
    path.write_bytes(network())
    assert model_sha256(path) == model_sha256(network())
    assert len(model_sha256(path)) == 64
