"""Ranking, verification and the permuted chance floor."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.metrics.permutation import chance_floor
from evaluation.metrics.ranking import ranking_from_scores, true_ranks
from evaluation.metrics.verification import (
    area_under_curve,
    threshold_at_fmr,
    verification_from_scores,
)

pytestmark = pytest.mark.unit

PEOPLE = np.arange(40)


def test_certain_scores_give_rank_one_for_all() -> None:
    ranking = ranking_from_scores(np.eye(40, dtype=np.float32), PEOPLE, PEOPLE)
    assert ranking.rank_1.rate == 1.0
    assert ranking.cmc[0] == ranking.cmc[-1] == 1.0
    assert ranking.mean_rank_over_chance == pytest.approx(2 / 41)


def test_equal_scores_are_guesses_and_not_hits() -> None:
    many = np.tile(PEOPLE, 50)
    ranking = ranking_from_scores(np.zeros((2000, 40), np.float32), many, PEOPLE)
    assert ranking.rank_1.rate == pytest.approx(1 / 40, abs=0.01)
    assert ranking.mean_rank_over_chance == pytest.approx(1, abs=0.05)


def test_a_person_scores_by_his_best_gallery_picture() -> None:
    scores = np.array([[0.1, 0.9, 0.5]], np.float32)
    assert true_ranks(scores, np.array([3]), np.array([3, 3, 4])).tolist() == [1]


def test_a_probe_without_its_person_in_the_gallery_is_refused() -> None:
    with pytest.raises(ValueError, match="must be in the gallery"):
        true_ranks(np.zeros((1, 2), np.float32), np.array([9]), np.array([0, 1]))


def test_a_threshold_lets_no_more_than_its_rate_pass() -> None:
    impostor = np.random.default_rng(0).normal(size=50_000).astype(np.float32)
    threshold = threshold_at_fmr(impostor, 1e-3)
    assert (impostor > threshold.value).mean() <= 1e-3
    assert threshold.impostor_pairs == 50_000


def test_too_few_impostors_cannot_fix_a_threshold() -> None:
    with pytest.raises(ValueError, match="add people"):
        threshold_at_fmr(np.zeros(500, np.float32), 1e-3)


def test_noise_verifies_nobody_and_has_an_area_of_one_half() -> None:
    scores = np.random.default_rng(1).normal(size=(40, 40)).astype(np.float32)
    checked = verification_from_scores(scores, PEOPLE, PEOPLE, 3.5)
    assert checked.tar.hits <= 1
    assert checked.auc == pytest.approx(0.5, abs=0.12)
    assert checked.curve[-1].tolist() == [1.0, 1.0]
    assert np.all(np.diff(checked.curve[:, 1]) >= -1e-9)


def test_ties_count_half_of_the_area() -> None:
    same = np.ones(5, np.float32)
    assert area_under_curve(same, same) == 0.5
    assert area_under_curve(np.zeros(0, np.float32), same) == 0.5


def test_shuffled_names_show_the_floor_and_the_truth_stands_out() -> None:
    floor = chance_floor(lambda names: float((names == PEOPLE).mean()), PEOPLE, 1.0)
    assert floor.mean == pytest.approx(1 / 40, abs=0.02)
    assert floor.p_value == pytest.approx(1 / 201)
    assert chance_floor(lambda _: 0.5, PEOPLE, 0.5).p_value == 1.0
