"""Detail around a face is the surrogate's and the camera's, and never the picture's."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.hair_detail import add_detail
from engines.painted_head import MIDDLING, Head
from engines.patches import Finish, Patch, Placed

pytestmark = pytest.mark.unit

SIDE, PIXELS = 128, 3
HEAD = Head(34.0, 64.0, 58.0, 64.0, 24.0, 0.0)
PLACE = np.array([[1 / PIXELS, 0, 0], [0, 1 / PIXELS, 0]], np.float32)
EVERYWHERE = np.full((SIDE, SIDE), 8, np.float32)
NOWHERE = np.zeros((SIDE, SIDE), np.float32)

Float32 = NDArray[np.float32]


def added(locks: Float32, finish: Finish | None = None, level: float = 120) -> Float32:
    """What was added to an even picture."""
    layer = np.full((SIDE * PIXELS, SIDE * PIXELS, 4), level, np.float32)
    layer[..., 3] = 0.5
    placed = Placed(0, 0, layer)
    pixels = np.zeros((80, 80, 3), np.float32)
    patch = Patch(
        pixels, pixels[..., 0], np.eye(2, 3, dtype=np.float32), head=MIDDLING, finish=finish
    )
    add_detail(placed, HEAD, patch, locks, PLACE)
    assert (placed.alpha == 0.5).all()
    return np.asarray(placed.pixels[..., 0] - level, np.float32)


def test_hair_gets_strands_and_all_else_stays() -> None:
    upper = EVERYWHERE.copy()
    upper[64:] = 0
    drawn = added(upper)
    assert drawn[: 62 * PIXELS].std() > 2
    assert np.abs(drawn[66 * PIXELS :]).max() == 0
    assert np.abs(added(NOWHERE)).max() == 0


def test_strands_are_the_same_whatever_the_picture_shows() -> None:
    """The planted fault would be strands read off the picture."""
    assert np.allclose(added(EVERYWHERE, level=90), added(EVERYWHERE, level=160), atol=1e-3)


def test_strands_are_as_soft_as_the_face() -> None:
    sharp, soft = (added(EVERYWHERE, Finish(blur, 0, (0, 0))) for blur in (0.0, 2 / 80))
    assert soft.std() < 0.6 * sharp.std()


def test_grain_is_the_faces() -> None:
    noisy, again, other = (added(NOWHERE, Finish(0, 4.0, (1, seed))) for seed in (1, 1, 2))
    assert 3.5 < noisy.std() < 4.5
    assert (noisy == again).all()
    assert np.abs(np.corrcoef(noisy.ravel(), other.ravel())[0, 1]) < 0.05


@pytest.mark.parametrize("level", [0, 255])
def test_levels_stay_in_range(level: int) -> None:
    drawn = added(EVERYWHERE, Finish(0, 9.0, (1, 1)), level) + level
    assert drawn.min() >= 0
    assert drawn.max() <= 255
