"""The filter is calm at rest and quick on the way."""

from __future__ import annotations

import numpy as np
import pytest

from tracker.one_euro import OneEuro

pytestmark = pytest.mark.unit

STEP_S = 1 / 30


def test_noise_at_rest_is_smoothed() -> None:
    random = np.random.default_rng(0)
    noise = random.normal(0, 0.002, (200, 5, 2)).astype(np.float32)
    smooth = OneEuro()
    calm = np.stack([smooth(row, place * STEP_S) for place, row in enumerate(noise)])
    assert np.diff(calm[20:], axis=0).std() < 0.5 * np.diff(noise[20:], axis=0).std()


def test_fast_motion_is_not_trailed() -> None:
    smooth = OneEuro()
    speed = 5.0
    lag = 0.0
    for place in range(60):
        wanted = np.full((4, 2), speed * place * STEP_S, np.float32)
        lag = float(np.abs(smooth(wanted, place * STEP_S) - wanted).max())
    assert lag < 0.35 * speed * STEP_S


def test_a_fast_row_does_not_hurry_a_still_one() -> None:
    random = np.random.default_rng(1)
    alone, beside = OneEuro(), OneEuro()
    for place in range(50):
        noise = random.normal(0, 0.01, (1, 2)).astype(np.float32)
        fast = np.full((1, 2), 3.0 * place * STEP_S, np.float32)
        first = alone(noise, place * STEP_S)
        second = beside(np.concatenate([noise, fast]), place * STEP_S)
        assert np.allclose(first[0], second[0], atol=1e-6)


def test_time_that_stands_still_passes_the_value() -> None:
    smooth = OneEuro()
    smooth(np.zeros(2, np.float32), 1.0)
    assert smooth(np.ones(2, np.float32), 1.0).tolist() == [1.0, 1.0]


def test_forgetting_begins_anew() -> None:
    smooth = OneEuro(beta=0.0)
    smooth(np.zeros(2, np.float32), 0.0)
    smooth.forget()
    assert smooth(np.ones(2, np.float32), STEP_S).tolist() == [1.0, 1.0]
