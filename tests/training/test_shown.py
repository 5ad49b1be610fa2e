"""Painted pixels beyond white and black stay white and black where recognisers look at them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from engines.face.swapper import Swapper
from training.measure import painted
from training.shown import painted_small

pytestmark = pytest.mark.unit

SIDE = 8


def too_bright() -> Swapper:
    """Paints the upper half brighter than white, the lower one darker than black."""

    def paint(count: int) -> SimpleNamespace:
        pixels = np.full((count, SIDE, SIDE, 3), 300.0, np.float32)
        pixels[:, SIDE // 2 :] = -40.0
        return SimpleNamespace(pixels=pixels, alpha=np.ones((count, SIDE, SIDE), np.float32))

    return cast(
        "Swapper",
        SimpleNamespace(
            sizes=(SIDE,),
            read=lambda crops: crops,
            paint=lambda _control, latents, _size: paint(len(latents)),
            render=lambda _crops, latents: paint(len(latents)),
        ),
    )


def test_pixels_beyond_white_and_black_do_not_wrap() -> None:
    """The planted fault: white gloss became black specks, and two of one person strangers."""
    crops, latents = np.zeros((2, SIDE, SIDE, 3), np.uint8), np.zeros((2, 1, 4), np.float32)
    small = painted_small(too_bright(), crops, latents)
    for pictures in (small, *painted(too_bright(), crops, latents)):
        assert (pictures[:, : SIDE // 2] == 255).all()
        assert (pictures[:, SIDE // 2 :] == 0).all()
