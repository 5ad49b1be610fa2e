from __future__ import annotations

import numpy as np
import pytest

from engines.stylegan.control import control_map_from_points, oval_from_points
from engines.stylegan.sizes import MAP_SIZE
from tests.engines.stylegan.faces import drawn_face

pytestmark = pytest.mark.unit


def test_every_part_is_drawn_where_it_lies() -> None:
    drawn = control_map_from_points(drawn_face())
    assert (drawn.max(axis=(0, 1)) > 150).all()
    eye = (int(0.37 * MAP_SIZE), int(0.30 * MAP_SIZE))
    assert drawn[eye][2] > 150
    assert drawn[eye][3] > 150
    assert drawn[0, 0, 0] == 0


def test_moved_pupil_moves_in_the_map() -> None:
    face = drawn_face()
    face[-2, 0] += 0.04
    before, after = control_map_from_points(drawn_face()), control_map_from_points(face)
    assert not np.array_equal(before[..., 3], after[..., 3])
    assert np.array_equal(before[..., 2], after[..., 2])


def test_points_far_outside_are_drawn_without_error() -> None:
    drawn = control_map_from_points(drawn_face() * 50 - 20)
    assert drawn.dtype == np.uint8


def test_oval_covers_the_face_and_no_corner() -> None:
    oval = oval_from_points(drawn_face(), 64)
    assert oval[32, 32] == 1.0
    assert oval[0, 0] == 0.0
