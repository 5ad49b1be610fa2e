"""Pictures whose motion is known."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.pictures import Picture, picture_from_bgr

SIDE = 240


def textured(seed: int = 0) -> NDArray[np.uint8]:
    """Soft blobs of all sizes, as a skin has them."""
    random = np.random.default_rng(seed)
    noise = random.uniform(0, 1, (SIDE, SIDE, 3)).astype(np.float32)
    layers = [cv2.GaussianBlur(noise, (0, 0), size) * size for size in (2, 5, 12)]
    mixed = np.sum([layer - layer.mean() for layer in layers], axis=0)
    return np.asarray(np.clip(128 + 40 * mixed / mixed.std(), 0, 255), np.uint8)


def shown(image: NDArray[np.uint8], matrix: NDArray[np.float32]) -> Picture:
    """The picture moved by a (2, 3) map."""
    moved = cv2.warpAffine(image, matrix, (SIDE, SIDE), borderMode=cv2.BORDER_REFLECT)
    return picture_from_bgr(np.asarray(moved, np.uint8))


def shift(x: float, y: float) -> NDArray[np.float32]:
    return np.array([[1, 0, x], [0, 1, y]], np.float32)
