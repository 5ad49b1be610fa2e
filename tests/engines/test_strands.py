"""Strands have the strength and the direction of the texture that was there, and not its places."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from engines.strands import MOST_LEVELS, pulled_noise
from engines.strands import strands as strength_and_strands

pytestmark = pytest.mark.unit

SIDE, UNIT = 128, 80.0
EVERYWHERE = np.ones((SIDE, SIDE), np.bool_)

Float32 = NDArray[np.float32]


def hair(seed: int, along: tuple[int, int] = (1, 15), levels: float = 6.0) -> Float32:
    """Grey with locks of a height and a width."""
    random = np.random.default_rng(seed)
    white = random.standard_normal((SIDE, SIDE)).astype(np.float32)
    drawn = cv2.blur(white, along[::-1])
    return np.asarray(110 + levels * drawn / drawn.std(), np.float32)


def strands(luma: Float32, known: NDArray[np.bool_], unit: float) -> Float32:
    strength, drawn = strength_and_strands(luma, known, unit)
    return strength * drawn


def slopes(picture: Float32) -> tuple[float, float]:
    down, across = np.gradient(picture)
    return float(np.abs(down).mean()), float(np.abs(across).mean())


def test_strands_run_as_the_locks_did() -> None:
    down, across = slopes(strands(hair(0, along=(1, 15)), EVERYWHERE, UNIT))
    assert down > 1.5 * across
    down, across = slopes(strands(hair(0, along=(15, 1)), EVERYWHERE, UNIT))
    assert across > 1.5 * down


def test_no_lock_lies_where_one_lay() -> None:
    """The planted fault would be a share of the picture's own detail in what is drawn."""
    found = []
    for seed in range(20):
        picture = hair(seed)
        drawn = strands(picture, EVERYWHERE, UNIT)
        found.append(abs(float(np.corrcoef(drawn.ravel(), picture.ravel())[0, 1])))
    assert np.mean(found) < 0.03
    own = hair(0) - 110
    assert np.corrcoef((own + strands(hair(0), EVERYWHERE, UNIT)).ravel(), own.ravel())[0, 1] > 0.3


def test_stronger_texture_gives_stronger_strands_up_to_a_limit() -> None:
    spread = [
        float(strands(hair(1, levels=levels), EVERYWHERE, UNIT).std()) for levels in (2, 6, 40, 80)
    ]
    assert spread[0] < 0.5 * spread[1]
    assert spread[3] < 1.1 * spread[2]
    assert spread[3] < 3 * MOST_LEVELS


def test_border_of_two_plain_things_is_no_hair() -> None:
    picture = np.full((SIDE, SIDE), 30, np.float32)
    picture[:, SIDE // 2 :] = 220
    assert np.abs(strands(picture, EVERYWHERE, UNIT)).max() < 1.0


def test_unknown_pixels_have_no_part_in_the_strands() -> None:
    known = EVERYWHERE.copy()
    known[40:90, 30:100] = False
    first, second = hair(2), hair(2)
    second[~known] = 255 - second[~known]
    inside = np.zeros_like(known)
    inside[50:80, 45:85] = True
    drawn = [strands(picture, known, UNIT) for picture in (first, second)]
    assert np.abs(drawn[0][inside] - drawn[1][inside]).max() < 1.0


@pytest.mark.parametrize("side", [64, 80, 128])
def test_nothing_known_draws_nothing(side: int) -> None:
    drawn = strands(hair(3)[:side, :side], np.zeros((side, side), np.bool_), side / 1.65)
    assert np.array_equal(drawn, np.zeros((side, side), np.float32))


def test_another_offset_is_another_head_of_hair() -> None:
    across, down = np.zeros((SIDE, SIDE), np.float32), np.ones((SIDE, SIDE), np.float32)
    first, second = (pulled_noise(across, down, offset) for offset in ((0, 0), (40, 70)))
    assert abs(float(np.corrcoef(first.ravel(), second.ravel())[0, 1])) < 0.1
    for drawn in (first, second):
        assert abs(float(drawn.mean())) < 0.2
        assert abs(float(drawn.std()) - 1) < 0.01
