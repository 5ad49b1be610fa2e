from __future__ import annotations

import numpy as np
import pytest

from training.prepare import holdout_from_names, pupil_from_eye

pytestmark = pytest.mark.unit


def test_holdout_does_not_depend_on_the_others() -> None:
    names = [f"{i:06d}.webp" for i in range(100)]
    chosen = holdout_from_names(names, 20)
    again = holdout_from_names(names[::-1], 20)[::-1]
    assert chosen.sum() == 20
    assert np.array_equal(chosen, again)


def test_dark_spot_is_the_pupil() -> None:
    crop = np.full((128, 128, 3), 200, np.uint8)
    crop[44:50, 44:50] = 10
    angle = np.linspace(0, 2 * np.pi, 16, endpoint=False)
    eye = np.stack([0.34 + 0.08 * np.cos(angle), 0.37 + 0.04 * np.sin(angle), 0 * angle], axis=1)
    found = pupil_from_eye(crop, eye.astype(np.float32))
    assert np.abs(found[:2] - 47 / 128).max() < 0.01


def test_closed_eye_gives_its_middle() -> None:
    eye = np.full((16, 3), 0.4, np.float32)
    assert np.allclose(pupil_from_eye(np.zeros((128, 128, 3), np.uint8), eye), 0.4)
