"""Normals of the mean face, on the texture and on turned heads."""

import numpy as np
import pytest
from scipy.interpolate import RBFInterpolator

from engines.stylegan import facing
from engines.stylegan.facing import facing_of, normals_of_texture
from engines.stylegan.sizes import UV_SIZE
from engines.stylegan.topology import MESH_POINTS
from tests.engines.stylegan.faces import shape_model, texture_frame

pytestmark = pytest.mark.unit


def bowl() -> np.ndarray:
    """Normals of a face whose rim lies behind its middle."""
    shape, frame = shape_model(), texture_frame()
    mean = shape.mean.copy()
    mean[:, 2] = np.square(mean[:, :2]).sum(axis=1) / 2
    return normals_of_texture(frame.points, mean)


def test_sides_of_a_face_look_aside_and_its_middle_at_the_camera() -> None:
    normals, middle = bowl(), UV_SIZE // 2
    assert np.allclose(np.linalg.norm(normals, axis=-1), 1, atol=1e-4)
    assert normals[middle, 20, 0] < -0.2 < 0.2 < normals[middle, -20, 0]
    assert (normals[..., 2] < 0).all()


def test_normals_turn_with_the_head() -> None:
    turn = np.float32(np.pi / 6)
    rotation = np.array(
        [[np.cos(turn), 0, np.sin(turn)], [0, 1, 0], [-np.sin(turn), 0, np.cos(turn)]], np.float32
    )
    step = ((np.arange(16) + 0.5) / 16).astype(np.float32)
    uv = np.stack(np.meshgrid(step, step), axis=-1)[None]
    straight, turned = (
        facing_of(bowl(), uv, one[None]) for one in (np.eye(3, dtype=np.float32), rotation)
    )
    assert np.allclose(turned, straight @ rotation.T, atol=1e-5)
    assert turned[0, 8, 8, 0] < straight[0, 8, 8, 0]


def test_surface_is_the_spline_of_scipy() -> None:
    random = np.random.default_rng(0)
    points = random.random((MESH_POINTS, 2)).astype(np.float32)
    heights = random.random(MESH_POINTS).astype(np.float32)
    places = random.random((50, 2))
    theirs = RBFInterpolator(points, heights, smoothing=facing._SMOOTH)(places)
    assert np.allclose(facing._spline_through(points, heights, places), theirs, atol=1e-6)
