"""Quality of an anonymized clip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.types import Face
from evaluation.clip_quality import ClipQuality, QualityFigures
from evaluation.clips import FramePair
from evaluation.exposure import measure_exposure
from tests.evaluation.fakes import PixelJudge, ScriptedFinder, face_at, painted_face

pytestmark = pytest.mark.unit

FACE = face_at(30, 30, 64)


@dataclass(frozen=True, slots=True)
class SeesTexture:
    """Sees the face where it is not flat."""

    name: str = "texture"

    def find(self, image: NDArray[np.uint8]) -> Sequence[Face]:
        return (FACE,) if image[40:80, 40:80].std() > 5 else ()


def frames(kind: str) -> Iterator[FramePair]:
    random = np.random.default_rng(1)
    for index in range(20):
        original = np.full((128, 128, 3), 90, np.uint8)
        original[30:94, 30:94] = painted_face(1, 64)
        original = np.clip(original + random.normal(0, 1, original.shape), 0, 255).astype(np.uint8)
        anonymized = original.copy()
        shift = 25 * (index % 2) if kind == "flickering" else 0
        face = painted_face(2, 64).astype(int) + shift
        anonymized[30:94, 30:94] = 90 if kind == "covered" else np.clip(face, 0, 255)
        yield FramePair(index, original, anonymized, index / 25)


def figures(kind: str) -> QualityFigures:
    quality = ClipQuality(SeesTexture())
    finder = ScriptedFinder((FACE,))
    measure_exposure(frames(kind), finder, [PixelJudge()], keep=quality.keep)
    return quality.figures()


def test_a_steady_face_neither_flickers_nor_disappears() -> None:
    steady = figures("steady")
    assert steady.redetected.rate == 1.0
    assert steady.flicker < 1.5
    assert steady.faces == 1


def test_a_flickering_face_is_told_by_both_ratios() -> None:
    flickering, steady = figures("flickering"), figures("steady")
    assert flickering.flicker > 10 * steady.flicker
    assert flickering.warp_error > 3 * steady.warp_error


def test_a_cover_is_not_seen_as_a_face() -> None:
    assert figures("covered").redetected.hits == 0


def test_a_clip_without_faces_measures_nothing() -> None:
    assert ClipQuality(SeesTexture()).figures().faces == 0
