"""The controls hold where the measures work, and break where they are blind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from evaluation.clip_controls import QualityControls, run_quality_controls
from evaluation.clips import FramePair
from evaluation.face_geometry import GeometryProbe
from tests.evaluation.fakes import PixelJudge, ScriptedFinder, face_at, painted_face

pytestmark = pytest.mark.unit

FACE = face_at(30, 30, 64)


def frames() -> Iterator[FramePair]:
    random = np.random.default_rng(1)
    for index in range(30):
        image = np.full((128, 128, 3), 90, np.uint8)
        image[30:94, 30:94] = painted_face(1, 64)
        image = np.clip(image + random.normal(0, 1, image.shape), 0, 255).astype(np.uint8)
        yield FramePair(index, image, image, index / 25)


def controls(faces: bool = True) -> QualityControls:
    finder = ScriptedFinder((FACE,) if faces else ())
    return run_quality_controls(frames(), finder, [PixelJudge()], GeometryProbe())


def test_copy_is_found_unchanged_and_flickering_is_told() -> None:
    made = controls()
    assert made.hold()
    assert made.copy.recognised["pixels"].rate == 1.0
    assert made.copy.steadiness.warp_error == pytest.approx(1.0)
    assert made.flickering.steadiness.flicker > 10
    assert made.flickering.constancy["pixels"].spread > 5 * made.copy.constancy["pixels"].spread


def test_measures_that_see_no_flickering_break_the_control() -> None:
    made = controls()
    assert not replace(made, flickering=made.copy).hold()


def test_measures_that_find_a_copy_changed_break_the_control() -> None:
    made = controls()
    assert not replace(made, copy=made.flickering).hold()


def test_clip_without_faces_has_nothing_to_control() -> None:
    assert controls(faces=False).hold()
