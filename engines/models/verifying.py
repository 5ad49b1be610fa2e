"""Whether the networks that are there may be used: file, graph, answers, second opinion, bf16."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from engines.backends.backend import Backend, Precision
from engines.backends.networks import model_bytes
from engines.backends.onnxruntime import OnnxRuntime
from engines.backends.openvino import OpenVino
from engines.detectors.detector import Detector
from engines.detectors.drawn_faces import drawn_scene
from engines.detectors.gate import gate_precision, parity_defect
from engines.detectors.loading import detector_from_model
from engines.errors import EngineError, ModelRejected
from engines.models.catalogue import Listed, networks_of
from engines.models.probes import PARITY_CEILING, probes_for, relative_error

__all__ = ["COSINE_FLOOR", "Verdict", "verified"]

COSINE_FLOOR: Final = 0.99
"""Least cosine to fp32 at which a precision may be used; smaller lets identities drift."""
_LEAST_SCORE: Final = 0.3
_LEAST_DIFFERENCE: Final = 1e-6
_SCENE: Final = (320, 480, 2, 120.0)

Float32 = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found of one network.

    Attributes:
        model: name of its pack.
        file: its file.
        runtimes: difference between OpenVINO and ONNX Runtime in fp32, as a share of the
            largest value; for detectors of the boxes, 0 where they agree within tolerance.
        error: the same between bf16 and fp32; None where bf16 was not tried.
        cosine: least cosine between bf16 and fp32, what all probes share taken out; None for
            detectors and where bf16 was not tried.
        bf16: `passes`, `refused` with the reason, or why it was not tried.
        seconds: of the checks.
        fault: why the network must not be used; empty where it may.
    """

    model: str
    file: str
    runtimes: float | None = None
    error: float | None = None
    cosine: float | None = None
    bf16: str = ""
    seconds: float = 0.0
    fault: str = ""


def verified(listed: Listed) -> Iterator[Verdict]:
    """Check every network of a pack, and its other files."""
    if listed.fault:
        yield Verdict(listed.name, "", fault=listed.fault)
        return
    for name in sorted(set(listed.pack.sha256) - set(networks_of(listed))):
        try:
            _refuse_unsound_table(_sound_file(listed, name))
        except EngineError as fault:
            yield Verdict(listed.name, name, fault=str(fault))
    for name in networks_of(listed):
        start = time.perf_counter()
        verdict = _judged(listed, name)
        yield replace(verdict, seconds=time.perf_counter() - start)


def _judged(listed: Listed, name: str) -> Verdict:
    try:
        content = model_bytes(_sound_file(listed, name))
        _refuse_unsound(content)
        if listed.kind == "detector":
            return _judged_detector(listed, name, content)
        return _judged_network(listed, name, content)
    except EngineError as fault:
        return Verdict(listed.name, name, fault=str(fault))


def _sound_file(listed: Listed, name: str) -> Path:
    """The file once its hash is right; the advice is told by where the pack came from."""
    try:
        return listed.pack.path(name)
    except EngineError as fault:
        if listed.origin == "bundled":
            raise
        raise type(fault)(
            f"{name} of the imported network {listed.name} is absent or damaged; import it again"
        ) from fault


def _refuse_unsound(content: bytes) -> None:
    """The checker's rules, and weights that are numbers.

    Raises:
        ModelRejected: the graph breaks a rule, or a weight is NaN or infinite.
    """
    import onnx
    from onnx import numpy_helper

    try:
        network = onnx.load_model_from_string(content)
        onnx.checker.check_model(network)
        weights = [numpy_helper.to_array(weight) for weight in network.graph.initializer]
    except Exception as fault:  # protobuf and checker raise unrelated types
        raise ModelRejected(
            "the file is no sound ONNX network; fetch or import it again"
        ) from fault
    for weight in weights:
        if weight.dtype.kind == "f" and not np.isfinite(weight).all():
            raise ModelRejected("the network's weights hold NaN or infinity; it is not used")


def _refuse_unsound_table(path: Path) -> None:
    """Tables of numbers must be that; other files are judged by their hash alone.

    Raises:
        ModelRejected: a table is damaged, or holds NaN or infinity.
    """
    if path.suffix != ".npz":
        return
    try:
        with np.load(path, allow_pickle=False) as tables:
            values = [tables[name] for name in tables.files]
    except Exception as fault:  # archives and headers raise unrelated types
        raise ModelRejected("the file is no sound table; fetch it again") from fault
    if not all(np.isfinite(table).all() for table in values if table.dtype.kind == "f"):
        raise ModelRejected("the table holds NaN or infinity; it is not used")


def _judged_network(listed: Listed, name: str, content: bytes) -> Verdict:
    openvino = OpenVino()
    exact = _answers(openvino, content, listed, "fp32")
    _refuse_blank(exact)
    second = _answers(OnnxRuntime(), content, listed, "fp32")
    runtimes = max(relative_error(second[port], exact[port]) for port in exact)
    verdict = Verdict(listed.name, name, runtimes=runtimes)
    if runtimes > PARITY_CEILING:
        return replace(verdict, fault=f"OpenVINO and ONNX Runtime differ by {runtimes:.2g}")
    if not openvino.has_bf16:
        return replace(verdict, bf16="not on this processor")
    try:
        quick = _answers(openvino, content, listed, "bf16")
    except EngineError as fault:
        return replace(verdict, bf16=f"refused: {fault}")
    error = max(relative_error(quick[port], exact[port]) for port in exact)
    cosine = min(_least_cosine(quick[port], exact[port]) for port in exact)
    told = "passes" if cosine >= COSINE_FLOOR else "refused, fp32 is used"
    return replace(verdict, error=error, cosine=cosine, bf16=told)


def _answers(
    backend: Backend, content: bytes, listed: Listed, precision: Precision
) -> dict[str, Float32]:
    with closing(backend.load(content, precision=precision)) as session:
        return session.run(probes_for(session.inputs, listed.pack))


def _refuse_blank(answers: Mapping[str, Float32]) -> None:
    """Refuse a network that paints nothing or says the same of everybody.

    Raises:
        ModelRejected: it does.
    """
    for port, values in answers.items():
        if not np.isfinite(values).all():
            raise ModelRejected(f"the output {port} is NaN or infinite; it is not used")
        apart = np.abs(values - values[:1]).max(initial=0.0)
        if len(values) > 1 and apart < _LEAST_DIFFERENCE * max(1.0, float(np.abs(values).max())):
            raise ModelRejected(f"the output {port} is the same for everybody; it is not used")
        if port == "image" and values.std(axis=(1, 2, 3)).min() < 1 / 127.5:
            raise ModelRejected("the generator paints a blank; it is not used")


def _least_cosine(made: Float32, wanted: Float32) -> float:
    """Least cosine over the probes, what all of them share taken out: what is left is identity."""
    count = len(wanted)
    shared = wanted.reshape(count, -1).mean(axis=0)
    a, b = made.reshape(count, -1) - shared, wanted.reshape(count, -1) - shared
    norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return float((np.einsum("ni,ni->n", a, b) / np.maximum(norms, 1e-12)).min())


def _judged_detector(listed: Listed, name: str, content: bytes) -> Verdict:
    openvino = OpenVino()

    def load(precision: Precision) -> Detector:
        return detector_from_model(openvino, content, precision)

    height, width, faces, side = _SCENE
    scene, _ = drawn_scene(height, width, faces, side_px=side)
    exact = load("fp32").detect(scene, min_score=_LEAST_SCORE)
    second = detector_from_model(OnnxRuntime(), content).detect(scene, min_score=_LEAST_SCORE)
    verdict = Verdict(listed.name, name, runtimes=0.0)
    defect = parity_defect(exact, second)
    if not exact:
        return replace(verdict, runtimes=None, fault="the detector finds no drawn face")
    if defect:
        return replace(verdict, fault=f"ONNX Runtime disagrees with OpenVINO: {defect}")
    with tempfile.TemporaryDirectory(prefix="kveil-verify-") as folder:
        gate = gate_precision(
            load, content, openvino, wanted="bf16", cache=Path(folder) / "gates.json"
        )
    told = "passes" if gate.precision == "bf16" else f"refused: {gate.reason}"
    return replace(verdict, bf16=told if openvino.has_bf16 else "not on this processor")
