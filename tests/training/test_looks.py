"""What is wrong with a texture is told, each thing by its own number."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from engines.stylegan.pack import bundled_pack
from engines.stylegan.warp import load_texture_frame
from training.looks import FLAWS, Critic, best

pytestmark = pytest.mark.unit

SIZE = 128
GEOMETRY = bundled_pack() / "shape.npz"
UNUSUAL, SIDES, EYES, SPECKS = range(FLAWS)

Float32 = npt.NDArray[np.float32]


def flaws(texture: Float32) -> Float32:
    usual = np.random.default_rng(1).normal(0, 0.1, (30, 3, 1, 1)).astype(np.float32)
    usual = np.broadcast_to(usual, (30, 3, SIZE, SIZE))
    return Critic(load_texture_frame(GEOMETRY), usual).flaws(texture)


def plain() -> Float32:
    return np.zeros((3, SIZE, SIZE), np.float32)


def test_a_black_patch_is_unusual() -> None:
    texture = plain()
    texture[:, 60:90, 20:108] -= 1.5
    assert flaws(texture)[UNUSUAL] > flaws(plain())[UNUSUAL] + 0.2


def test_one_dark_side_and_one_dark_eye_are_told() -> None:
    side, eye = plain(), plain()
    side[:, 60:120, : SIZE // 2] -= 0.5
    eye[:, 40:58, 20:58] -= 0.5
    assert flaws(plain())[SIDES] < 0.01
    assert flaws(side)[SIDES] > 0.1
    assert flaws(eye)[EYES] > 0.3 > flaws(side)[EYES]


def test_specks_are_told() -> None:
    specks = 0.3 * np.random.default_rng(3).choice([-1, 1], (SIZE, SIZE)).astype(np.float32)
    assert flaws(plain() + specks)[SPECKS] > 0.1 > flaws(plain())[SPECKS]


def test_a_single_great_flaw_excludes() -> None:
    found = np.random.default_rng(4).random((100, FLAWS)).astype(np.float32)
    found[7] = (0, 0, 0, 9)
    assert 7 not in best(found, 100)
    assert len(best(found, 10)) == 10
