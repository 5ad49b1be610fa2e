"""A face's outline, and the mask of a patch: opaque on the face, feathered outside it."""

from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.alignment import identity_mask
from engines.stylegan.drawing import filled_outline
from engines.stylegan.topology import OVAL_SLICE

FEATHER: Final = 0.07
"""Width of the feathered rim as a share of the crop's side; wider hides seams and shows
more of the original around the face."""
_GROWTH: Final = 0.05
"""How far beyond the outlines alpha stays 1, as a share of the side; wider hides the hairline
and the jaw, which tell people apart, and shows more painted surroundings."""

Float32 = npt.NDArray[np.float32]


def oval_from_points(points: Float32, size: int) -> Float32:
    """Draw the outline of one face, filled: float32[size, size] in [0, 1].

    Args:
        points: float32[POINTS, >=2], crop units; may lie outside [0, 1].
        size: height and width, px.
    """
    fixed = np.clip(points[OVAL_SLICE, :2], -1.0, 2.0) * size - 0.5
    return filled_outline(fixed, (size, size)).astype(np.float32) / 255.0


def alpha_from_points(subject: Float32, surrogate: Float32, size: int) -> Float32:
    """Alpha of one patch: 1 on the identity oval and on both faces' outlines.

    Towards the crop's edge an outline is feathered too, so that no edge shows; the identity
    oval is not.

    Args:
        subject: float32[POINTS, >=2] of the face to hide, crop units.
        surrogate: the same of the face that hides it.
        size: height and width, px.

    Returns:
        float32[size, size]; it falls to 0 only outside both outlines.

    >>> from engines.stylegan.topology import POINTS
    >>> alpha = alpha_from_points(np.full((POINTS, 2), 0.5, np.float32),
    ...                           np.full((POINTS, 2), 0.5, np.float32), 64)
    >>> float(alpha[32, 32]), float(alpha[0, 0])
    (1.0, 0.0)
    """
    oval = identity_mask(size)
    opaque = oval.astype(np.uint8)
    for points in (subject, surrogate):
        outline = np.clip(points[OVAL_SLICE, :2], -1.0, 2.0) * size - 0.5
        hull = cv2.convexHull(np.round(outline).astype(np.int32))
        cv2.fillConvexPoly(opaque, hull, 1)
    width = FEATHER * size
    away = cv2.distanceTransform(1 - opaque, cv2.DIST_L2, 3)
    alpha = np.clip(1.0 - (away - _GROWTH * size) / width, 0.0, 1.0)
    rim = np.minimum(np.arange(size) + 0.5, size - np.arange(size) - 0.5) / width
    inside = np.minimum(np.minimum.outer(rim, rim), 1.0)
    return np.where(oval, 1.0, alpha * inside).astype(np.float32)
