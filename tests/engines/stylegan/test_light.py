from __future__ import annotations

import numpy as np
import pytest

from engines.stylegan.light import field_from_light, light_from_picture

pytestmark = pytest.mark.unit


def test_surroundings_do_not_colour_the_face() -> None:
    inside = np.zeros((32, 32), np.float32)
    inside[8:24, 8:24] = 1
    picture = np.where(inside[..., None] > 0, 0.5, -1.0).astype(np.float32)
    light = light_from_picture(picture, inside)
    assert np.allclose(light[0], 0.5, atol=1e-3)
    assert np.allclose(light[1], -1.0, atol=1e-3)


def test_field_restores_flat_colours() -> None:
    inside = np.zeros((16, 16), np.float32)
    inside[4:12, 4:12] = 1
    picture = np.where(inside[..., None] > 0, 0.25, -0.5).astype(np.float32)
    field = field_from_light(light_from_picture(picture, inside), inside)
    assert np.allclose(field, picture, atol=0.02)


def test_empty_face_gives_finite_light() -> None:
    light = light_from_picture(np.ones((8, 8, 3), np.float32), np.zeros((8, 8), np.float32))
    assert np.isfinite(light).all()
