"""The file of what was found: asked once, the same answer again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.types import Face
from evaluation.finding_cache import CachedFinder
from tests.evaluation.fakes import face_at

pytestmark = pytest.mark.unit

IMAGES = [np.full((8, 8, 3), level, np.uint8) for level in (10, 20)]


@dataclass(slots=True)
class CountingFinder:
    """Sees a face in bright pictures, and counts how often it is asked."""

    name: str = "counting"
    asked: int = 0

    def find(self, image: NDArray[np.uint8]) -> Sequence[Face]:
        self.asked += 1
        return [face_at(1.5, 2, 4, score=0.625)] if image.mean() > 15 else []


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


def test_nothing_is_written_before_it_is_saved(tmp_path: Path) -> None:
    CachedFinder(CountingFinder(), tmp_path / "found.json").find(IMAGES[0])
    assert not list(tmp_path.iterdir())
