"""Which links may join two people."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tracker.test_association import boxes
from tracker.association import Matches, price
from tracker.doubt import Looks, exchangeable, has_moved_away, has_resized

pytestmark = pytest.mark.unit

SURE = np.array([True, True])


def linked(*pairs: tuple[int, int]) -> Matches:
    tracks = np.array([track for track, _ in pairs], dtype=np.intp)
    faces = np.array([face for _, face in pairs], dtype=np.intp)
    return Matches(tracks, faces, np.zeros(len(pairs), dtype=bool))


def doubted(
    tracks: np.ndarray, faces: np.ndarray, matches: Matches, claimants: np.ndarray = SURE
) -> list[bool]:
    clear = np.ones(len(faces), dtype=bool)
    return [bool(flag) for flag in exchangeable(price(tracks, faces), matches, claimants, clear)]


def test_two_tracks_on_one_spot_could_be_exchanged() -> None:
    close = boxes((0, 0), (4, 0))
    assert doubted(close, close, linked((0, 0), (1, 1))) == [True, True]


def test_two_tracks_side_by_side_could_not() -> None:
    apart = boxes((0, 0), (20, 0))
    assert doubted(apart, apart, linked((0, 0), (1, 1))) == [False, False]


def test_a_hidden_track_near_a_seen_one_makes_both_doubtful() -> None:
    assert doubted(boxes((0, 0), (4, 0)), boxes((1, 0)), linked((0, 0))) == [True, True]


def test_a_hidden_track_far_away_makes_none_doubtful() -> None:
    assert doubted(boxes((0, 0), (90, 0)), boxes((1, 0)), linked((0, 0))) == [False, False]


def test_a_second_face_beside_the_expected_place_is_doubtful() -> None:
    tracks, faces = boxes((0, 0)), boxes((3, 0), (-4, 0))
    assert doubted(tracks, faces, linked((0, 0)), np.array([True])) == [True]


def test_a_track_that_is_hardly_anybody_raises_no_doubt() -> None:
    close = boxes((0, 0), (4, 0))
    assert doubted(close, close, linked((0, 0), (1, 1)), np.array([True, False])) == [False, False]


def test_faces_of_different_size_on_one_spot_could_not_be_exchanged() -> None:
    both = np.concatenate([boxes((0, 0)), boxes((0, 0), size=50.0)])
    assert doubted(both, both, linked((0, 0), (1, 1))) == [False, False]


def test_nobody_and_nothing_are_not_doubted() -> None:
    assert doubted(boxes(), boxes((0, 0)), linked(), np.zeros(0, dtype=bool)) == []
    assert doubted(boxes((0, 0)), boxes(), linked(), np.array([True])) == [False]


def test_a_link_that_would_leave_the_expected_face_bare_has_moved_away() -> None:
    prices = price(boxes((0, 0), (100, 0)), boxes((14, 0), (104, 0)))
    assert has_moved_away(prices, linked((0, 0), (1, 1))).tolist() == [True, False]


def test_a_size_that_jumps_is_noticed_unless_long_unseen() -> None:
    prices = price(boxes((0, 0)), boxes((0, 0), size=40.0))
    assert has_resized(prices, linked((0, 0)), np.array([0.1])).tolist() == [True]
    assert has_resized(prices, linked((0, 0)), np.array([0.4])).tolist() == [False]


@pytest.mark.parametrize(("left", "is_doubted"), [(1.0, True), (4.0, False)])
def test_a_weak_face_raises_doubt_where_it_lies_nearer_than_the_linked_one(
    left: float, is_doubted: bool
) -> None:
    tracks, faces = boxes((0, 0)), boxes((3, 0), (left, 0))
    clear = np.array([True, False])
    found = exchangeable(price(tracks, faces), linked((0, 0)), np.array([True]), clear)
    assert found.tolist() == [is_doubted]


def told(alike: list[list[float]], fresh: list[bool]) -> Looks:
    return Looks(np.array(alike), np.array(fresh))


FRESH = [True, True]


@pytest.mark.parametrize(
    ("looks", "is_doubted"),
    [
        (told([[0.95, 0.4], [0.4, 0.95]], FRESH), False),
        (told([[0.95, 0.4], [np.nan, np.nan]], FRESH), False),
        (told([[0.95, 0.93], [0.93, 0.95]], FRESH), True),
        (told([[0.85, 0.4], [0.4, 0.85]], FRESH), True),
        (told([[0.85, 0.1], [0.1, 0.85]], FRESH), False),
        (told([[0.75, -0.2], [-0.2, 0.75]], FRESH), True),
        (told([[0.95, 0.4], [0.4, 0.95]], [False, False]), True),
        (told([[0.4, 0.95], [0.95, 0.4]], FRESH), True),
        (Looks.unknown(2, 2), True),
    ],
    ids=[
        *("both", "one", "twins", "not sure", "turned", "too far turned", "long ago", "exchanged"),
        "unknown",
    ],
)
def test_two_tracks_on_one_spot_that_look_as_they_did_were_not_exchanged(
    looks: Looks, is_doubted: bool
) -> None:
    close = boxes((0, 0), (4, 0))
    clear = np.ones(2, dtype=bool)
    found = exchangeable(price(close, close), linked((0, 0), (1, 1)), SURE, clear, looks)
    assert found.tolist() == [is_doubted, is_doubted]


@pytest.mark.parametrize(
    ("looks", "is_doubted"),
    [
        (told([[0.95], [0.3]], [True, False]), False),
        (told([[0.95], [np.nan]], [True, False]), True),
        (told([[0.95], [0.9]], [True, False]), True),
        (told([[0.6], [0.3]], [True, False]), True),
        (told([[0.3], [0.95]], [True, False]), True),
    ],
    ids=["own", "rival not known", "twins", "not sure", "the planted exchange"],
)
def test_a_face_that_looks_as_its_own_track_is_not_taken_for_a_hidden_ones(
    looks: Looks, is_doubted: bool
) -> None:
    tracks, faces = boxes((0, 0), (4, 0)), boxes((1, 0))
    clear = np.ones(1, dtype=bool)
    found = exchangeable(price(tracks, faces), linked((0, 0)), SURE, clear, looks)
    assert found.tolist() == [is_doubted, is_doubted]


@pytest.mark.parametrize(("other", "is_doubted"), [(0.3, False), (0.93, True), (np.nan, True)])
def test_a_second_face_that_looks_otherwise_raises_no_doubt(other: float, is_doubted: bool) -> None:
    looks = told([[0.95, other]], [True])
    tracks, faces, clear = boxes((0, 0)), boxes((3, 0), (-4, 0)), np.ones(2, dtype=bool)
    found = exchangeable(price(tracks, faces), linked((0, 0)), np.array([True]), clear, looks)
    assert found.tolist() == [is_doubted]
