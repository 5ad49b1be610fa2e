from __future__ import annotations

import numpy as np
import pytest

from training.attributes import age_band, fit_classifier

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("age", "band"), [("1", "child"), ("13", "young"), ("54.9", "adult"), ("90", "old"), ("", "")]
)
def test_age_gives_its_band(age: str, band: str) -> None:
    assert age_band(age) == band


def test_separable_bins_are_learnt() -> None:
    random = np.random.default_rng(0)
    codes = random.standard_normal((400, 8)).astype(np.float32)
    labels = np.where(codes[:, 0] > 0, "a", "b")
    weights = fit_classifier(codes, labels, ("a", "b"))
    guess = np.array(["a", "b"])[(codes @ weights[:-1] + weights[-1]).argmax(axis=1)]
    assert (guess == labels).mean() > 0.95
