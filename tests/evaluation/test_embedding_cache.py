"""A cached recogniser computes each picture once and forgets the oldest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.types import Landmarks
from evaluation.embedding_cache import CachedRecogniser
from tests.evaluation.fakes import PixelJudge, painted_people

pytestmark = pytest.mark.unit

FACES = painted_people(0, people=6)


@dataclass
class Counting:
    """A judge that counts the faces it was shown."""

    name: str = "counting"
    threshold: float = 0.5
    seen_by_kveil: bool = False
    shown: int = 0
    inner: PixelJudge = field(default_factory=PixelJudge)

    def embed(
        self, images: Sequence[NDArray[np.uint8]], landmarks_px: Sequence[Landmarks]
    ) -> NDArray[np.float32]:
        self.shown += len(images)
        return self.inner.embed(images, landmarks_px)


def test_a_picture_is_computed_once_and_the_answer_stays_the_same() -> None:
    counting = Counting()
    cached = CachedRecogniser(counting)
    doubled = FACES.joined(FACES)
    first = doubled.embed(cached)
    assert counting.shown == 6
    np.testing.assert_array_equal(first, doubled.embed(PixelJudge()))
    np.testing.assert_array_equal(cached.embed(list(FACES.images), list(FACES.points)), first[:6])
    assert counting.shown == 6


def test_other_pixels_or_other_landmarks_are_another_face() -> None:
    counting = Counting()
    cached = CachedRecogniser(counting)
    FACES.embed(cached)
    FACES.showing(255 - FACES.images).embed(cached)
    cached.embed(list(FACES.images), list(FACES.points + np.float32(1)))
    assert counting.shown == 18


def test_no_more_is_kept_than_allowed() -> None:
    counting = Counting()
    cached = CachedRecogniser(counting, most_kept=2)
    FACES.embed(cached)
    FACES.take([4, 5]).embed(cached)
    assert counting.shown == 6
    FACES.take([0]).embed(cached)
    assert counting.shown == 7


def test_nobody_gives_no_vectors() -> None:
    assert CachedRecogniser(Counting()).embed([], []).shape == (0, 0)
