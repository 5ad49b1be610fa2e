"""A face as small as tells it from another a moment later, without any network.

From one frame to the next a face hardly changes, and another face, even one as large and in the
same light, has its hair, eyes and shade elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.face.alignment import sized_region
from engines.pictures import Picture
from engines.types import Face

__all__ = ["ALIKE", "Glance", "glance_of", "likeness"]

ALIKE: Final = 0.9
"""Likeness from which two glances, a moment apart, show the same face. Larger: fewer are sure."""
_SIDE: Final = 16
_BLUR: Final = 0.7
"""Deviation of the blur against the detector's jitter, px of a glance."""
_MOST_APART: Final = 14.0
"""Mean difference, grey levels, above which two glances are not alike, whatever their details."""

Glance = NDArray[np.float32]
"""float32[16, 16, 3] BGR, 0 to 255, of the face's box."""


def glance_of(picture: Picture, face: Face) -> Glance | None:
    """A glance at a face; None where it lies outside the picture.

    Args:
        picture: the frame's pixels; not changed.
        face: its box, px of the frame.
    """
    region = sized_region(face.box_px, picture)
    if region is None:
        return None
    small = picture.region_bgr(*region, scaled=(_SIDE, _SIDE)).astype(np.float32)
    return np.asarray(cv2.GaussianBlur(small, (0, 0), _BLUR), np.float32)


def likeness(ones: Sequence[Glance], others: Sequence[Glance]) -> NDArray[np.float64]:
    """How alike glances are: the correlation of their details and shades.

    Args:
        ones: T glances.
        others: N glances.

    Returns:
        (T, N) float64, -1 to 1; 0 at most where two differ too much in tone.

    >>> ramp = np.linspace(0, 99, 768, dtype=np.float32).reshape(16, 16, 3)
    >>> likeness([ramp], [ramp + 2, ramp + 50]).round(3).tolist()
    [[1.0, 0.0]]
    """
    first, second = (_flat(some) for some in (ones, others))
    details = _details(first) @ _details(second).T
    rows = [np.abs(second - one).mean(axis=1) for one in first]
    apart = np.array(rows).reshape(details.shape)
    return np.where(apart <= _MOST_APART, details, np.minimum(details, 0.0)).astype(np.float64)


def _flat(glances: Sequence[Glance]) -> NDArray[np.float32]:
    return np.array(glances, np.float32).reshape(len(glances), 3 * _SIDE**2)


def _details(flat: NDArray[np.float32]) -> NDArray[np.float32]:
    """(N, D) without the mean of each colour, of length 1."""
    shades = flat.reshape(len(flat), _SIDE**2, 3)
    rest = (shades - shades.mean(axis=1, keepdims=True)).reshape(flat.shape)
    length = np.linalg.norm(rest, axis=1, keepdims=True)
    return np.asarray(rest / np.maximum(length, 1e-3), np.float32)
