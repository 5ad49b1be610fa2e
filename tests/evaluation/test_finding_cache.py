"""The file of what was found: asked once, the same answer again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.pictures import BgrImage
from engines.types import Face
from evaluation.finders import FrameFinder
from evaluation.finding_cache import CachedFinder
from tests.evaluation.fakes import ScriptedFinder, face_at

pytestmark = pytest.mark.unit

IMAGES = [np.full((32, 32, 3), level, np.uint8) for level in (10, 20)]


@dataclass(slots=True)
class CountingFinder:
    """Sees a face in bright pictures, and counts how often it is asked."""

    name: str = "counting"
    asked: int = 0

    def find(self, image: NDArray[np.uint8]) -> Sequence[Face]:
        self.asked += 1
        return [face_at(1.5, 2, 4, score=0.625)] if image.mean() > 15 else []


@dataclass(frozen=True, slots=True)
class Sees:
    """A detector that sees so many faces in any picture, apart from each other."""

    count: int

    def detect(self, image_bgr: BgrImage, *, min_score: float) -> tuple[Face, ...]:
        return tuple(face_at(3.0 * place, 0, 2) for place in range(self.count))


def test_a_picture_is_searched_once_also_by_the_next_run(tmp_path: Path) -> None:
    counting = CountingFinder()
    first = CachedFinder(counting, tmp_path / "found.json")
    found = [list(first.find(image)) for image in IMAGES * 2]
    assert counting.asked == 2
    first.save()
    second = CachedFinder(counting, tmp_path / "found.json")
    again = [list(second.find(image)) for image in IMAGES]
    assert counting.asked == 2
    assert [len(faces) for faces in again] == [0, 1]
    np.testing.assert_array_equal(again[1][0].box_px, found[1][0].box_px)
    np.testing.assert_array_equal(again[1][0].landmarks_px, found[1][0].landmarks_px)
    assert again[1][0].score == 0.625
    assert second.name == "counting"


def test_another_detector_does_not_answer_with_what_the_first_found(tmp_path: Path) -> None:
    path = tmp_path / "found.json"
    first = CachedFinder(FrameFinder(Sees(1), "net", network_sha256="a"), path)
    assert len(first.find(IMAGES[0])) == 1
    first.save()
    for finder in (
        FrameFinder(Sees(2), "net", network_sha256="b"),
        FrameFinder(Sees(2), "net", enlarged=2, network_sha256="a"),
        FrameFinder(Sees(2), "other", network_sha256="a"),
        ScriptedFinder((face_at(1, 1, 2),) * 2),
    ):
        assert len(CachedFinder(finder, path).find(IMAGES[0])) == 2
    again = CachedFinder(FrameFinder(Sees(2), "net", network_sha256="a"), path)
    assert len(again.find(IMAGES[0])) == 1


def test_the_same_bytes_in_another_shape_are_another_picture(tmp_path: Path) -> None:
    counting = CountingFinder()
    cached = CachedFinder(counting, tmp_path / "found.json")
    for shape in ((4, 16, 3), (16, 4, 3), (4, 16, 3)):
        cached.find(np.zeros(shape, np.uint8))
    assert counting.asked == 2


def test_a_file_without_its_finder_is_not_used(tmp_path: Path) -> None:
    path, counting = tmp_path / "found.json", CountingFinder()
    path.write_text('{"0123": []}')
    CachedFinder(counting, path).find(IMAGES[0])
    assert counting.asked == 1


def test_nothing_is_written_before_it_is_saved(tmp_path: Path) -> None:
    CachedFinder(CountingFinder(), tmp_path / "found.json").find(IMAGES[0])
    assert not list(tmp_path.iterdir())
