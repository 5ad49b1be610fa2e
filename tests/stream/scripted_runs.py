"""Whole runs of `run_files` with a detector that answers by a script."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from config.loading import load_settings
from config.settings import Settings
from engines.detectors.multiscale import DetectionPlan
from engines.types import Face
from stream.files import file_runs
from stream.files.file_runs import run_files
from stream.files.report import RunReport
from stream.files.run_reports import BatchReport
from stream.pipeline.engine_set import EngineSet

__all__ = [
    "Answer",
    "CountingDetector",
    "install_detector",
    "leftovers",
    "one_face",
    "run",
]

Image = NDArray[np.uint8]
Answer = Callable[[int], tuple[Face, ...]]


class CountingDetector:
    """Answers by the number of the call."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._lock = threading.Lock()
        self.calls = 0

    def detect(self, image_bgr: Image, *, min_score: float) -> tuple[Face, ...]:
        with self._lock:
            number, self.calls = self.calls, self.calls + 1
        return self._answer(number)


def one_face(number: int) -> tuple[Face, ...]:
    landmarks = np.array([[28, 26], [36, 26], [32, 32], [29, 37], [35, 37]], np.float32)
    return (Face(np.array([22, 16, 42, 44], np.float32), landmarks, 0.9),)


def run(
    source: Path,
    target: Path,
    *,
    resume: bool = False,
    flags: Mapping[str, object] | None = None,
    report: Path | None = None,
    is_batch: bool = False,
) -> RunReport:
    chosen = {"method": "solid", "detection.schedule": "every", **(flags or {})}
    settings = load_settings(flags=chosen, environment={})
    report_path = report or target.parent / "report.json"
    run_files(
        [source],
        target,
        settings,
        overwrite=not resume,
        resume=resume,
        report_path=report_path,
    )
    text = report_path.read_text()
    if is_batch:
        return BatchReport.model_validate_json(text).runs[-1]
    return RunReport.model_validate_json(text)


def leftovers(folder: Path, *expected: str) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name not in expected)


def install_detector(monkeypatch: pytest.MonkeyPatch, answer: Answer) -> CountingDetector:
    """Puts a scripted detector in the place of the real one."""
    detector = CountingDetector(answer)
    plan = DetectionPlan(64)

    @contextmanager
    def opened(settings: Settings, *, is_recorded: bool) -> Iterator[EngineSet]:
        yield EngineSet(
            detector, lambda height, width: {"near": plan, "coarse": plan, "full": plan}, 1, ()
        )

    monkeypatch.setattr(file_runs, "open_engines", opened)
    return detector
