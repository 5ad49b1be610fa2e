"""Two-stage matching of detections to tracks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from engines.detectors.detector import overlaps_of
from tracker.association import Matches, _cheapest, associate, price

pytestmark = pytest.mark.unit


def boxes(*centres: tuple[float, float], size: float = 20.0) -> np.ndarray:
    places = np.array(centres, dtype=np.float64).reshape(-1, 2)
    return np.concatenate([places - size / 2, places + size / 2], axis=1)


def match(
    tracks: np.ndarray,
    faces: np.ndarray,
    scores: list[float] | None = None,
    spread: float = 0.1,
    reach: float = 2.5,
) -> Matches:
    return associate(
        price(tracks, faces),
        np.full(len(tracks), spread),
        np.array(scores if scores is not None else [0.9] * len(faces)),
        high_score=0.5,
        reach_sizes=np.full(len(tracks), reach),
    )


def pairs(matches: Matches) -> set[tuple[int, int]]:
    return set(zip(matches.tracks.tolist(), matches.faces.tolist(), strict=True))


def test_nearest_faces_are_matched_whatever_their_order() -> None:
    found = match(boxes((0, 0), (100, 0), (200, 0)), boxes((201, 0), (1, 0), (99, 0)))
    assert pairs(found) == {(0, 1), (1, 2), (2, 0)}
    assert not found.is_jump.any()


def test_the_sum_counts_and_not_the_greedy_choice() -> None:
    found = match(boxes((0, 0), (10, 0)), boxes((9, 0), (20, 0)), spread=0.3)
    assert pairs(found) == {(0, 0), (1, 1)}


def test_a_strong_face_goes_before_a_nearer_weak_one() -> None:
    found = match(boxes((0, 0)), boxes((1, 0), (5, 0)), [0.3, 0.9])
    assert pairs(found) == {(0, 1)}


def test_a_weak_face_continues_a_track_that_is_left_over() -> None:
    found = match(boxes((0, 0), (100, 0)), boxes((1, 0), (100, 0)), [0.3, 0.9])
    assert pairs(found) == {(0, 0), (1, 1)}


def test_a_small_fast_face_without_overlap_is_matched_when_uncertain() -> None:
    tracks, faces = boxes((0, 0)), boxes((30, 0))
    assert overlaps_of(tracks, faces)[0, 0] == 0.0
    assert not match(tracks, faces, spread=0.6).is_jump.any()
    assert pairs(match(tracks, faces, spread=0.6)) == {(0, 0)}


def test_the_same_distance_is_a_jump_for_a_track_that_was_sure() -> None:
    found = match(boxes((0, 0)), boxes((30, 0)), spread=0.1)
    assert found.is_jump.tolist() == [True]


def test_beyond_reach_nothing_is_matched() -> None:
    assert not pairs(match(boxes((0, 0)), boxes((51, 0)), spread=9.0))


def test_a_face_of_another_size_is_not_matched() -> None:
    assert not pairs(match(boxes((0, 0)), boxes((0, 0), size=60.0), spread=9.0))


@pytest.mark.parametrize(("tracks", "faces"), [(0, 0), (0, 3), (3, 0)])
def test_nothing_on_one_side_matches_nothing(tracks: int, faces: int) -> None:
    some = [(100.0 * place, 0.0) for place in range(3)]
    assert not pairs(match(boxes(*some[:tracks]), boxes(*some[:faces])))


def test_identical_boxes_overlap_fully_and_distant_ones_not_at_all() -> None:
    both = boxes((0, 0), (100, 0))
    assert np.allclose(overlaps_of(both, both), np.eye(2))


def test_unlikeness_is_zero_only_for_the_same_box() -> None:
    one = boxes((0, 0))
    assert price(one, one).unlikeness[0, 0] == 0.0
    assert price(one, boxes((0, 0), size=30.0)).unlikeness[0, 0] > 0.3


@pytest.mark.parametrize("seed", range(60))
def test_assignment_is_as_cheap_as_the_solver_s(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 7, 2))
    usable = rng.random(shape) < rng.choice([0.15, 0.5, 0.9])
    prices = np.where(usable, rng.random(shape), 1e6)
    rows, columns = linear_sum_assignment(prices)
    found = _cheapest(usable, prices)
    kept, wanted = usable[found], usable[rows, columns]
    assert kept.sum() == wanted.sum()
    assert prices[found][kept].sum() == pytest.approx(prices[rows, columns][wanted].sum())
    assert len(set(found[0].tolist())) == len(found[0])
    assert len(set(found[1].tolist())) == len(found[1])


def test_faces_that_do_not_cross_need_no_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(prices: np.ndarray) -> None:
        raise AssertionError("nothing was to be solved")

    monkeypatch.setattr("scipy.optimize.linear_sum_assignment", refuse)
    found = match(boxes((0, 0), (100, 0), (300, 0)), boxes((1, 0), (99, 0)))
    assert pairs(found) == {(0, 0), (1, 1)}
