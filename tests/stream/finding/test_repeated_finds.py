"""What closer looks find half-surely becomes a face when it is found again at its place."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from engines.types import Face
from stream.finding.repeated_finds import RepeatedFinds

pytestmark = pytest.mark.unit

LEAST = 0.2
STEP_S = 0.04


def face(score: float, x: float = 100, side: float = 80) -> Face:
    return Face(
        np.array([x, 40, x + side, 40 + side], np.float32), np.ones((5, 2), np.float32), score
    )


def shown(found: Sequence[Sequence[Face]], step_s: float = STEP_S) -> list[bool]:
    """Whether any find of each frame is a face."""
    finds = RepeatedFinds(LEAST)
    return [bool(finds.faces(one, index * step_s)) for index, one in enumerate(found)]


@pytest.mark.parametrize(
    ("scores", "since"),
    [
        ([0.6], 0),
        ([0.42, 0.35], 1),
        ([0.35, 0.35, 0.35], 2),
        ([0.25] * 6, 5),
        ([0.25] * 5, None),
        ([0.1] * 20, None),
    ],
)
def test_a_find_is_a_face_from_as_many_finds_on_as_a_track_needs(
    scores: list[float], since: int | None
) -> None:
    expected = [since is not None and index >= since for index in range(len(scores))]
    assert shown([[face(score)] for score in scores]) == expected


def test_a_face_that_moves_on_is_the_same_and_one_elsewhere_is_not() -> None:
    assert shown([[face(0.42)], [face(0.42, x=120)]]) == [False, True]
    assert shown([[face(0.42)], [face(0.42, x=190)]]) == [False, False]


def test_two_looks_at_one_face_in_one_frame_are_one_find() -> None:
    assert shown([[face(0.42), face(0.41, x=102)]]) == [False]


def test_a_weak_find_beside_the_same_face_gets_no_cover_of_its_own() -> None:
    finds = RepeatedFinds(LEAST)
    clear = face(0.9)
    assert finds.faces([face(0.22, x=110), clear], 0.0) == [clear]


def test_a_face_is_remembered_over_frames_without_a_find_and_forgotten_at_last() -> None:
    assert shown([[face(0.42)], [], [face(0.42)]]) == [False, False, True]
    assert shown([[face(0.42)], [face(0.42)]], step_s=1.0) == [False, False]


def test_time_that_goes_back_proves_nothing() -> None:
    assert shown([[face(0.42)], [face(0.42)]], step_s=-1.0) == [False, False]


def test_a_face_beyond_doubt_is_one_whatever_least_score_is_asked_for() -> None:
    """The planted fault: a high low_score dropped a clear find."""
    assert RepeatedFinds(0.8).faces([face(0.6)], 0.0)
