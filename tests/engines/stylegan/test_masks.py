from __future__ import annotations

import numpy as np
import pytest

from engines.stylegan.masks import oval_from_points, share_outside
from tests.engines.stylegan.faces import drawn_face

pytestmark = pytest.mark.unit


def test_points_far_outside_are_drawn_without_error() -> None:
    assert oval_from_points(drawn_face() * 50 - 20, 64).dtype == np.float32


def test_oval_covers_the_face_and_no_corner() -> None:
    oval = oval_from_points(drawn_face(), 64)
    assert oval[32, 32] == 1.0
    assert oval[0, 0] == 0.0


@pytest.mark.parametrize(("shift", "share"), [(0.0, 0.0), (0.5, 0.5), (3.0, 1.0), (1e6, 1.0)])
def test_what_lies_beyond_the_crop_is_told(shift: float, share: float) -> None:
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0.5, 0.5]], np.float32)
    assert share_outside(square + np.array([shift, 0], np.float32)) == pytest.approx(
        share, abs=1e-4
    )
