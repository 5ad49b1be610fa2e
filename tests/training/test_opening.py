"""A jaw that drops takes along what hangs on it, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from engines.stylegan.shape import mouth_gap
from engines.stylegan.topology import (
    EYE_LEFT_SLICE,
    EYE_RIGHT_SLICE,
    LIPS_INNER_SLICE,
    LIPS_OUTER_SLICE,
    MESH_INDEX,
    NOSE_BASE_SLICE,
    OVAL_SLICE,
)
from tests.training.test_turning import drawn_mesh
from training.opening import opened

pytestmark = pytest.mark.unit


def test_lips_part_by_what_was_asked_for_and_the_chin_goes_with_them() -> None:
    mesh = drawn_mesh()
    wide = opened(mesh, 0.5)
    eyes = [mesh[MESH_INDEX][part, :2].mean(axis=0) for part in (EYE_LEFT_SLICE, EYE_RIGHT_SLICE)]
    drop = 0.5 * float(np.hypot(*(eyes[1] - eyes[0])))
    before, after = (float(mouth_gap(one[None, MESH_INDEX])[0]) for one in (mesh, wide))
    assert after - before == pytest.approx(drop, rel=0.15)
    chin = [float(one[MESH_INDEX][OVAL_SLICE, 1].max()) for one in (mesh, wide)]
    assert chin[1] - chin[0] == pytest.approx(drop, rel=0.05)


def test_eyes_nose_and_upper_lip_stay() -> None:
    mesh = drawn_mesh()
    moved = np.abs(opened(mesh, 0.5) - mesh).max(axis=1)[MESH_INDEX]
    upper = np.r_[LIPS_INNER_SLICE][13:18]
    for part in (EYE_LEFT_SLICE, EYE_RIGHT_SLICE, NOSE_BASE_SLICE, upper):
        assert moved[part].max() < 0.01


def test_lower_lip_keeps_its_thickness() -> None:
    mesh = drawn_mesh()
    inner, outer = (np.r_[part][5] for part in (LIPS_INNER_SLICE, LIPS_OUTER_SLICE))
    thick = [
        one[MESH_INDEX][outer, 1] - one[MESH_INDEX][inner, 1] for one in (mesh, opened(mesh, 0.5))
    ]
    assert thick[1] == pytest.approx(thick[0], abs=0.01)


def test_shut_mouth_stays_as_it_is() -> None:
    mesh = drawn_mesh()
    assert np.array_equal(opened(mesh, 0.0), mesh)
