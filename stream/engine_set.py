"""The networks of a process: opened once, shared by all streams."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from config.settings import Settings
from engines.backends.choice import choose_backend, choose_detector
from engines.backends.networks import model_sha256
from engines.detectors.detector import Detector
from engines.detectors.multiscale import DetectionPlan
from engines.models import model_path
from stream.finding import Scale
from stream.report import EngineChoice

__all__ = ["EngineSet", "open_engines"]

_LARGE_FACES_PX = 320
_TILE_PX = 1920
_WORKERS = 2
"""One search computes while the next one's picture is being scaled."""


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
    wanted = settings.detection
    model = model_path(wanted.model)
    choice = choose_backend(wanted.backend, settings.device, threads=settings.limits.threads)
    chosen = choose_detector(model, choice, precision=wanted.precision)
    report = EngineChoice(
        role="detector",
        model_sha256=model_sha256(model),
        backend=chosen.backend,
        precision=chosen.precision,
        reason=chosen.reason,
    )
    yield EngineSet(chosen.detector, _plans(settings), _WORKERS, (report,))


def _plans(settings: Settings) -> dict[Scale, DetectionPlan]:
    wanted = settings.detection
    return {
        "coarse": DetectionPlan(wanted.coarse_px, max_upscale=1.0),
        "full": DetectionPlan(
            wanted.full_px, also_px=(_LARGE_FACES_PX,), tile_px=_TILE_PX, max_upscale=1.5
        ),
    }
