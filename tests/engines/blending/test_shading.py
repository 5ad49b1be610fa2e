"""Light is told by nine numbers and put on another face; nothing finer comes with it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.blending.shading import egg_normals, harmonics, shading_between

pytestmark = pytest.mark.unit

Float32 = NDArray[np.float32]
SIDE = 48
SKIN = np.array([110, 130, 180], np.float32)
EVERYWHERE = np.ones((SIDE, SIDE), np.float32)


def under_lamp(towards: tuple[float, float, float], ambient: float = 0.4) -> Float32:
    """A matt egg of one colour under a lamp, float32[SIDE, SIDE, 3]."""
    lamp = np.array(towards, np.float32) / np.float32(np.linalg.norm(towards))
    shade = ambient + (1 - ambient) * np.maximum(egg_normals(SIDE) @ lamp, 0)
    return np.asarray(shade[..., None] * SKIN, np.float32)


def test_harmonics_of_a_sphere_are_nine() -> None:
    assert harmonics(egg_normals(8)).shape == (8, 8, 9)


@pytest.mark.parametrize("lamp", [(1, 0, -1), (-1, 0, -0.5), (0, -1, -1), (0.5, 0.5, -1)])
def test_a_face_in_even_light_is_lit_as_the_head(lamp: tuple[float, float, float]) -> None:
    """A lamp from the side leaves a shadow with an edge that no slope follows."""
    head, even = under_lamp(lamp), EVERYWHERE[..., None] * SKIN
    made = even * shading_between(even, head, egg_normals(SIDE), EVERYWHERE)
    left = np.abs(made - head).mean()
    assert left < 6
    assert left < np.abs(even * (head.mean() / even.mean()) - head).mean() / 3


def test_light_of_another_hue_is_followed() -> None:
    warm, even = under_lamp((1, 0, -1)), EVERYWHERE[..., None] * SKIN
    warm[..., 0] *= 0.8
    made = even * shading_between(even, warm, egg_normals(SIDE), EVERYWHERE)
    assert np.abs((made[..., 0] / made[..., 2]).mean() / 0.8 - SKIN[0] / SKIN[2]) < 0.02


def test_redder_chin_is_followed_about_half_way() -> None:
    """Else chins stay as grey as a surrogate's beside ruddy necks."""
    head, even = under_lamp((0, 0, -1)), EVERYWHERE[..., None] * SKIN
    chin = np.zeros((SIDE, SIDE), np.float32)
    chin[36:, 16:32] = 1
    head[..., 2] *= 1 + 0.1 * chin
    with_chin = even * shading_between(even, head, egg_normals(SIDE), EVERYWHERE, chin[..., None])
    without = even * shading_between(even, head, egg_normals(SIDE), EVERYWHERE)
    redness = [
        float((one[40, 24] @ (-1, 0, 1)) / one[40, 24].sum()) for one in (head, with_chin, without)
    ]
    assert redness[0] - redness[2] > 0.01
    assert redness[1] - redness[2] > 0.4 * (redness[0] - redness[2])


def test_what_lies_across_the_face_is_no_light() -> None:
    """The planted fault: dark glasses of the subject darken the painted face."""
    head, even = under_lamp((0, 0, -1)), EVERYWHERE[..., None] * SKIN
    bare = shading_between(even, head, egg_normals(SIDE), EVERYWHERE)
    head[14:22] = 15
    worn = shading_between(even, head, egg_normals(SIDE), EVERYWHERE)
    assert np.abs(worn / bare - 1)[24:].max() < 0.06


def test_gain_is_bounded_in_the_dark() -> None:
    black, even = np.zeros((SIDE, SIDE, 3), np.float32), EVERYWHERE[..., None] * SKIN
    there = shading_between(even, black, egg_normals(SIDE), EVERYWHERE)
    back = shading_between(black, even, egg_normals(SIDE), EVERYWHERE)
    assert there.min() > 0.3
    assert back.max() < 2.5
    assert np.isfinite(there).all()
    assert np.isfinite(back).all()


def test_what_was_painted_darker_than_black_is_black() -> None:
    """Cubic interpolation overshoots at dark edges."""
    head, painted = under_lamp((0, 0, -1)), EVERYWHERE[..., None] * SKIN
    painted[20:24] = -20
    assert np.isfinite(shading_between(painted, head, egg_normals(SIDE), EVERYWHERE)).all()
