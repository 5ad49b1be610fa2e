from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
import onnxruntime
import pytest

from engines.backends.backend import Precision, Session
from engines.backends.choice import Choice, choose_backend, choose_detector, settled_names
from engines.backends.onnxruntime import OnnxRuntime
from engines.backends.openvino import OpenVino
from engines.detectors import gate
from engines.detectors.centerface import CenterFace
from engines.detectors.detector import Detector
from engines.detectors.drawn_faces import drawn_scene
from engines.detectors.gate import (
    Comparison,
    gate_int8,
    gate_precision,
    gates_file,
    parity_defect,
    recall_defect,
)
from engines.detectors.loading import detector_from_model
from engines.errors import BackendMissing, EngineFault, ModelMissing, ModelRejected
from engines.models.catalogue import centerface_path, quantised_path, quantised_twin
from engines.models.gpu_gate import gpu_fault
from engines.pictures import BgrImage
from engines.stylegan.pack import bundled_pack
from engines.types import Face

pytestmark = pytest.mark.unit

MODEL = b"any bytes: the gate takes their hash alone"


class Processor(OpenVino):
    """A runtime that says of its processor what a test wants."""

    def __init__(self, has_bf16: bool = True, processor: str = "made up") -> None:
        self._has_bf16 = has_bf16
        self._processor = processor

    @property
    def has_bf16(self) -> bool:
        return self._has_bf16

    @property
    def processor(self) -> str:
        return self._processor


class Scripted:
    """Finds the same face everywhere, off by a little or by a lot."""

    def __init__(self, shift: float = 0.0, score: float = 0.9, work: int = 0) -> None:
        self.shift, self.score, self.work = shift, score, work
        self.calls = 0

    def detect(self, image_bgr: BgrImage, *, min_score: float) -> tuple[Face, ...]:
        self.calls += 1
        if self.work:
            np.linalg.svd(np.ones((self.work, self.work)))
        return (self.face(),) if self.score >= min_score else ()

    def face(self) -> Face:
        box = np.array([10, 10, 110, 110], np.float32) + np.float32(self.shift)
        points = np.full((5, 2), 60.0 + self.shift, np.float32)
        return Face(box, points, self.score)


def loading(exact: Detector, quick: Detector) -> object:
    def load(precision: Precision) -> Detector:
        return exact if precision == "fp32" else quick

    return load


def judged(
    exact: Scripted, quick: Scripted, cache: Path, *, wanted: str = "bf16", **processor: bool
) -> tuple[str, str]:
    load = loading(exact, quick)
    assert callable(load)
    assert wanted in ("auto", "fp32", "bf16")
    result = gate_precision(load, MODEL, Processor(**processor), wanted=wanted, cache=cache)  # type: ignore[arg-type]
    return result.precision, result.reason


def test_equal_faces_pass(tmp_path: Path) -> None:
    precision, reason = judged(Scripted(), Scripted(0.5, 0.88), tmp_path / "gates.json")
    assert precision == "bf16"
    assert "same 5 faces" in reason


@pytest.mark.parametrize(
    ("quick", "words"),
    [
        (Scripted(shift=30), "box agrees"),
        (Scripted(score=0.6), "score is 0.60 instead of 0.90"),
        (Scripted(score=0.1), "finds none of 1"),
    ],
)
def test_different_faces_fail(quick: Scripted, words: str, tmp_path: Path) -> None:
    precision, reason = judged(Scripted(), quick, tmp_path / "gates.json")
    assert precision == "fp32"
    assert "failed its gate" in reason
    assert words in reason


def test_wandering_landmarks_fail() -> None:
    exact = Scripted().face()
    quick = Face(exact.box_px, exact.landmarks_px + np.float32(9), exact.score)
    assert "landmark" in parity_defect([exact], [quick])
    assert parity_defect([exact], [quick], slack=3.0) == ""


def test_blind_detector_proves_nothing(tmp_path: Path) -> None:
    precision, reason = judged(Scripted(score=0.0), Scripted(score=0.0), tmp_path / "gates.json")
    assert precision == "fp32"
    assert "no drawn face" in reason


class Raising(Scripted):
    def detect(self, image_bgr: BgrImage, *, min_score: float) -> tuple[Face, ...]:
        raise EngineFault("planted")


def test_network_that_raises_in_bf16_fails(tmp_path: Path) -> None:
    precision, reason = judged(Scripted(), Raising(), tmp_path / "gates.json")
    assert precision == "fp32"
    assert "planted" in reason


def test_slower_bf16_is_not_taken_unless_asked_for(tmp_path: Path) -> None:
    slow = Scripted(work=200)
    assert judged(Scripted(), slow, tmp_path / "a.json", wanted="auto")[0] == "fp32"
    assert judged(Scripted(), slow, tmp_path / "a.json", wanted="bf16")[0] == "bf16"


def test_processor_without_bf16_is_not_asked(tmp_path: Path) -> None:
    quick = Scripted()
    assert judged(Scripted(), quick, tmp_path / "gates.json", has_bf16=False)[0] == "fp32"
    assert judged(Scripted(), quick, tmp_path / "gates.json", wanted="fp32")[0] == "fp32"
    assert quick.calls == 0


def test_verdict_is_kept_for_the_next_start(tmp_path: Path) -> None:
    cache, again = tmp_path / "deep" / "gates.json", Scripted()
    first = judged(Scripted(), Scripted(), cache)
    assert judged(Scripted(), again, cache) == first
    assert again.calls == 0
    assert list(cache.parent.iterdir()) == [cache]


def test_other_processor_is_judged_anew(tmp_path: Path) -> None:
    cache, quick = tmp_path / "gates.json", Scripted()
    load = loading(Scripted(), quick)
    assert callable(load)
    for processor in ("one", "two"):
        before = quick.calls
        backend = Processor(processor=processor)
        gate_precision(load, MODEL, backend, wanted="bf16", cache=cache)
        assert quick.calls > before
    assert len(json.loads(cache.read_text())) == 2


@pytest.mark.parametrize("content", ["", "[1, 2]", "{", '{"a": 3}', "null", "\x00"])
def test_damaged_verdicts_are_judged_anew(content: str, tmp_path: Path) -> None:
    cache = tmp_path / "gates.json"
    cache.write_text(content)
    assert judged(Scripted(), Scripted(), cache)[0] == "bf16"
    assert len(json.loads(cache.read_text())) == 1


def test_unwritable_cache_does_not_stop_the_gate(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    assert judged(Scripted(), Scripted(), blocker / "gates.json")[0] == "bf16"


def test_verdicts_lie_in_the_users_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert gates_file() == tmp_path / "kveil" / "gates.json"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert gates_file().parts[-3:] == (".cache", "kveil", "gates.json")


def test_default_choice_is_openvino_with_a_reason() -> None:
    choice = choose_backend(threads=1)
    assert choice.backend.name == "openvino"
    assert "OpenVINO" in choice.reason


def test_runtime_asked_for_is_taken() -> None:
    assert choose_backend("onnxruntime").backend.name == "onnxruntime"
    assert choose_backend("openvino", "cpu").backend.name == "openvino"


def test_absent_openvino_leaves_onnx_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(self: object, **settings: int) -> None:
        raise BackendMissing("OpenVINO is absent; pip install openvino")

    monkeypatch.setattr(OpenVino, "__init__", absent)
    choice = choose_backend(threads=1)
    assert choice.backend.name == "onnxruntime"
    assert "absent" in choice.reason
    with pytest.raises(BackendMissing):
        choose_backend("openvino")


def test_contradictory_wishes_are_refused() -> None:
    with pytest.raises(BackendMissing, match="needs a GPU"):
        choose_backend("tensorrt", "cpu")
    with pytest.raises(BackendMissing, match="runs on the processor"):
        choose_backend("openvino", "cuda")


def test_absent_tensorrt_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engines.backends.choice.find_spec", lambda name: None)
    with pytest.raises(BackendMissing, match=r"kveil\[gpu\]"):
        choose_backend("auto", "cuda")


class Gpu(Processor):
    """A GPU that computes in fp16."""

    @property
    def reduced(self) -> tuple[Precision, ...]:
        return ("fp16",)


@pytest.mark.parametrize(("wanted", "half"), [("auto", "fp16"), ("fp16", "fp16"), ("bf16", "fp32")])
def test_gpu_takes_the_half_that_it_has(wanted: str, half: str, tmp_path: Path) -> None:
    asked: list[Precision] = []

    def load(precision: Precision) -> Detector:
        asked.append(precision)
        return Scripted(work=200 if precision == "fp32" else 0)

    cache = tmp_path / "gates.json"
    for _ in range(2):  # judged, then remembered
        result = gate_precision(load, MODEL, Gpu(), wanted=wanted, cache=cache)  # type: ignore[arg-type]
        assert result.precision == half, result.reason
    assert asked == (["fp32", "fp16"] if half == "fp16" else [])


class CudaRuntime(OnnxRuntime):
    """ONNX Runtime as if it had found a GPU."""

    def __init__(self, *, threads: int = 0, device: str = "cpu") -> None:
        self.device = device


@pytest.fixture
def gpu_of_9_0(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU that TensorRT-RTX does not know, and TensorRT-RTX."""
    monkeypatch.setattr("engines.backends.choice.find_spec", lambda name: object())
    monkeypatch.setattr("engines.backends.tensorrt.capabilities", lambda: ["8.6", "8.9"])
    monkeypatch.setattr("engines.backends.tensorrt.current_capability", lambda: "9.0")


@pytest.mark.usefixtures("gpu_of_9_0")
def test_gpu_that_tensorrt_does_not_know_runs_on_onnx_runtime(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(BackendMissing, match=r"does not know capability 9\.0, only 8\.6, 8\.9"):
        choose_backend("tensorrt")
    monkeypatch.setattr("engines.backends.choice.OnnxRuntime", CudaRuntime)
    choice = choose_backend("auto", "cuda")
    assert isinstance(choice.backend, CudaRuntime)
    assert choice.backend.device == "cuda"
    assert "9.0" in choice.reason


@pytest.mark.usefixtures("gpu_of_9_0")
@pytest.mark.skipif(
    "CUDAExecutionProvider" in onnxruntime.get_available_providers(), reason="it has CUDA"
)
def test_gpu_that_nothing_runs_on_names_both_ways_out() -> None:
    with pytest.raises(BackendMissing, match=r"9\.0.*NVIDIA's tensorrt or onnxruntime-gpu"):
        choose_backend("auto", "cuda")
    with pytest.raises(BackendMissing, match="onnxruntime-gpu"):
        choose_backend("onnxruntime", "cuda")


def test_detector_comes_with_precision_and_reason(tmp_path: Path) -> None:
    choice = choose_backend(threads=2)
    chosen = choose_detector(centerface_path(), choice, cache=tmp_path / "gates.json")
    assert isinstance(chosen.detector, CenterFace)
    assert chosen.backend == "openvino"
    assert chosen.precision in ("fp32", "bf16")
    assert "bf16" in chosen.reason or "half precision" in chosen.reason


def test_detector_on_onnx_runtime_is_fp32() -> None:
    choice = Choice(OnnxRuntime(threads=1), "asked for")
    assert choose_detector(centerface_path(), choice, precision="bf16").precision == "fp32"


class FakeGpu(Gpu):
    """A GPU whose detector is told by the test."""

    name = "onnxruntime-cuda"
    version = "1"


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> FakeGpu:
    """A machine with a GPU on which ONNX Runtime runs, and without TensorRT."""
    made = FakeGpu()
    monkeypatch.setattr("engines.backends.choice.has_gpu", lambda: True)
    monkeypatch.setattr("engines.backends.choice._cuda_runtime", lambda: made)
    monkeypatch.setattr("engines.backends.choice.find_spec", lambda name: None)
    return made


def detectors_of(
    gpu: FakeGpu, quick: Scripted, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., str]:
    """The gate over scripted detectors: one for the processor, another for the GPU."""
    exact = Scripted(work=100)

    def load(backend: object, content: bytes, precision: str) -> Detector:
        return quick if backend is gpu else exact

    monkeypatch.setattr("engines.models.gpu_gate.detector_from_model", load)
    return partial(gpu_fault, detector=MODEL)


def test_auto_takes_a_gpu_that_passes_its_gate(
    gpu: FakeGpu, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    quick = Scripted()
    gate = partial(detectors_of(gpu, quick, monkeypatch), cache=tmp_path / "gates.json")
    for _ in range(2):  # judged, then remembered
        choice = choose_backend(gate=gate)
        assert choice.backend is gpu, choice.reason
        assert settled_names(choice.backend) == ("onnxruntime", "cuda")
    judged = quick.calls
    choose_backend(gate=gate)
    assert quick.calls == judged
    assert choose_backend(device="cpu", gate=gate).backend.name == "openvino"
    assert choose_backend().backend.name == "openvino"


@pytest.mark.parametrize(
    ("quick", "told"),
    [
        (Scripted(shift=30.0), "box agrees"),
        (Scripted(score=0.1), "finds none"),
        (Scripted(work=300), "times as fast"),
    ],
)
def test_gpu_that_fails_its_gate_leaves_the_processor(
    gpu: FakeGpu,
    quick: Scripted,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    gate = partial(detectors_of(gpu, quick, monkeypatch), cache=tmp_path / "gates.json")
    choice = choose_backend(gate=gate)
    assert choice.backend.name == "openvino"
    assert told in choice.reason
    assert "kveil[gpu]" in choice.reason


def test_gpu_network_that_is_off_fails_the_gate(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Off(OnnxRuntime):
        """Answers a little beside."""

        name = "onnxruntime-cuda"
        error = 0.0

        def load(self, model: Path | bytes, **more: object) -> Session:  # type: ignore[override]
            session = super().load(model)
            run = session.run
            monkeypatch.setattr(
                session, "run", lambda probe: {k: v + self.error for k, v in run(probe).items()}
            )
            return session

    class One:
        sha256: ClassVar[dict[str, str]] = {"lids.onnx": "1"}

        def path(self, name: str) -> Path:
            return bundled_pack() / name

    gpu, own = Off(), OnnxRuntime()
    gate = detectors_of(FakeGpu(), Scripted(), monkeypatch)
    monkeypatch.setattr(
        "engines.models.gpu_gate.compared_detectors", lambda exact, quick: Comparison("", 1, 2.0)
    )
    for error, fault in ((0.0, ""), (0.1, "lids.onnx is off")):
        gpu.error = error
        cache = tmp_path / f"{error}.json"
        found = gate(gpu, own, packs=[One()], cache=cache)
        assert fault in found
        assert bool(found) == bool(fault)


def test_engines_that_are_not_built_are_named_and_not_remembered(
    gpu: FakeGpu, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def absent(backend: object, content: bytes, precision: str) -> Detector:
        raise ModelMissing("its fp32 engines are not built; run `kveil models build` once")

    monkeypatch.setattr("engines.models.gpu_gate.detector_from_model", absent)
    cache = tmp_path / "gates.json"
    choice = choose_backend(gate=partial(gpu_fault, detector=MODEL, cache=cache))
    assert "kveil models build" in choice.reason
    assert not cache.exists()


class DrawnFinder:
    """Finds the drawn faces of the gate's scenes by their pixels, but for those below a size."""

    def __init__(self, least_px: float = 0.0, score: float = 0.9, shift: float = 0.0) -> None:
        self.least_px, self.score, self.shift, self.calls = least_px, score, shift, 0
        self._known: dict[bytes, tuple[Face, ...]] = {}
        for number, (faces, side) in enumerate(gate._RECALL_SIDES):
            for seed in range(gate._RECALL_SCENES * number, gate._RECALL_SCENES * (number + 1)):
                scene, drawn = drawn_scene(320, 480, faces, side_px=side, seed=seed)
                self._known[scene.tobytes()] = drawn

    def detect(self, image_bgr: BgrImage, *, min_score: float) -> tuple[Face, ...]:
        self.calls += 1
        drawn = self._known.get(image_bgr.tobytes(), ())
        return tuple(
            Face(face.box_px + np.float32(self.shift), face.landmarks_px, self.score)
            for face in drawn
            if face.box_px[2] - face.box_px[0] >= self.least_px
        )


def judged_int8(
    exact: DrawnFinder, quick: Detector, cache: Path, *, is_speed_asked: bool = False
) -> tuple[bool, str]:
    return gate_int8(
        lambda precision: exact,
        lambda: quick,
        (MODEL, b"quantised"),
        Processor(),
        "bf16",
        is_speed_asked=is_speed_asked,
        cache=cache,
    )


def test_int8_with_the_same_recall_passes_whatever_its_scores(tmp_path: Path) -> None:
    is_passed, reason = judged_int8(DrawnFinder(), DrawnFinder(score=0.55), tmp_path / "gates.json")
    assert is_passed, reason
    assert "same 120 faces" in reason


@pytest.mark.parametrize(
    ("quick", "words"),
    [
        (DrawnFinder(least_px=18), "finds 0 of 36 faces 14 px wide"),
        (DrawnFinder(score=0.4), "finds 0 of 120 faces from 0.5"),
        (DrawnFinder(shift=2), "box agrees"),
        (Raising(), "planted"),
    ],
)
def test_int8_that_finds_fewer_or_elsewhere_fails(
    quick: Detector, words: str, tmp_path: Path
) -> None:
    is_passed, reason = judged_int8(DrawnFinder(), quick, tmp_path / "gates.json")
    assert not is_passed
    assert words in reason


def test_int8_no_faster_than_half_precision_is_taken_only_where_asked(tmp_path: Path) -> None:
    exact, quick = DrawnFinder(), DrawnFinder()
    cache = tmp_path / "gates.json"
    assert judged_int8(exact, quick, cache)[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gate, "_speedup", lambda *some: 1.0)
        assert not judged_int8(exact, quick, cache, is_speed_asked=True)[0]


def test_verdict_on_int8_is_kept(tmp_path: Path) -> None:
    cache, again = tmp_path / "gates.json", DrawnFinder()
    first = judged_int8(DrawnFinder(), DrawnFinder(), cache)
    assert judged_int8(DrawnFinder(), again, cache) == first
    assert again.calls == 0


def test_blind_exact_detector_proves_nothing_of_int8() -> None:
    assert "no drawn face" in recall_defect(DrawnFinder(least_px=999), DrawnFinder())[0]


def test_centerface_in_int8_finds_as_many_drawn_faces_of_each_size() -> None:
    backend = OpenVino(threads=1)
    exact = detector_from_model(backend, centerface_path())
    quick = detector_from_model(backend, quantised_path())
    defect, found = recall_defect(exact, quick)
    if "landmark" in defect:
        pytest.skip("in int8 this processor moves landmarks, and the gate refuses it")
    assert not defect
    assert found >= 100


def test_int8_is_taken_by_openvino_alone_and_where_it_is_not_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Processors round differently: what the gate finds on this one is told by another test."""
    monkeypatch.setattr("engines.detectors.gate.recall_defect", lambda exact, quick: ("", 100))
    cache, twin = tmp_path / "gates.json", quantised_twin(centerface_path())
    openvino = Choice(OpenVino(threads=1), "")
    model = centerface_path()
    asked = choose_detector(model, openvino, precision="int8", quantised=twin, cache=cache)
    assert asked.is_int8
    plain = choose_detector(model, openvino, precision="fp32", quantised=twin, cache=cache)
    assert not plain.is_int8
    other = Choice(OnnxRuntime(threads=1), "")
    assert not choose_detector(model, other, precision="int8", quantised=twin, cache=cache).is_int8


def test_damaged_int8_file_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "detector"
    shutil.copytree(quantised_path().parent, folder)
    damaged = folder / quantised_path().name
    damaged.write_bytes(damaged.read_bytes()[:-1])
    monkeypatch.setattr("engines.models.catalogue.quantised_path", lambda: damaged)
    with pytest.raises(ModelRejected, match="damaged"):
        quantised_twin(centerface_path())
    assert quantised_twin(Path("another.onnx")) is None
