from __future__ import annotations

import numpy as np
import pytest

from training.people import is_clean, looks_of

pytestmark = pytest.mark.unit


def test_shadowed_side_and_hair_are_not_clean() -> None:
    luma = np.random.default_rng(0).normal(0, 0.02, (40, 128, 128)).astype(np.float32)
    luma[0, 8:32, 40:60] = 0.9
    luma[1, 32:96, 32:64] = 0.8
    looks = looks_of(luma)
    assert not is_clean(looks, (0.9, 0.9))[:2].any()
    assert is_clean(looks, (0.9, 0.9)).sum() >= 30
