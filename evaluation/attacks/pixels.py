"""Small pictures as rows of numbers, for attackers who work on pixels."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from evaluation.eigenfaces import rows_from_images

__all__ = ["small_rows"]

_SIDE = 32


def small_rows(images: NDArray[np.uint8], side: int = _SIDE) -> NDArray[np.float32]:
    """(N, side²) grey pixels of (N, S, S, 3) pictures, each with zero mean and unit spread.

    >>> small_rows(np.zeros((2, 64, 64, 3), np.uint8)).shape
    (2, 1024)
    """
    small = [
        cv2.resize(
            cv2.cvtColor(image, cv2.COLOR_BGR2GRAY), (side, side), interpolation=cv2.INTER_AREA
        )
        for image in images
    ]
    rows = rows_from_images(np.stack(small).astype(np.uint8))
    rows -= rows.mean(axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(rows.std(axis=1, keepdims=True), 1), np.float32)
