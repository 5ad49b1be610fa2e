"""Detectors on drawn faces: the bundled network, and small made ones for the other layouts."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from itertools import chain
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from engines.backends.backend import Precision, Tensors
from engines.backends.onnxruntime import OnnxRuntime
from engines.backends.openvino import OpenVino
from engines.detectors.centerface import CenterFace, candidates_from_heads
from engines.detectors.detector import (
    Candidates,
    Detector,
    faces_from_candidates,
    kept,
    overlaps_of,
    padded,
)
from engines.detectors.drawn_faces import drawn_scene
from engines.detectors.image_network import ImageNetwork, network_from_images
from engines.detectors.loading import detector_from_model, layout_of
from engines.detectors.scrfd import Scrfd
from engines.detectors.yunet import YuNet
from engines.errors import EngineFault, ModelMissing, ModelRejected
from engines.models.catalogue import centerface_path, model_path, quantised_twin
from tests.engines.backends.fake import Fake, FakeSession

pytestmark = pytest.mark.unit

STRIDES = (8, 16, 32)


@pytest.fixture(scope="module")
def centerface() -> CenterFace:
    return CenterFace(OpenVino(threads=2), centerface_path())


@pytest.mark.parametrize(("count", "side"), [(1, 200.0), (4, 60.0), (8, 26.0), (12, 18.0)])
def test_drawn_faces_are_found_where_they_were_drawn(
    centerface: CenterFace, count: int, side: float
) -> None:
    image, drawn = drawn_scene(320, 480, count, side_px=side, seed=count)
    found = centerface.detect(image, min_score=0.3)
    assert len(found) == count
    overlaps = overlaps_of(
        np.stack([face.box_px for face in drawn]), np.stack([face.box_px for face in found])
    )
    assert (overlaps.max(axis=1) > 0.4).all()
    for face, twin in zip(drawn, overlaps.argmax(axis=1), strict=True):
        shift = np.linalg.norm(face.landmarks_px - found[twin].landmarks_px, axis=1)
        assert float(shift.max()) < 0.25 * side


@pytest.mark.parametrize("shape", [(1, 1), (1, 500), (33, 31), (97, 640)])
def test_any_image_size_is_searched(centerface: CenterFace, shape: tuple[int, int]) -> None:
    image = np.full((*shape, 3), 128, np.uint8)
    assert centerface.detect(image, min_score=0.5) == ()


def test_runtimes_find_the_same_faces(centerface: CenterFace) -> None:
    image, _ = drawn_scene(160, 224, 3, side_px=50)
    other = CenterFace(OnnxRuntime(threads=2), centerface_path())
    first, second = (detector.detect(image, min_score=0.3) for detector in (centerface, other))
    assert len(first) == len(second) == 3
    for one, two in zip(first, second, strict=True):
        np.testing.assert_allclose(one.box_px, two.box_px, atol=0.1)
        np.testing.assert_allclose(one.landmarks_px, two.landmarks_px, atol=0.1)
        assert one.score == pytest.approx(two.score, abs=1e-3)


def test_decoder_agrees_with_a_plain_loop(centerface: CenterFace) -> None:
    """The slow reading of the heads, cell by cell, is the specification."""
    image, _ = drawn_scene(128, 192, 3, side_px=40)
    ((heat, size, offset, landmarks),) = centerface.heads([image])
    quick = candidates_from_heads((heat, size, offset, landmarks), 0.3)
    slow = []
    for row in range(heat.shape[0]):
        for column in range(heat.shape[1]):
            near = heat[max(0, row - 1) : row + 2, max(0, column - 1) : column + 2]
            if heat[row, column] < 0.3 or heat[row, column] < near.max():
                continue
            height, width = 4 * np.exp(size[:, row, column])
            left = 4 * (column + offset[1, row, column] + 0.5) - width / 2
            top = 4 * (row + offset[0, row, column] + 0.5) - height / 2
            marks = landmarks[:, row, column]
            points = [
                (left + marks[2 * i + 1] * width, top + marks[2 * i] * height) for i in range(5)
            ]
            slow.append(([left, top, left + width, top + height], points, heat[row, column]))
    assert len(slow) == len(quick.scores) > 0
    for i, (box, points, score) in enumerate(slow):
        np.testing.assert_allclose(quick.boxes[i], box, rtol=1e-4, atol=1e-3)
        np.testing.assert_allclose(quick.landmarks[i], points, rtol=1e-4, atol=1e-3)
        assert quick.scores[i] == pytest.approx(float(score))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("is_quantised", [False, True])
def test_images_searched_together_show_what_each_does_alone(is_quantised: bool, count: int) -> None:
    """The planted fault: the faces of one place were told of another, or those of none."""
    path = quantised_twin(centerface_path()) if is_quantised else centerface_path()
    assert path is not None
    detector = CenterFace(OpenVino(threads=2), path)
    images = [drawn_scene(160, 160, n % 3, side_px=50, seed=n)[0] for n in range(1, count + 1)]
    alone = [detector.detect(image, min_score=0.1) for image in images]
    together = detector.detect_all(images, min_score=0.1)
    assert [len(faces) for faces in together] == [len(faces) for faces in alone]
    for one, two in zip(chain(*together), chain(*alone), strict=True):
        np.testing.assert_array_equal(one.box_px, two.box_px)
        assert one.score == two.score


def test_flood_of_peaks_stays_bounded() -> None:
    heat = np.random.default_rng(0).uniform(0.5, 1, (400, 400)).astype(np.float32)
    flat = np.full((2, 400, 400), 50.0, np.float32)
    marks = np.zeros((10, 400, 400), np.float32)
    found = candidates_from_heads((heat, flat, flat * 0, marks), 0.1)
    assert len(found.scores) <= 3000
    assert np.isfinite(found.boxes).all()


def scene_candidates(boxes: list[list[float]], scores: list[float]) -> Candidates:
    count = len(boxes)
    return Candidates(
        np.array(boxes, np.float32).reshape(count, 4),
        np.zeros((count, 5, 2), np.float32),
        np.array(scores, np.float32),
    )


@pytest.mark.parametrize(
    ("boxes", "scores", "left"),
    [
        ([], [], 0),
        ([[0, 0, 10, 10]], [0.9], 1),
        ([[0, 0, 10, 10], [1, 1, 11, 11]], [0.9, 0.8], 1),  # one face twice
        ([[0, 0, 10, 10], [10, 0, 20, 10]], [0.9, 0.8], 2),  # faces that touch
        ([[5, 5, 5, 9], [0, 0, 9, 9]], [0.9, 0.8], 1),  # an empty box
        ([[np.nan, 0, 9, 9]], [0.9], 0),  # no box at all
        ([[90, 90, 130, 130]], [0.9], 0),  # centre in the padding
        ([[80, 40, 118, 60]], [0.9], 1),  # reaching over the edge
    ],
)
def test_candidates_are_thinned_out(
    boxes: list[list[float]], scores: list[float], left: int
) -> None:
    faces = faces_from_candidates(scene_candidates(boxes, scores), 100, 100, 0.4)
    assert len(faces) == left


def test_suppression_keeps_the_best_of_each_group() -> None:
    rng = np.random.default_rng(0)
    corners = rng.uniform(0, 60, (200, 2))
    boxes = np.hstack([corners, corners + rng.uniform(5, 30, (200, 2))]).astype(np.float32)
    scores = rng.uniform(0, 1, 200).astype(np.float32)
    stays = kept(boxes, scores, 0.4)
    between = overlaps_of(boxes[stays], boxes[stays]) - np.eye(len(stays))
    assert between.max() < 0.4
    gone = np.setdiff1d(np.arange(200), stays)
    for i in gone:
        rivals = stays[overlaps_of(boxes[i : i + 1], boxes[stays])[0] >= 0.4]
        assert (scores[rivals] >= scores[i]).any()


def test_padding_keeps_the_image_in_its_corner() -> None:
    image = np.full((33, 64, 3), 9, np.uint8)
    wide = padded(image, 32)
    assert wide.shape == (64, 64, 3)
    assert (wide[:33] == 9).all()
    assert wide[33:].max() == 0
    assert padded(image[:32], 32).base is image


def sampled(part: str, stride: int, values: int, anchors: int, name: str) -> list[onnx.NodeProto]:
    """Nodes that read one output of a strided head from the image's own pixels."""
    prefix = f"{part}_{stride}"
    shape = "shape_per_anchor_" + str(values)
    return [
        helper.make_node(
            "AveragePool",
            ["image"],
            [f"{prefix}_mean"],
            kernel_shape=[stride, stride],
            strides=[stride, stride],
        ),
        helper.make_node("Conv", [f"{prefix}_mean", f"{part}_weight"], [f"{prefix}_map"]),
        helper.make_node("Transpose", [f"{prefix}_map"], [f"{prefix}_last"], perm=[0, 2, 3, 1]),
        helper.make_node("Reshape", [f"{prefix}_last", shape], [name]),
    ]


def strided_network(layout: str, *, size: int | None = None) -> bytes:
    """A detector in a strided layout: a bright cell is a face one cell around the corner.

    The score of a cell is a 1/255 of its blue (YuNet, blue first) or of its red (SCRFD).
    """
    parts = {"cls": 1, "obj": 1, "bbox": 4, "kps": 10}
    anchors = 1
    if layout == "scrfd":
        parts, anchors = {"score": 1, "bbox": 4, "kps": 10}, 2
    weights = []
    for part, values in parts.items():
        weight = np.zeros((values * anchors, 3, 1, 1), np.float32)
        if values == 1 and layout == "yunet":
            weight[:, 0] = 1 / 255
        elif values == 1:
            weight[:, 0] = 1.0
        elif part == "bbox" and layout == "scrfd":
            weight[:, 0] = 2.0
        weights.append(numpy_helper.from_array(weight, f"{part}_weight"))
        shape = np.array([1, -1, values], np.int64)
        weights.append(numpy_helper.from_array(shape, f"shape_per_anchor_{values}"))
    unique = {tensor.name: tensor for tensor in weights}
    nodes, outputs = [], []
    for stride in STRIDES:
        for part, values in parts.items():
            name = f"{part}_{stride}"
            nodes += sampled(part, stride, values, anchors, name)
            outputs.append(
                helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, None, values])
            )
    height, width = (size or "height"), (size or "width")
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, height, width])
    graph = helper.make_graph(nodes, layout, [image], outputs, list(unique.values()))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return bytes(model.SerializeToString())


def image_with_cell(colour: tuple[int, int, int]) -> np.ndarray:
    """A black image with one cell of stride 32 filled, from (64, 32)."""
    image = np.zeros((96, 160, 3), np.uint8)
    image[32:64, 64:96] = colour
    return image


def test_yunet_layout_is_read() -> None:
    detector = detector_from_model(OpenVino(threads=1), strided_network("yunet"))
    assert isinstance(detector, YuNet)
    found = detector.detect(image_with_cell((255, 0, 0)), min_score=0.9)
    boxes = {tuple(face.box_px.round().tolist()) for face in found}
    # Offset 0 and log size 0: a box of one stride around the corner of the cell.
    assert (48.0, 16.0, 80.0, 48.0) in boxes
    assert (60.0, 28.0, 68.0, 36.0) in boxes
    assert detector.detect(image_with_cell((0, 255, 255)), min_score=0.9) == ()
    assert {tuple(face.landmarks_px[0].tolist()) for face in found} >= {(64.0, 32.0)}


def test_scrfd_layout_is_read() -> None:
    detector = detector_from_model(OpenVino(threads=1), strided_network("scrfd"))
    assert isinstance(detector, Scrfd)
    found = detector.detect(image_with_cell((0, 0, 255)), min_score=0.9)
    boxes = {tuple(face.box_px.round().tolist()) for face in found}
    reach = 2 * 32 * 127.5 / 128
    expected = tuple(round(value) for value in (64 - reach, 32 - reach, 64 + reach, 32 + reach))
    assert expected in boxes
    assert detector.detect(image_with_cell((255, 0, 0)), min_score=0.9) == ()


def test_network_of_one_size_gets_a_fitted_image() -> None:
    """Pooling frees the size here, so the size is fixed by a reshape that cannot follow."""
    content = onnx.load_model_from_string(strided_network("yunet", size=320))
    for tensor in content.graph.initializer:
        if tensor.name == "shape_per_anchor_1":
            tensor.CopyFrom(numpy_helper.from_array(np.array([1, -1, 1], np.int64), tensor.name))
    for node in content.graph.node:
        if node.output[0] == "cls_8":
            node.input[1] = "cells_8"
    content.graph.initializer.append(
        numpy_helper.from_array(np.array([1, 1600, 1], np.int64), "cells_8")
    )
    detector = detector_from_model(OpenVino(threads=1), bytes(content.SerializeToString()))
    image = np.zeros((160, 640, 3), np.uint8)
    image[64:128, 128:192] = (255, 0, 0)
    found = detector.detect(image, min_score=0.9)
    # Fitted by one half: a stride of 32 is 64 px of the image, centred on a cell's corner.
    assert (96.0, 32.0, 160.0, 96.0) in {tuple(face.box_px.round().tolist()) for face in found}


def fixed_heads(layout: str, row: int, column: int, *, cells: int) -> dict[str, np.ndarray]:
    """What a network of `cells` cells a side at stride 8 says of a face in one of them."""
    anchors = 2 if layout == "scrfd" else 1
    answer: dict[str, np.ndarray] = {}
    for stride in STRIDES:
        side = -(-cells * 8 // stride)
        score = np.zeros((1, side * side * anchors, 1), np.float32)
        if stride == 8:
            score[0, (row * side + column) * anchors] = 1
        box = np.full((1, side * side * anchors, 4), 1.0, np.float32)
        points = np.zeros((1, side * side * anchors, 10), np.float32)
        heads = {"bbox": box, "kps": points, "cls": score, "obj": score}
        if layout == "scrfd":
            heads = {"bbox": box, "kps": points, "score": score}
        answer |= {f"{part}_{stride}": value for part, value in heads.items()}
    return answer


@pytest.mark.parametrize("layout", ["yunet", "scrfd"])
def test_fixed_size_that_no_stride_divides_keeps_boxes_in_their_cells(layout: str) -> None:
    answer = fixed_heads(layout, 20, 5, cells=38)
    made = {"yunet": YuNet, "scrfd": Scrfd}[layout]
    network = strided_network(layout, size=300)
    detector = made(Fake(lambda tensors: answer), network, fixed=(300, 300))
    found = detector.detect(np.zeros((300, 300, 3), np.uint8), min_score=0.5)
    assert [face.landmarks_px[0].tolist() for face in found] == [[40.0, 160.0]]


@pytest.mark.parametrize("layout", ["yunet", "scrfd"])
@pytest.mark.parametrize("cells", [36, 40])
def test_answer_that_does_not_fit_the_image_is_a_fault(layout: str, cells: int) -> None:
    answer = fixed_heads(layout, cells - 1, cells - 1, cells=cells)
    made = {"yunet": YuNet, "scrfd": Scrfd}[layout]
    network = strided_network(layout, size=300)
    detector = made(Fake(lambda tensors: answer), network, fixed=(300, 300))
    with pytest.raises(EngineFault, match="does not fit"):
        detector.detect(np.zeros((300, 300, 3), np.uint8), min_score=0.5)


def test_one_head_of_another_length_is_a_fault() -> None:
    answer = fixed_heads("yunet", 0, 0, cells=38)
    answer["bbox_8"] = answer["bbox_8"][:, 1:]
    network = strided_network("yunet", size=300)
    detector = YuNet(Fake(lambda tensors: answer), network, fixed=(300, 300))
    with pytest.raises(EngineFault, match="does not fit"):
        detector.detect(np.zeros((300, 300, 3), np.uint8), min_score=0.5)


def test_layout_is_told_from_the_outputs(tmp_path: Path) -> None:
    assert layout_of(centerface_path()) == "centerface"
    assert layout_of(strided_network("yunet")) == "yunet"
    assert layout_of(strided_network("scrfd")) == "scrfd"
    stranger = onnx.load_model_from_string(strided_network("yunet"))
    del stranger.graph.output[3:]
    with pytest.raises(ModelRejected, match="no face detector"):
        layout_of(bytes(stranger.SerializeToString()))


def test_named_model_is_found_or_missing(tmp_path: Path) -> None:
    assert model_path("centerface") == centerface_path()
    with pytest.raises(ModelMissing, match=r"absent\.onnx"):
        model_path(str(tmp_path / "absent.onnx"))


def test_text_instead_of_a_model_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_text("<html>not found</html>")
    with pytest.raises(ModelRejected):
        detector_from_model(OpenVino(threads=1), path)


class Counting(Fake):
    """A runtime that notes for which sizes networks are loaded."""

    def __init__(self) -> None:
        super().__init__(lambda tensors: {})
        self.shapes: list[Mapping[str, tuple[int, ...]] | None] = []

    def load(
        self,
        model: Path | bytes,
        *,
        precision: Precision = "fp32",
        shapes: Mapping[str, tuple[int, ...]] | None = None,
    ) -> FakeSession:
        self.shapes.append(shapes)
        return super().load(model, precision=precision, shapes=shapes)


def run_at_many_sizes(network: ImageNetwork) -> None:
    for side in range(32, 1000, 32):
        network.run(np.zeros((side, side, 3), np.uint8))


def test_network_is_loaded_once_for_all_sizes() -> None:
    backend = Counting()
    content = network_from_images(strided_network("yunet"), is_rgb=False)
    network = ImageNetwork(backend, content, "fp32")
    run_at_many_sizes(network)
    assert backend.shapes == [None]
    assert len(network._judged) <= 8


def test_network_of_bytes_is_compiled_for_each_size_and_keeps_few() -> None:
    backend, quantised = Counting(), quantised_twin(centerface_path())
    assert quantised is not None
    network = ImageNetwork(backend, quantised.read_bytes(), "fp32")
    run_at_many_sizes(network)
    assert len(backend.shapes) == len(range(32, 1000, 32))
    assert len(network._sessions) <= 8


def test_network_of_open_sizes_answers_as_one_of_fixed_sizes() -> None:
    content = network_from_images(strided_network("yunet"), is_rgb=False)
    sizes = ((64, 96, 3), (32, 32, 3), (128, 64, 3))
    images = [np.random.default_rng(7).integers(0, 255, size, np.uint8) for size in sizes]
    open_sizes = ImageNetwork(OpenVino(threads=1), content, "fp32")
    for image in images:
        fixed = OpenVino(threads=1).load(content, shapes={"image_bgr": (1, *image.shape)})
        expected, found = fixed.run({"image_bgr": image[None]}), open_sizes.run(image)
        assert found.keys() == expected.keys()
        assert all(np.allclose(found[name], expected[name], atol=1e-5) for name in found)


class HangsWhileLoading(Fake):
    """A runtime that compiles when it is let."""

    def __init__(self) -> None:
        super().__init__(lambda tensors: {})
        self.release = threading.Event()

    def load(
        self,
        model: Path | bytes,
        *,
        precision: Precision = "fp32",
        shapes: Mapping[str, tuple[int, ...]] | None = None,
    ) -> FakeSession:
        self.release.wait(30.0)
        return super().load(model, precision=precision, shapes=shapes)


def test_nobody_waits_for_long_where_a_runtime_hangs_while_it_compiles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("engines.detectors.image_network._LONGEST_WAIT_S", 0.05)
    backend, image = HangsWhileLoading(), np.zeros((32, 32, 3), np.uint8)
    content = network_from_images(strided_network("yunet"), is_rgb=False)
    network = ImageNetwork(backend, content, "fp32")
    first = threading.Thread(target=network.run, args=(image,))
    first.start()
    while not network._sessions:
        first.join(0.01)
    with pytest.raises(EngineFault, match="hangs while it compiles"):
        network.run(image)
    backend.release.set()
    first.join(10.0)
    assert network.run(image) == {}


def planted(tensors: Tensors) -> dict[str, np.ndarray]:
    raise RuntimeError("planted")


def nan_heads(tensors: Tensors) -> dict[str, np.ndarray]:
    _, height, width, _ = np.asarray(tensors["image_bgr"]).shape
    shapes = {"537": 1, "538": 2, "539": 2, "540": 10}
    return {
        name: np.full((1, channels, height // 4, width // 4), np.nan, np.float32)
        for name, channels in shapes.items()
    }


@pytest.mark.parametrize("answer", [planted, nan_heads])
def test_network_that_fails_is_a_fault_not_an_empty_answer(answer: object) -> None:
    assert callable(answer)
    detector: Detector = CenterFace(Fake(answer), centerface_path())
    with pytest.raises(EngineFault):
        detector.detect(np.zeros((64, 64, 3), np.uint8), min_score=0.5)
