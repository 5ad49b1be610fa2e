"""How soft a picture is, and what that accounts for in a face that is hard to follow."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from engines.focus import MOST_BLUR, edge_width, grey_of, slopes_of
from tests.engines.readings import SIZE, look_under

pytestmark = pytest.mark.unit

DOUBT = 0.035
NOTHING_BEFORE = np.zeros((SIZE, SIZE), np.float32)


def blocks(blur: float = 0.0) -> NDArray[np.uint8]:
    """Blocks with hard edges, 300×300, out of focus as asked for."""
    random = np.random.default_rng(5)
    tones = random.integers(20, 235, (30, 30)).astype(np.uint8)
    image = cv2.merge([cv2.resize(tones, (300, 300), interpolation=cv2.INTER_NEAREST)] * 3)
    soft = cv2.GaussianBlur(image, (0, 0), blur) if blur else image
    return np.asarray(soft, np.uint8)


def width_of(image: NDArray[np.uint8]) -> float:
    return edge_width(slopes_of(grey_of(image)), np.ones(image.shape[:2], np.bool_))


@pytest.mark.parametrize("blur", [1.5, 2.5])
def test_blur_is_measured(blur: float) -> None:
    assert width_of(blocks()) < 0.5 * blur
    assert width_of(blocks(blur)) == pytest.approx(blur, rel=0.3)


def test_what_is_blurred_beyond_measure_is_as_blurred_as_can_be_told() -> None:
    assert width_of(blocks(3.5)) == MOST_BLUR


def test_flat_pictures_and_a_few_pixels_tell_nothing() -> None:
    assert np.isnan(width_of(np.full((64, 64, 3), 90, np.uint8)))
    few = np.zeros((300, 300), np.bool_)
    few[:5, :5] = True
    assert np.isnan(edge_width(slopes_of(grey_of(blocks())), few))


def test_small_faces_out_of_focus_are_doubted_less_than_sharp_ones() -> None:
    """The planted fault: whole crowds behind the focus were covered."""
    sharp, soft = (
        look_under(NOTHING_BEFORE, eyes_px=16, doubt=DOUBT, image=blocks(blur)).doubt
        for blur in (0.0, 2.5)
    )
    assert sharp > 0.75 * DOUBT
    assert soft < 0.5 * DOUBT


def test_blur_of_a_large_face_accounts_for_little() -> None:
    look = look_under(NOTHING_BEFORE, eyes_px=60, doubt=DOUBT, image=blocks(2.5))
    assert look.doubt > 0.75 * DOUBT


def test_a_face_that_is_lost_stays_so_however_blurred() -> None:
    assert look_under(NOTHING_BEFORE, eyes_px=16, doubt=0.2, image=blocks(3.0)).doubt > 0.19
