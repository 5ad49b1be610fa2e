"""Strands lie on a head and move with it; finer ones lie on heads that show them."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from engines.combed_hair import Combing, combing_of, fine_strands_on, strands_on
from engines.painted_head import Head

pytestmark = pytest.mark.unit

SIDE = 128
FRINGE = Combing(0.9, 0.5, 0.5)
HEAD = Head(34.0, 64.0, 58.0, 64.0, 24.0, 0.0)

Float32 = NDArray[np.float32]


def moved_head(across: float, down: float) -> Head:
    return Head(34.0 + down, 64.0, 58.0 + down, 64.0 + across, 24.0, 0.0)


def placed(pixels: float) -> Float32:
    """Map to the coarse crop from a window with so many pixels per one of the crop."""
    return np.array([[1 / pixels, 0, 0], [0, 1 / pixels, 0]], np.float32)


def fine(pixels: float, combing: Combing = FRINGE) -> Float32 | None:
    side = round(SIDE * pixels)
    return fine_strands_on(HEAD, combing, placed(pixels), (side, side))


def test_strands_move_with_the_head() -> None:
    still, moved = (strands_on(head, FRINGE, SIDE) for head in (HEAD, moved_head(6, -4)))
    assert np.allclose(still[20:80, 20:100], moved[16:76, 26:106], atol=1e-4)
    assert not np.allclose(still[20:80, 20:100], moved[20:80, 20:100], atol=0.5)


def test_strands_have_mean_nought_and_deviation_one() -> None:
    drawn = strands_on(HEAD, FRINGE, SIDE)
    assert drawn.shape == (SIDE, SIDE)
    assert abs(drawn.mean()) < 0.1
    assert 0.8 < drawn.std() < 1.2


def test_small_heads_have_no_finer_strands() -> None:
    assert fine(1.0) is None
    assert fine(1.5) is not None


@pytest.mark.parametrize("pixels", [1.5, 3.0])
def test_finer_strands_leave_what_is_coarse_alone(pixels: float) -> None:
    drawn = fine(pixels)
    assert drawn is not None
    coarse = cv2.resize(drawn, (SIDE // 2, SIDE // 2), interpolation=cv2.INTER_AREA)
    assert drawn.std() > 0.2
    assert coarse.std() < 0.5 * drawn.std()


def test_finer_strands_run_as_the_coarse_ones_do() -> None:
    drawn = fine(3.0)
    assert drawn is not None
    down, across = np.gradient(drawn[60:100, 160:220])
    assert np.abs(across).mean() > 1.5 * np.abs(down).mean()


@pytest.mark.parametrize("low", [0.1, 0.9])
def test_hair_beside_a_face_falls(low: float) -> None:
    drawn = strands_on(HEAD, Combing(low, 0.5, 0.5), SIDE)
    for columns in (slice(8, 32), slice(96, 120)):
        down, across = np.gradient(drawn[66:92, columns])
        assert np.abs(across).mean() > 1.3 * np.abs(down).mean()


def test_every_combing_has_strands_of_its_own() -> None:
    heads = [Combing(low, wide, lean) for low in (0, 1) for wide in (0, 1) for lean in (0, 1)]
    drawn = np.stack([strands_on(HEAD, one, SIDE)[10:60].ravel() for one in heads])
    alike = np.corrcoef(drawn) - np.eye(len(heads))
    assert np.abs(alike).max() < 0.3


def test_combing_is_read_off_the_traits() -> None:
    assert combing_of(np.arange(7, dtype=np.float32) / np.float32(8)) == (0.125, 0.25, 0.375)
