"""One folder of faces, evaluated and recorded."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np

from engines.backends.backend import Backend
from engines.errors import EngineError
from evaluation.exposure import FaceFinder
from evaluation.folder import Progress
from evaluation.methods.generated import surrogates_from_pack
from evaluation.methods.surrogate import SurrogateRenderer
from evaluation.protocol import Evaluation, Plan, evaluate_folder
from evaluation.recognisers import Recogniser
from evaluation.reports.clip_record import Record
from evaluation.reports.folder_record import folder_record
from evaluation.utility import UtilityProbe
from gallery.errors import GalleryError

__all__ = ["evaluated_folder", "renderer_at_hand"]


def evaluated_folder(
    folder: Path,
    finder: FaceFinder,
    judges: Sequence[Recogniser],
    plan: Plan,
    probe: UtilityProbe,
    progress: Progress,
    backend: Backend,
) -> Record:
    """Evaluates and records; sample faces only where the plan allows them.

    Raises:
        FacesUnreadable: there are no pictures, or one cannot be read.
        TooFewPeople: too few to split.
    """
    renderer, words = renderer_at_hand(backend)
    evaluation = evaluate_folder(folder, finder, judges, plan, probe, progress, renderer)
    record = folder_record(evaluation, words)
    if plan.show_faces:
        record["samples"] = _samples(evaluation)
    return record


def renderer_at_hand(backend: Backend) -> tuple[SurrogateRenderer | None, str]:
    """The bundled generator, or None for donors' photographs, and which of them in words."""
    try:
        return surrogates_from_pack(backend), "rendered by the bundled generator"
    except (EngineError, GalleryError) as fault:
        return None, f"photographs of other people, as a reference ({fault})"


def _samples(evaluation: Evaluation) -> list[Record]:
    """One strip per method, JPEG in base64."""
    strips: list[Record] = []
    for result in evaluation.results:
        if result.samples is None:
            continue
        strip = np.hstack(list(result.samples.images))
        _, encoded = cv2.imencode(".jpg", strip, [cv2.IMWRITE_JPEG_QUALITY, 85])
        strips.append(
            {"name": result.name, "jpeg": base64.b64encode(encoded.tobytes()).decode("ascii")}
        )
    return strips
