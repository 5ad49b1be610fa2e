"""On a real GPU: memory, and every network beside ONNX Runtime on the processor."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engines.backends.backend import Precision
from engines.backends.choice import choose_backend, choose_detector
from engines.backends.cuda_memory import current_capability, gpu_name, open_stream
from engines.backends.onnxruntime import OnnxRuntime
from engines.backends.tensorrt import TensorrtBackend, gpu_defect
from engines.detectors.gate import HardwareBackend
from engines.errors import BackendMissing
from engines.models.catalogue import centerface_path
from engines.models.probes import probes_for
from engines.stylegan.pack import bundled_pack, read_pack, swapper_from_pack


def _has_gpu() -> bool:
    try:
        return bool(current_capability())
    except BackendMissing:
        return False


pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not _has_gpu(), reason="there is no GPU")]

NETWORKS = ("landmarker", "lids", "generator")


@pytest.fixture(params=["tensorrt", "onnxruntime"])
def backend(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> HardwareBackend:
    """Each runtime that works on this GPU."""
    try:
        if request.param == "onnxruntime":
            return OnnxRuntime(device="cuda")
        defect = gpu_defect()
        if not defect:
            return TensorrtBackend(tmp_path_factory.getbasetemp() / "engines")
    except BackendMissing as fault:
        defect = str(fault)
    pytest.skip(defect)


def test_memory_keeps_what_it_is_given() -> None:
    stream = open_stream()
    sent = np.random.default_rng(1).standard_normal((3, 257)).astype(np.float32)
    back = np.zeros_like(sent)
    place = stream.allocate(sent.nbytes)
    stream.upload(place, sent)
    stream.download(back, place)
    stream.synchronize()
    np.testing.assert_array_equal(back, sent)
    stream.close()
    stream.close()
    assert float(current_capability()) >= 5.0
    assert gpu_name()


@pytest.mark.parametrize("name", NETWORKS)
def test_network_answers_as_on_the_processor(backend: HardwareBackend, name: str) -> None:
    pack = read_pack(bundled_pack())
    path = pack.path(f"{name}.onnx")
    exact, made = OnnxRuntime().load(path), backend.load(path)
    probes = probes_for(exact.inputs, pack)
    wanted, answers = exact.run(probes), made.run(probes)
    made.close()
    for port, values in wanted.items():
        scale = float(np.abs(values).max())
        assert float(np.abs(answers[port] - values).max()) <= 5e-3 * scale, port


def test_steady_runs_and_changes_are_answered_alike(backend: HardwareBackend) -> None:
    """Runs that are alike become a CUDA graph; other batches between them are none of it."""
    pack = read_pack(bundled_pack())
    path = pack.path("lids.onnx")
    exact, made = OnnxRuntime().load(path), backend.load(path)
    eyes = np.random.default_rng(1).random((8, 1, 32, 48), np.float32)
    wanted = exact.run({"eyes": eyes})["openness"]
    for turn, count in enumerate((2,) * 8 + (8,) * 2 + (2,) * 8 + (5,) * 8):
        start = turn % 4
        batch = np.roll(eyes, -start, axis=0)[:count]
        given = made.run({"eyes": batch})["openness"]
        np.testing.assert_allclose(given, np.roll(wanted, -start, axis=0)[:count], atol=5e-3)
    made.close()


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
def test_painting_passes_its_gate_or_is_refused(
    backend: HardwareBackend, precision: Precision
) -> None:
    _, gate = swapper_from_pack(backend, precision=precision)
    assert gate is not None
    assert ("refused" in gate.told()) != gate.is_passed
    if precision == "fp16" and backend.name == "tensorrt":  # cuDNN's kernels are too inexact
        assert gate.is_passed, gate.told()


def test_detector_finds_the_same_faces(tmp_path: Path) -> None:
    choice = choose_backend("auto", "cuda")
    chosen = choose_detector(centerface_path(), choice, cache=tmp_path / "gates.json")
    assert "failed" not in chosen.reason, chosen.reason
