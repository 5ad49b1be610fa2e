"""Training on a release and testing on originals: a leak of nothing keeps all its use."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from evaluation.downstream import cohens_kappa, downstream_use, gradient_features
from evaluation.labels import Attribute

pytestmark = pytest.mark.unit
pytest.importorskip("sklearn", reason="the extra `evaluate` is not installed")

RANDOM = np.random.default_rng(9)


def striped(values: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Portraits with upright stripes for 0 and lying ones for 1, under noise."""
    wave = (np.sin(np.arange(192) / 3) * 60 + 128)[None, :].repeat(192, axis=0)
    images = np.stack([wave if value == 0 else wave.T for value in values])
    noisy = images[..., None] + RANDOM.normal(0, 25, (*images.shape, 3))
    return np.clip(noisy, 0, 255).astype(np.uint8)


TRAIN, TEST = RANDOM.integers(0, 2, 60), RANDOM.integers(0, 2, 40)
LABELS = [Attribute("stripes", ("upright", "lying"), TRAIN)]
TEST_LABELS = [Attribute("stripes", ("upright", "lying"), TEST)]
TRAINING, FEATURES = gradient_features(striped(TRAIN)), gradient_features(striped(TEST))


def test_untouched_faces_teach_everything() -> None:
    (use,) = downstream_use(TRAINING, LABELS, FEATURES, TEST_LABELS, np.arange(40))
    assert use.balanced > 0.95
    assert use.kappa > 0.9
    assert (use.trained_on, use.accuracy.probes) == (60, 40)


def test_covered_faces_teach_nothing() -> None:
    covered = np.full((60, 192, 192, 3), 128, np.uint8)
    (use,) = downstream_use(
        gradient_features(covered), LABELS, FEATURES, TEST_LABELS, np.arange(40)
    )
    assert use.balanced == pytest.approx(0.5, abs=0.15)
    assert abs(use.kappa) < 0.3


def test_unknown_labels_are_left_out_and_too_few_are_not_judged() -> None:
    known = np.where(np.arange(60) < 15, TRAIN, -1)
    labels = [Attribute("stripes", ("upright", "lying"), known)]
    assert downstream_use(TRAINING, labels, FEATURES, TEST_LABELS, np.arange(40)) == []


def test_agreement_by_luck_counts_nothing() -> None:
    answers, truth = np.zeros(10, np.int64), np.array([0] * 9 + [1])
    assert cohens_kappa(answers, truth, 2) == 0
