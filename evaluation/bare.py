"""Whether a face was left as it was: its light hardly changed, and its details are the same.

Levels alone do not tell. In the dark a plain cover and a surrogate differ from the face that they
hide by few grey levels; but the cover shows nothing, and the surrogate somebody else.
"""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = ["BARE_GREY_LEVELS", "BARE_LIKENESS", "central_difference", "is_bare", "likeness"]

BARE_GREY_LEVELS: Final = 8.0
"""Mean absolute change on the central half of the box from which a face is not bare."""
BARE_LIKENESS: Final = 0.85
"""Correlation of the details below which a face is not bare either: other faces in the same light
reach 0.8."""
_HARDLY_CHANGED: Final = 4.0
_LEAST_LIKENESS: Final = 0.6
"""The same where the light changed by less than that many grey levels, as by an encoder alone,
which in the dark leaves no more of the details."""
_COMPARED: Final = 32
"""Side at which details are compared, px: an encoder's noise counts little there."""
_COARSE: Final = 4.0
"""Deviation of the blur that takes light away, px of the compared picture."""

Image = NDArray[np.uint8]
Box = NDArray[np.float32]


def is_bare(original: Image, anonymized: Image, box_px: Box) -> bool:
    """Whether a face was left as it was.

    Args:
        original: H×W×3 uint8 BGR.
        anonymized: H×W×3 uint8 BGR.
        box_px: (4,) xyxy of the face; half of its width and height around its centre is compared.

    >>> noise = np.random.default_rng(0).integers(0, 16, (64, 64, 3)).astype(np.uint8)
    >>> box = np.array([0, 0, 64, 64], np.float32)
    >>> is_bare(noise, noise + 1, box), is_bare(noise, np.full_like(noise, 8), box)
    (True, False)
    """
    change = central_difference(original, anonymized, box_px)
    if change >= BARE_GREY_LEVELS:
        return False
    least = _LEAST_LIKENESS if change < _HARDLY_CHANGED else BARE_LIKENESS
    return likeness(original, anonymized, box_px) >= least


def central_difference(original: Image, anonymized: Image, box_px: Box) -> float:
    """Mean absolute difference of two pictures on the central half of a box.

    Args:
        original: H×W×3 uint8.
        anonymized: H×W×3 uint8.
        box_px: (4,) xyxy; half of its width and height around its centre is compared.

    Returns:
        Grey levels, 0…255; at least one pixel is always compared.

    >>> black, grey = np.zeros((8, 8, 3), np.uint8), np.full((8, 8, 3), 50, np.uint8)
    >>> central_difference(black, grey, np.array([0, 0, 8, 8], np.float32))
    50.0
    """
    window = _centre(original, box_px)
    return float(cv2.absdiff(original[window], anonymized[window]).mean())


def likeness(original: Image, anonymized: Image, box_px: Box) -> float:
    """Correlation of the details on the central half of a box, −1 to 1.

    1 where both are without any, as nothing then tells them apart.
    """
    window = _centre(original, box_px)
    one, other = _details(original[window]), _details(anonymized[window])
    length = float(np.sqrt(np.square(one).sum() * np.square(other).sum()))
    if length > 0:
        return float((one * other).sum()) / length
    return 0.0 if one.any() or other.any() else 1.0


def _details(picture: Image) -> NDArray[np.float32]:
    """Luma without what a wide blur leaves of it, float32[S, S]."""
    grey = cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY).astype(np.float32)
    small = cv2.resize(grey, (_COMPARED, _COMPARED), interpolation=cv2.INTER_AREA)
    band = small - cv2.GaussianBlur(small, (0, 0), _COARSE)
    return np.asarray(band - band.mean(), np.float32)


def _centre(picture: Image, box_px: Box) -> tuple[slice, slice]:
    """Rows and columns of the central half of a box, at least one of each."""
    centre, half = (box_px[:2] + box_px[2:]) / 2, (box_px[2:] - box_px[:2]) / 4
    limit = np.array([picture.shape[1], picture.shape[0]])
    low = np.clip(np.floor(centre - half).astype(int), 0, limit - 1)
    high = np.clip(np.ceil(centre + half).astype(int), low + 1, limit)
    return slice(int(low[1]), int(high[1])), slice(int(low[0]), int(high[0]))
