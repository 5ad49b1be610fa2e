"""How soft a picture is."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from engines.blending.focus import MOST_BLUR, edge_width, slopes_of
from engines.stylegan.drawing import brightness

pytestmark = pytest.mark.unit


def blocks(blur: float = 0.0) -> NDArray[np.uint8]:
    """Blocks with hard edges, 300×300, out of focus as asked for."""
    random = np.random.default_rng(5)
    tones = random.integers(20, 235, (30, 30)).astype(np.uint8)
    image = cv2.merge([cv2.resize(tones, (300, 300), interpolation=cv2.INTER_NEAREST)] * 3)
    soft = cv2.GaussianBlur(image, (0, 0), blur) if blur else image
    return np.asarray(soft, np.uint8)


def width_of(image: NDArray[np.uint8]) -> float:
    return edge_width(slopes_of(brightness(image)), np.ones(image.shape[:2], np.bool_))


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
    assert np.isnan(edge_width(slopes_of(brightness(blocks())), few))
