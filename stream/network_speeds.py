"""How fast each network runs here in fp32 and bf16, and what its gate says of bf16."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np

from engines.backends.backend import Precision, Session, Tensor
from engines.backends.choice import Choice, choose_detector
from engines.backends.openvino import OpenVino
from engines.detectors.loading import detector_from_model
from engines.models.catalogue import centerface_path, quantised_twin
from engines.stylegan.pack import bundled_pack, read_pack, swapper_from_pack

__all__ = ["NetworkSpeed", "network_speeds", "run_of"]

_DETECTOR_SIZE: Final = (448, 768)
_RUNS: Final = 7
_SEED: Final = 7


@dataclass(frozen=True, slots=True)
class NetworkSpeed:
    """One network's times on this machine.

    Attributes:
        name: of the network.
        size: of its input, for people.
        fp32_ms: median of a run.
        bf16_ms: the same in bf16, None where the processor has none.
        gate: what the gate measured and decided.
    """

    name: str
    size: str
    fp32_ms: float
    bf16_ms: float | None
    gate: str

    def told(self) -> str:
        """One line for people.

        >>> NetworkSpeed("detector", "768×448", 30.0, 15.0, "passed").told()
        'detector 768×448: fp32 30.0 ms, bf16 15.0 ms, 2.00 times as fast; passed'
        """
        if self.bf16_ms is None:
            return f"{self.name} {self.size}: fp32 {self.fp32_ms:.1f} ms; {self.gate}"
        return (
            f"{self.name} {self.size}: fp32 {self.fp32_ms:.1f} ms, bf16 {self.bf16_ms:.1f} ms, "
            f"{self.fp32_ms / self.bf16_ms:.2f} times as fast; {self.gate}"
        )


def network_speeds(backend: OpenVino) -> Iterator[NetworkSpeed]:
    """Times the default detector and the networks of the bundled pack, one face each.

    Raises:
        ModelMissing, ModelRejected: a network is not there.
        EngineFault: one failed.
    """
    yield _detector(backend)
    pack, embedder = bundled_pack(), bundled_pack() / "embedder"
    _, gate = swapper_from_pack(backend, precision="bf16" if backend.has_bf16 else "fp32")
    told = gate.told() if gate is not None else "this processor has no bf16"
    files = (
        ("generator", read_pack(pack).path("generator.onnx"), told),
        ("landmarker", read_pack(pack).path("landmarker.onnx"), told),
        ("lids", read_pack(pack).path("lids.onnx"), _ALWAYS_FP32),
        ("embedder", read_pack(embedder).path("embedder.onnx"), _ALWAYS_FP32),
    )
    for name, path, reason in files:
        exact, quick = _both(partial(_loaded, backend, path), has_bf16=backend.has_bf16)
        yield NetworkSpeed(name, "one face", exact, quick, reason)


def run_of(session: Session, count: int) -> Callable[[], object]:
    """Runs a session on noise, so many rows of each input."""
    random = np.random.default_rng(_SEED)
    fed: dict[str, Tensor] = {
        spec.name: random.random((count, *(size or 1 for size in spec.shape[1:])), np.float32)
        for spec in session.inputs
    }
    return lambda: session.run(fed)


_ALWAYS_FP32: Final = "runs in fp32 always: it is small and its errors would show"


def _detector(backend: OpenVino) -> NetworkSpeed:
    path = centerface_path()
    image = np.random.default_rng(_SEED).integers(0, 256, (*_DETECTOR_SIZE, 3), np.uint8)

    def load(precision: Precision) -> Callable[[], object]:
        detector = detector_from_model(backend, path, precision)
        return lambda: detector.detect(image, min_score=0.5)

    exact, quick = _both(load, has_bf16=backend.has_bf16)
    height, width = _DETECTOR_SIZE
    chosen = choose_detector(path, Choice(backend, ""), quantised=quantised_twin(path))
    reason = chosen.reason.removeprefix("; ")
    return NetworkSpeed("detector", f"{width}×{height}", exact, quick, reason)


def _loaded(backend: OpenVino, path: Path, precision: Precision) -> Callable[[], object]:
    return run_of(backend.load(path, precision=precision), 1)


def _both(
    load: Callable[[Precision], Callable[[], object]], *, has_bf16: bool
) -> tuple[float, float | None]:
    """Median ms in fp32 and bf16, taken in turn so that other load falls on both."""
    wanted: tuple[Precision, ...] = ("fp32", "bf16") if has_bf16 else ("fp32",)
    runs = [load(precision) for precision in wanted]
    times: list[list[float]] = [[] for _ in runs]
    for turn in range(_RUNS + 1):
        for run, into in zip(runs, times, strict=True):
            start = time.perf_counter()
            run()
            if turn:
                into.append((time.perf_counter() - start) * 1e3)
    return median(times[0]), median(times[1]) if has_bf16 else None
