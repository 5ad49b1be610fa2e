"""The map of outlines finds again what outlines were moved by."""

from __future__ import annotations

import numpy as np
import pytest

from engines.stylegan.outline import levelled_points
from engines.stylegan.pack import bundled_pack
from engines.stylegan.shape import load_shape_model
from engines.stylegan.topology import CHEEKS, MESH_INDEX, MESH_POINTS, OVAL_SLICE, POINTS
from training.outline import error_of, fitted, fitted_cheeks

pytestmark = pytest.mark.unit


def test_fitted_map_finds_again_what_outlines_are_off_by() -> None:
    random = np.random.default_rng(7)
    shape = load_shape_model(bundled_pack() / "shape.npz")
    moves = random.normal(0, 0.3, (300, len(shape.expression))).astype(np.float32)
    points = np.zeros((300, POINTS, 3), np.float32)
    flat = shape.mean.reshape(-1) + moves @ shape.expression
    points[:, :MESH_POINTS] = 40 * flat.reshape(300, MESH_POINTS, 3) + 100
    points[:, MESH_POINTS:] = points[:, :2]
    level, turn = levelled_points(points)
    off = np.zeros((300, OVAL_SLICE.stop - OVAL_SLICE.start, 2), np.float32)
    off[..., 1] = 0.1 + 0.3 * (level[:, 80, 1] - level[:, 80, 1].mean())[:, None]
    wanted = points[:, OVAL_SLICE, :2] + off @ turn
    model = fitted(points[:200], wanted[:200], np.zeros((0, MESH_POINTS), np.float32))
    before, high = error_of(points[200:, OVAL_SLICE, :2], wanted[200:], points[200:])
    after, left = error_of(model.of_points(points[200:]), wanted[200:], points[200:])
    assert high < -0.05
    assert abs(left) < 0.02
    assert after < 0.3 * before


def test_fitted_cheeks_are_found_again_however_a_face_is_turned() -> None:
    random = np.random.default_rng(3)
    meshes = np.zeros((400, 468, 3), np.float32)
    basis = random.normal(0, 1, (6, 468, 3)).astype(np.float32)
    meshes += np.tensordot(random.normal(0, 1, (400, 6)).astype(np.float32), basis, axes=1)
    weights = fitted_cheeks(meshes[:300])
    yaw = 0.5
    turn = np.array([[np.cos(yaw), 0, np.sin(yaw)], [0, 1, 0], [-np.sin(yaw), 0, np.cos(yaw)]])
    turned = meshes[300:] @ turn.T + np.array([3.0, -2.0, 1.0])
    off = weights @ turned[:, MESH_INDEX] - turned[:, CHEEKS]
    assert np.abs(off).mean() < 0.05 * np.abs(meshes).mean()
