"""People are made of parts, every part of two people."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from training.mixtures import mixtures

pytestmark = pytest.mark.unit

CODE = 40
HALF = np.arange(CODE) < CODE // 2
PARTS = np.stack([np.diag(HALF), np.diag(~HALF)]).astype(np.float32)

Float32 = npt.NDArray[np.float32]


def people(count: int = 500) -> Float32:
    return np.random.default_rng(0).standard_normal((count, CODE)).astype(np.float32)


def test_people_made_are_as_spread_as_people() -> None:
    made = mixtures(people(), PARTS, 2000, 1)
    assert made.std() == pytest.approx(1.0, rel=0.05)
    assert np.array_equal(made, mixtures(people(), PARTS, 2000, 1))
    assert not np.allclose(made, mixtures(people(), PARTS, 2000, 2))


def test_parts_come_from_different_people_and_no_part_from_one() -> None:
    lenders = np.eye(CODE, dtype=np.float32) @ np.ones((CODE, CODE), np.float32)
    lenders *= np.arange(1, CODE + 1, dtype=np.float32)[:, None]
    made = mixtures(lenders, PARTS, 500, 3)
    assert (np.abs(made[:, 0] - made[:, -1]) > 1e-3).mean() > 0.9
    own = np.abs(made[:, :1] - lenders[None, :, 0]).min(axis=1)
    assert (own > 1e-4).mean() > 0.9
