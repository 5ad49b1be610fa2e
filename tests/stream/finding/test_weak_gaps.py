"""Between two weak finds a place is doubted where it shows neither, and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.pictures import picture_from_bgr
from engines.types import Face, Frame, Track, TrackState
from stream.finding.weak_gaps import WeakGaps

pytestmark = pytest.mark.unit

WIDTH = 30
HEAD, LAMP, HAIR = (
    np.random.default_rng(seed).integers(40, 200, (12, 10, 3)).astype(np.uint8) for seed in range(3)
)


def frame(index: int, shows: NDArray[np.uint8], width: int = WIDTH) -> Frame:
    """Shows something as wide as that where the track is, on grey."""
    image = np.full((200, 300, 3), 90, np.uint8)
    scale = width // 10
    image[40 : 40 + 12 * scale, 60 : 60 + 10 * scale] = np.kron(
        shows, np.ones((scale, scale, 1), np.uint8)
    )
    return Frame(picture_from_bgr(image), index, Fraction(1, 25), index)


def face(width: int = WIDTH) -> Face:
    box = np.array([60, 40, 60 + width, 40 + 1.2 * width], np.float32)
    return Face(box, np.ones((5, 2), np.float32), 0.3)


def track(state: TrackState, width: int = WIDTH, *, is_confirmed: bool = False) -> Track:
    return Track(1, face(width), state, 9, is_confirmed)


def doubted(
    between: NDArray[np.uint8],
    *,
    at: int = 4,
    found: Sequence[int] = (0, 8),
    width: int = WIDTH,
    is_confirmed: bool = False,
    state: TrackState = TrackState.FILLED,
) -> bool:
    """Whether a place is doubted that shows `between`, in a gap between two finds of a head."""
    gaps = WeakGaps()
    later = [(frame(index, HEAD, width), face(width)) for index in found if index > at]
    for index in range(at):
        one = track(TrackState.DETECTED if index in found else state, width)
        gaps.doubted(frame(index, HEAD, width), [one], lambda number: later)
    one = track(state, width, is_confirmed=is_confirmed)
    return gaps.doubted(frame(at, between, width), [one], lambda number: later) == {1}


def test_a_place_that_shows_neither_find_is_doubted() -> None:
    assert doubted(HAIR)


def test_a_face_that_was_not_found_for_a_while_is_not_doubted() -> None:
    """The planted fault: a face out of focus, found now and then, was bare in between."""
    assert not doubted(HEAD)


def test_what_looks_like_one_of_the_two_finds_is_not_doubted() -> None:
    gaps, later = WeakGaps(), [(frame(8, LAMP), face())]
    gaps.doubted(frame(0, HEAD), [track(TrackState.DETECTED)], lambda number: later)
    for shows, is_doubted in ((LAMP, False), (HEAD, False), (HAIR, True)):
        found = gaps.doubted(frame(4, shows), [track(TrackState.FILLED)], lambda number: later)
        assert bool(found) == is_doubted


@pytest.mark.parametrize("at", [1, 7])
def test_the_frame_beside_a_find_is_not_doubted(at: int) -> None:
    assert not doubted(HAIR, at=at)


def test_who_was_clearly_found_is_never_doubted() -> None:
    """The planted fault: a head that turned over between two finds was bare."""
    assert not doubted(HAIR, is_confirmed=True)


@pytest.mark.parametrize("width", [10, 50, 100])
def test_small_and_large_places_are_never_doubted(width: int) -> None:
    """The planted fault: a large face that lay on its side was bare between weak finds."""
    assert not doubted(HAIR, width=width)


@pytest.mark.parametrize("found", [(0,), (8,), ()], ids=["before", "after", "neither"])
def test_where_a_find_is_not_known_nothing_is_doubted(found: Sequence[int]) -> None:
    assert not doubted(HAIR, found=found)


@pytest.mark.parametrize("state", [TrackState.EXTENDED, TrackState.DOUBTFUL])
def test_other_states_are_left_to_who_judges_them(state: TrackState) -> None:
    assert not doubted(HAIR, state=state)


@pytest.mark.parametrize(("x", "is_doubted"), [(-15, False), (4, False), (12, True), (280, False)])
def test_places_at_the_rim_and_beyond_are_never_doubted(x: int, is_doubted: bool) -> None:
    """The planted fault: a bowed head, half outside, was bare where a weak find had covered it."""
    gaps, later = WeakGaps(), [(frame(8, HEAD), face())]
    gaps.doubted(frame(0, HEAD), [track(TrackState.DETECTED)], lambda number: later)
    box = face().box_px + np.array([x - 60, 0, x - 60, 0], np.float32)
    one = Track(1, Face(box, face().landmarks_px, 0.3), TrackState.FILLED, 4, False)
    assert bool(gaps.doubted(frame(4, HAIR), [one], lambda number: later)) == is_doubted
