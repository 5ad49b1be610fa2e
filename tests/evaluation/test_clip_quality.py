"""Quality of an anonymized clip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.blending.covers import DEFAULT_COVER
from engines.types import Face
from evaluation.clip_quality import ClipQuality, QualityFigures
from evaluation.clips import FramePair
from evaluation.exposure import measure_exposure
from tests.evaluation.fakes import PixelJudge, ScriptedFinder, face_at, painted_face

pytestmark = pytest.mark.unit

FACE = face_at(30, 30, 64)


@dataclass(frozen=True, slots=True)
class SeesTexture:
    """Sees the face where it is not dull."""

    name: str = "texture"

    def find(self, image: NDArray[np.uint8]) -> Sequence[Face]:
        return (FACE,) if image[40:80, 40:80].std() > 5 else ()


def frames(kind: str) -> Iterator[FramePair]:
    random = np.random.default_rng(1)
    for index in range(40):
        original = np.full((128, 128, 3), 90, np.uint8)
        original[30:94, 30:94] = painted_face(1, 64)
        original = np.clip(original + random.normal(0, 1, original.shape), 0, 255).astype(np.uint8)
        anonymized = original.copy()
        person = 2 + index // 5 % 2 if kind == "changing" else 2
        shift = 25 * (index % 2) if kind == "flickering" else 0
        face = painted_face(person, 64).astype(int) + shift
        if kind == "striped" and index >= 10:
            bare = np.full((64, 64, 3), 110, np.uint8)
            face = DEFAULT_COVER.paint(bare, FACE.landmarks_px).astype(int)
        if kind != "copied":
            dull = np.random.default_rng(index).normal(90, 4, (64, 64, 3))
            anonymized[30:94, 30:94] = dull if kind == "dull" else np.clip(face, 0, 255)
        yield FramePair(index, original, anonymized, index / 25)


def figures(kind: str) -> QualityFigures:
    quality = ClipQuality(SeesTexture(), [PixelJudge()], every=2)
    finder = ScriptedFinder((FACE,))
    measure_exposure(frames(kind), finder, [PixelJudge()], keep=quality.keep)
    return quality.figures()


def test_a_steady_face_neither_flickers_nor_disappears() -> None:
    steady = figures("steady")
    assert steady.redetected.rate == 1.0
    assert steady.steadiness.flicker < 1.5
    assert steady.steadiness.faces == 1
    assert steady.recognised["pixels"].rate == 0
    assert steady.covered.rate == 0


def test_a_flickering_face_is_told_by_both_ratios() -> None:
    flickering, steady = figures("flickering").steadiness, figures("steady").steadiness
    assert flickering.flicker > 10 * steady.flicker
    assert flickering.warp_error > 3 * steady.warp_error


def test_a_face_that_changes_its_person_is_told_by_its_variance() -> None:
    changing, steady = (
        figures("changing").constancy["pixels"],
        figures("steady").constancy["pixels"],
    )
    assert changing.tracks == steady.tracks == 1
    assert changing.spread > 10 * max(steady.spread, steady.original_spread)


def test_a_copy_hides_nobody_and_has_ratios_of_one() -> None:
    copied = figures("copied")
    assert copied.recognised["pixels"].rate == 1.0
    assert copied.steadiness.flicker == pytest.approx(1.0)
    assert copied.steadiness.warp_error == pytest.approx(1.0)
    same = copied.constancy["pixels"]
    assert same.variance == same.original_variance


def test_a_face_that_is_gone_counts_as_not_detected() -> None:
    gone = figures("dull")
    assert gone.covered.rate == 0
    assert gone.redetected.hits == 0
    assert gone.redetected.probes == 20


def test_covered_frames_are_counted_apart() -> None:
    striped = figures("striped")
    assert striped.covered.hits == 30
    assert striped.redetected.rate == 1.0
    assert striped.redetected.probes == 5


def test_a_clip_without_faces_measures_nothing() -> None:
    nothing = ClipQuality(SeesTexture()).figures()
    assert nothing.steadiness.faces == 0
    assert nothing.as_dict()["pose_error_deg"] is None
