"""People painted at rest in even light, to compare them by their looks alone."""

from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.stylegan.shape import ShapeModel, points_at_rest
from engines.stylegan.sizes import LIGHT_SIZE
from engines.swapper import Control, Swapper

BATCH: Final = 20
EVEN_LIGHT: Final = (-0.1, 0.0, 0.15)
"""Colour of the light, BGR in [-1, 1]."""
SIDE: Final = 128
"""Of a portrait, px: recognisers look no closer."""

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]


def portraits(swapper: Swapper, shape: ShapeModel, latents: Float32) -> tuple[UInt8, Float32]:
    """Paint people at rest in even light.

    Args:
        swapper: of the pack.
        shape: of the pack.
        latents: float32[N, L, 512].

    Returns:
        uint8[N, SIDE, SIDE, 3] BGR, and the points they were painted under, float32[N, POINTS, 3].
    """
    rest = points_at_rest(shape)
    pictures, places = [], []
    for start in range(0, len(latents), BATCH):
        part = latents[start : start + BATCH]
        points = np.repeat(rest, len(part), axis=0)
        light = np.full((len(part), 2, LIGHT_SIZE, LIGHT_SIZE, 3), EVEN_LIGHT, np.float32)
        made = swapper.paint(Control(points, light, np.zeros(len(part), np.float32)), part)
        pictures.append(np.stack([_reduced(one) for one in made.pixels]))
        places.append(shape.swapped(points, part))
    return np.concatenate(pictures), np.concatenate(places)


def _reduced(picture: Float32) -> UInt8:
    small = cv2.resize(picture, (SIDE, SIDE), interpolation=cv2.INTER_AREA)
    return np.asarray(np.rint(small), np.uint8)
