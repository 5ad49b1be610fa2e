"""Thresholds by size on originals whose people are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.types import Face
from evaluation.clips import Still
from evaluation.size_thresholds import OriginalFaces, SizeThreshold
from tests.evaluation.fakes import PixelJudge, face_at, painted_face

pytestmark = pytest.mark.unit

PLACES = tuple(
    face_at(10 + 60 * column, 10 + 60 * row, 40) for row in range(3) for column in range(4)
)


@dataclass(frozen=True, slots=True)
class Painted:
    """Sees the faces of PLACES."""

    name: str = "painted"

    def find(self, image: NDArray[np.uint8]) -> Sequence[Face]:
        return PLACES


def clip(first_person: int, frames: int = 12, detail: float = 1.0) -> Iterator[Still]:
    """Twelve people in their places; less detail makes them alike."""
    image = np.full((200, 260, 3), 128, np.uint8)
    for number, face in enumerate(PLACES):
        x0, y0, x1, y1 = face.box_px.astype(int)
        own = painted_face(first_person + number, 40).astype(np.float64)
        shared = painted_face(999, 40).astype(np.float64)
        image[y0:y1, x0:x1] = (detail * own + (1 - detail) * shared).astype(np.uint8)
    for _ in range(frames):
        yield Still(image, None)


def thresholds(detail: float, clips: int = 2) -> list[SizeThreshold]:
    judge = PixelJudge(threshold=0.5)
    faces = OriginalFaces(Painted(), [judge], every=1)
    for number in range(clips):
        faces.add_clip(number, clip(20 * number, detail=detail))
    return faces.thresholds(judge)


def test_faces_that_differ_keep_the_recognisers_own_threshold() -> None:
    found = thresholds(detail=1.0)[1]
    assert (found.least_px, found.most_px) == (32, 48)
    assert found.is_calibrated
    assert found.chains == 24
    assert found.value >= 0.5
    assert found.own_fmr < 0.05


def test_faces_alike_raise_the_threshold_and_show_the_false_matches() -> None:
    alike, clear = thresholds(detail=0.3)[1], thresholds(detail=1.0)[1]
    assert alike.value > max(clear.value, 0.6)
    assert alike.own_fmr > 0.5


def test_a_person_is_never_his_own_stranger() -> None:
    """24 people in 12 frames each: all pairs but those of one person."""
    found = thresholds(detail=1.0)[1]
    assert found.pairs == (24 * 23 // 2) * 12 * 12


def test_too_few_people_calibrate_nothing() -> None:
    found = thresholds(detail=0.3, clips=1)[1]
    assert not found.is_calibrated
    assert found.value == 0.5
    assert thresholds(detail=1.0)[0].pairs == 0
