"""Whether a painted face is as sharp as what it replaces (P6)."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.pictures import BgrImage

__all__ = ["sharpness_ratio"]

_LONGEST_PX: Final = 8.0
"""Longest period that counts; the shortest is 2 px, the finest that pixels can show."""
_SIGMA_PX: Final = _LONGEST_PX * float(np.sqrt(np.log(2) / 2)) / float(np.pi)
"""Of the Gaussian that lets half of the amplitude of the longest period pass."""
_RIM_PX: Final = 3
"""What is left out along the mask's rim: the seam has a measure of its own."""
_LEAST_PIXELS: Final = 100
_FLOOR: Final = 0.1
"""Energy, grey levels², added to both sides so that flat faces have the ratio 1."""


def sharpness_ratio(
    original: BgrImage, anonymized: BgrImage, mask: NDArray[np.bool_]
) -> float | None:
    """Energy of the luma's periods of 2 to 8 px inside a mask, anonymized ÷ original.

    Args:
        original: H×W×3 uint8 BGR.
        anonymized: H×W×3 uint8 BGR, the same place.
        mask: H×W, what was painted.

    Returns:
        1 is as sharp as before, less is blurred, more is grainy; None for masks with less
        than 100 pixels away from their rim.

    >>> grey = np.full((32, 32, 3), 90, np.uint8)
    >>> sharpness_ratio(grey, grey, np.ones((32, 32), np.bool_))
    1.0
    """
    kernel = np.ones((2 * _RIM_PX + 1, 2 * _RIM_PX + 1), np.uint8)
    inside = cv2.erode(mask.astype(np.uint8), kernel).astype(np.bool_)
    if inside.sum() < _LEAST_PIXELS:
        return None
    before, after = (_fine(image)[inside] for image in (original, anonymized))
    return float(((after**2).mean() + _FLOOR) / ((before**2).mean() + _FLOOR))


def _fine(image: BgrImage) -> NDArray[np.float64]:
    luma = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY).astype(np.float64)
    return np.asarray(luma - cv2.GaussianBlur(luma, (0, 0), _SIGMA_PX), np.float64)
