"""Rewritten networks compute the same, within what half precision may lose."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from engines.backends.half_precision import HalfPrecision, halved
from engines.backends.networks import stripped
from engines.backends.onnxruntime import OnnxRuntime
from engines.backends.products import without_products
from engines.backends.stored_weights import with_plain_weights
from engines.errors import ModelRejected
from engines.stylegan.pack import bundled_pack, donor_latents, read_pack
from tests.engines.models.packs import network, small_generator

pytestmark = pytest.mark.unit

LATENTS = np.random.default_rng(0).standard_normal((2, 2, 8)).astype(np.float32)


def run(model: bytes, **fed: np.ndarray) -> dict[str, np.ndarray]:
    return dict(OnnxRuntime(threads=1).load(model).run(fed))


def sampled() -> bytes:
    """Enlarges by a factor of two, samples a grid, waves: all that stays in float32."""
    return network(
        [
            helper.make_node("Constant", [], ["gain"], value_float=1.5),
            helper.make_node("Mul", ["x", "gain"], ["more"]),
            helper.make_node("Resize", ["more", "", "factors"], ["large"], mode="linear"),
            helper.make_node("GridSample", ["large", "place"], ["taken"], mode="bilinear"),
            helper.make_node("Sin", ["taken"], ["wave"]),
            helper.make_node("Cast", ["wave"], ["y"], to=TensorProto.FLOAT),
        ],
        {"x": ["n", 2, 4, 4], "place": ["n", 3, 3, 2]},
        {"y": ["n", 2, 3, 3]},
        {"factors": np.array([1, 1, 2, 2], np.float32)},
        opset=16,
    )


def test_half_network_keeps_its_ports_and_its_answer() -> None:
    wanted = run(small_generator(), latents=LATENTS)["image"]
    made = run(halved(small_generator(), "fp16"), latents=LATENTS)["image"]
    np.testing.assert_allclose(made, wanted, atol=2e-2)
    assert np.abs(made - wanted).max() > 0


def test_places_stay_in_full_precision() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1, 2, 4, 4)).astype(np.float32)
    place = rng.uniform(-1, 1, (1, 3, 3, 2)).astype(np.float32)
    wanted = run(sampled(), x=x, place=place)["y"]
    made = run(halved(sampled(), "fp16"), x=x, place=place)["y"]
    np.testing.assert_allclose(made, wanted, atol=1e-2)


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
def test_every_type_fits(precision: HalfPrecision) -> None:
    for model in (small_generator(), sampled()):
        made = onnx.load_model_from_string(halved(model, precision))
        shaped = onnx.shape_inference.infer_shapes(made, data_prop=True)
        half = TensorProto.FLOAT16 if precision == "fp16" else TensorProto.BFLOAT16
        types = {value.type.tensor_type.elem_type for value in shaped.graph.value_info}
        assert half in types
        ports = [*made.graph.input, *made.graph.output]
        assert {port.type.tensor_type.elem_type for port in ports} == {TensorProto.FLOAT}


def test_bf16_constants_are_rounded_to_the_nearest() -> None:
    values = np.array([1.0, 1.00390625, -3.14159, 1e-3], np.float32)
    model = network(
        [helper.make_node("Mul", ["x", "w"], ["y"])], {"x": [4]}, {"y": [4]}, {"w": values}
    )
    made = onnx.load_model_from_string(halved(model, "bf16"))
    bits = np.frombuffer(made.graph.initializer[0].raw_data, "<u2").astype(np.uint32) << 16
    np.testing.assert_allclose(bits.view(np.float32), values, rtol=2**-8)


def test_branches_are_refused() -> None:
    inner = helper.make_graph(
        [helper.make_node("Constant", [], ["z"], value_float=1.0)],
        "branch",
        [],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, [])],
    )
    model = network(
        [
            helper.make_node("Greater", ["x", "zero"], ["is_more"]),
            helper.make_node("If", ["is_more"], ["y"], then_branch=inner, else_branch=inner),
        ],
        {"x": []},
        {"y": []},
        {"zero": np.array(0, np.float32)},
    )
    with pytest.raises(ModelRejected, match="branches"):
        halved(model, "fp16")


@pytest.mark.parametrize("kind", [np.int8, np.float16])
def test_weights_kept_small_are_unfolded(kind: type[np.generic]) -> None:
    weight = np.random.default_rng(0).integers(-9, 9, (5, 4)).astype(kind)
    model = network(
        [
            helper.make_node("Cast", ["kept"], ["weight"], to=TensorProto.FLOAT),
            helper.make_node("MatMul", ["a", "weight"], ["y"]),
        ],
        {"a": ["n", 5]},
        {"y": ["n", 4]},
        {"kept": weight},
    )
    made = onnx.load_model_from_string(model)
    with_plain_weights(made)
    assert [node.op_type for node in made.graph.node] == ["MatMul"]
    assert [tensor.name for tensor in made.graph.initializer] == ["weight"]
    a = np.random.default_rng(1).standard_normal((3, 5)).astype(np.float32)
    wanted = run(model, a=a)["y"]
    np.testing.assert_array_equal(run(bytes(made.SerializeToString()), a=a)["y"], wanted)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"transB": 1},
        {"transA": 1},
        {"alpha": 0.5, "beta": 2.0, "transA": 1, "transB": 1},
    ],
)
def test_product_as_a_sum_gives_the_same(settings: dict[str, float]) -> None:
    rng = np.random.default_rng(0)
    a = rng.standard_normal((5, 3) if settings.get("transA") else (3, 5)).astype(np.float32)
    b = rng.standard_normal((4, 5) if settings.get("transB") else (5, 4)).astype(np.float32)
    product = helper.make_node("Gemm", ["a", "b", "c"], ["y"])
    product.attribute.extend(helper.make_attribute(name, v) for name, v in settings.items())
    model = network(
        [product],
        {"a": a.shape},
        {"y": ["n", "m"]},
        {"b": b, "c": rng.standard_normal(4).astype(np.float32)},
    )
    made = without_products(model)
    kinds = {node.op_type for node in onnx.load_model_from_string(made).graph.node}
    assert "Gemm" not in kinds
    np.testing.assert_allclose(run(made, a=a)["y"], run(model, a=a)["y"], atol=1e-5)


def test_product_of_many_matrices_gives_the_same() -> None:
    rng = np.random.default_rng(0)
    model = network(
        [helper.make_node("MatMul", ["a", "b"], ["y"])],
        {"a": ["n", 2, 3, 5]},
        {"y": ["n", 2, 3, 4]},
        {"b": rng.standard_normal((2, 5, 4)).astype(np.float32)},
    )
    a = rng.standard_normal((2, 2, 3, 5)).astype(np.float32)
    np.testing.assert_allclose(
        run(without_products(model), a=a)["y"], run(model, a=a)["y"], atol=1e-5
    )


def test_network_without_products_stays_as_it_is() -> None:
    model = sampled()
    assert without_products(model) is model


@pytest.mark.slow
def test_generator_is_sound_in_half_arithmetic() -> None:
    """By ONNX's reference, which rounds after every operator, unlike runtimes that fuse them."""
    pack = read_pack(bundled_pack())
    fed = {"latents": donor_latents(pack, 3)}
    content = stripped(pack.path("generator.onnx"))
    wanted = OnnxRuntime().load(content).run(fed)["texture"]
    network = onnx.load_model_from_string(halved(content, "fp16"))
    made, *_ = ReferenceEvaluator(network).run(None, fed)
    assert np.abs(np.asarray(made) - wanted).max() < 0.02
