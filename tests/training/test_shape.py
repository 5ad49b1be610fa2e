from __future__ import annotations

import numpy as np
import pytest

from engines.stylegan.shape import mouth_gap
from engines.stylegan.topology import LIPS_INNER_SLICE, LIPS_OUTER_SLICE, MESH_POINTS, OVAL_SLICE
from tests.engines.stylegan.faces import canonical_mean
from training.shape import opening_direction

pytestmark = pytest.mark.unit


def test_opening_moves_lips_only_and_by_one() -> None:
    """People whose lips part, who smile and who have other chins."""
    random, mean = np.random.default_rng(0), canonical_mean()
    shapes = np.repeat(mean[None], 300, axis=0)
    parted, smile = random.uniform(0, 0.3, 300), random.uniform(-0.1, 0.1, 300)
    lower = slice(LIPS_INNER_SLICE.start + 1, LIPS_INNER_SLICE.start + 10)
    shapes[:, lower, 1] += parted[:, None]
    for lips in (LIPS_INNER_SLICE, LIPS_OUTER_SLICE):
        shapes[:, lips, 0] *= 1 + smile[:, None]
    shapes[:, OVAL_SLICE, 1] *= 1 + 0.2 * parted[:, None]
    found = opening_direction(shapes.astype(np.float32), mean).reshape(1, MESH_POINTS, 3)
    assert mouth_gap(found)[0] == pytest.approx(1.0, abs=1e-4)
    assert not found[:, OVAL_SLICE].any()
    assert found[0, lower, 1].min() > 0.9
    assert np.abs(found[0, LIPS_OUTER_SLICE]).max() < 0.1
