from __future__ import annotations

import numpy as np
import pytest

from training.donors import PSI, age_band, axes, balanced, draw_codes, fit_classifier

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("age", "band"), [("1", "child"), ("13", "young"), ("54.9", "adult"), ("90", "old"), ("", "")]
)
def test_age_gives_its_band(age: str, band: str) -> None:
    assert age_band(age) == band


def test_axes_are_orthonormal() -> None:
    found = axes(512, 144)
    assert np.allclose(found.T @ found, np.eye(144), atol=1e-5)


def test_drawn_codes_keep_the_covariance_and_no_outlier() -> None:
    codes = draw_codes(np.eye(144, dtype=np.float32), 4000, 1)
    assert np.linalg.norm(codes, axis=1).max() < 1.06 * 12 * PSI
    assert 0.9 < codes.std() < 1.4


def test_rare_bins_are_taken_first() -> None:
    bins = [{"gender": "female"}] * 90 + [{"gender": "male"}] * 10
    chosen = balanced(bins, 20)
    assert (chosen >= 90).sum() == 10


def test_separable_bins_are_learnt() -> None:
    random = np.random.default_rng(0)
    codes = random.standard_normal((400, 8)).astype(np.float32)
    labels = np.where(codes[:, 0] > 0, "a", "b")
    weights = fit_classifier(codes, labels, ("a", "b"))
    guess = np.array(["a", "b"])[(codes @ weights[:-1] + weights[-1]).argmax(axis=1)]
    assert (guess == labels).mean() > 0.95
