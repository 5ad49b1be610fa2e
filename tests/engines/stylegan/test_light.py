from __future__ import annotations

import numpy as np
import pytest

from engines.stylegan.light import (
    bare_face,
    field_from_light,
    in_hue_of_light,
    levelled,
    light_from_picture,
    under_light,
)

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


def test_a_dark_room_does_not_shade_the_sides_of_a_painted_face() -> None:
    inside = np.zeros((16, 16), np.float32)
    inside[4:12, 4:12] = 1
    inside[3:13, 3:13] = np.maximum(inside[3:13, 3:13], 0.5)
    light = np.full((2, 4, 4, 3), 0.25, np.float32)
    light[1] = -1
    assert np.allclose(under_light(np.zeros((16, 16, 3), np.float32), light, inside), 0.25)


@pytest.mark.parametrize(
    ("lamp", "blue_left"), [((64, 90, 161), (0.6, 0.85)), ((160, 130, 110), (1.0, 1.0))]
)
def test_little_blue_in_the_light_leaves_little_in_lips_and_shine(
    lamp: tuple[int, int, int], blue_left: tuple[float, float]
) -> None:
    light = np.zeros((2, 4, 4, 3), np.float32) + np.array(lamp, np.float32) / 127.5 - 1
    shine = np.full((4, 4, 3), 0.2, np.float32)
    seen = in_hue_of_light(shine, light)[0, 0] / 0.2
    assert blue_left[0] - 1e-6 <= seen[0] <= blue_left[1] + 1e-6
    assert (seen <= 1 + 1e-6).all()


def test_empty_face_gives_finite_light() -> None:
    light = light_from_picture(np.ones((8, 8, 3), np.float32), np.zeros((8, 8), np.float32))
    assert np.isfinite(light).all()


def test_fringe_does_not_darken_the_face() -> None:
    """Hair down to the brows leaves the light of the skin below it; a lamp's shade does not."""
    inside = np.ones((64, 64), np.float32)
    skin = np.array([-0.1, 0.1, 0.4], np.float32)
    picture = np.broadcast_to(skin, (64, 64, 3)).copy()
    picture[:20] = [-0.8, -0.7, -0.6]
    fringe = levelled(light_from_picture(picture, inside, bare_face(picture, inside, 0.33)))
    assert np.abs(fringe[0] - skin).max() < 0.05
    assert np.abs(levelled(light_from_picture(picture, inside))[0] - skin).max() > 0.3

    picture[:] = skin - 0.25 * np.linspace(0.5, -0.5, 64, dtype=np.float32)[:, None, None]
    shaded = levelled(light_from_picture(picture, inside, bare_face(picture, inside, 0.33)))
    assert np.abs(shaded[0, 0] - shaded[0, 3]).min() > 0.12
