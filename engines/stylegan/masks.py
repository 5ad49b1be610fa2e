"""A face's outline, and the mask of a patch: opaque on the face, feathered outside it."""

from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.alignment import identity_mask
from engines.stylegan.drawing import filled_outline, rise
from engines.stylegan.topology import OVAL_SLICE

FEATHER: Final = 0.03
"""Width of the feathered rim as a share of the crop's side. What is around the face is drawn over
it, see `engines.surroundings`."""
_GROWTH: Final = 0.02
"""How far beyond the outlines alpha stays 1, as a share of the side: as far as landmarks err.
Wider hides more of hair and ears, from which what is around is continued."""
_EDGE: Final = 0.01
"""Width of the rim that is feathered along the crop's edge: chins of long faces lie close to it."""
_BROADER: Final = 0.02
"""By which share of its radius a painted face may be wider than the subject's above the eyes, where
hair has to go on beside it."""
_TEMPLES: Final = (0.0, 0.25)
"""Between which heights above the middle of a face that comes to hold, shares of its height."""
_JAW: Final = (0.2, 0.6)
"""How steeply directions from the middle fall in which a jaw comes to end no nearer than the
subject's."""

_CROP: Final = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)
_FAR: Final = 100.0
_FAINT: Final = 1e-6

Float32 = npt.NDArray[np.float32]


def oval_from_points(points: Float32, size: int) -> Float32:
    """Draw the outline of one face, filled: float32[size, size] in [0, 1].

    Args:
        points: float32[POINTS, >=2], crop units; may lie outside [0, 1].
        size: height and width, px.
    """
    fixed = np.clip(points[OVAL_SLICE, :2], -1.0, 2.0) * size - 0.5
    return filled_outline(fixed, (size, size)).astype(np.float32) / 255.0


def fitted_outline(surrogate: Float32, subject: Float32) -> Float32:
    """The outline of a painted face, no wider above the eyes than the face that it hides.

    Nor does its jaw end above the subject's: what would be seen between them is a second chin.

    Args:
        surrogate: float32[M, 2], outline as painted, crop units.
        subject: float32[M, 2] of the face to hide.

    Returns:
        float32[M, 2]; points above the middle that lie farther out are drawn in, and points below
        it that lie farther in are drawn out.

    >>> angles = np.arange(8) * np.pi / 4
    >>> ring = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    >>> drawn_in = fitted_outline(2 * ring, ring)
    >>> [round(float(np.hypot(*drawn_in[at])), 2) for at in (2, 6)]  # chin and forehead
    [2.0, 1.02]
    >>> round(float(np.hypot(*fitted_outline(0.5 * ring, ring)[2])), 2)
    1.0
    """
    low, high = subject.min(axis=0), subject.max(axis=0)
    middle, height = (low + high) / 2, max(float(high[1] - low[1]), 1e-3)
    theirs, ours = subject - middle, surrogate - middle
    radius = np.hypot(ours[:, 0], ours[:, 1])
    own, their = (np.arctan2(one[:, 1], one[:, 0]) for one in (ours, theirs))
    reach = np.hypot(theirs[:, 0], theirs[:, 1])
    subjects = np.interp(own, their, reach, period=2 * np.pi)
    share = rise(-ours[:, 1] / np.float32(height), *_TEMPLES)
    fitted = radius - share * np.maximum(radius - subjects * (1 + _BROADER), 0)
    fitted += rise(np.sin(own), *_JAW) * np.maximum(subjects - fitted, 0)
    scale = (fitted / np.maximum(radius, 1e-6))[:, None]
    return np.asarray(middle + ours * scale, np.float32)


def share_outside(outline: Float32) -> float:
    """Which share of what an outline float32[M, 2] encloses, crop units, its crop leaves out.

    >>> square = np.float32([[0.5, 0.5], [1.5, 0.5], [1.5, 1.0], [0.5, 1.0]])
    >>> round(share_outside(square), 1)
    0.5
    """
    hull = cv2.convexHull(np.clip(outline, -_FAR, _FAR).astype(np.float32))
    whole = cv2.contourArea(hull)
    inside, _ = cv2.intersectConvexConvex(hull, _CROP)
    return float(1 - inside / max(whole, _FAINT))


def alpha_from_outlines(subject: Float32, surrogate: Float32, size: int) -> Float32:
    """Alpha of one patch: 1 on the identity oval and on both faces' outlines.

    Towards the crop's edge an outline is feathered too, so that no edge shows; the identity
    oval is not.

    Args:
        subject: float32[M, 2] outline of the face to hide, crop units.
        surrogate: the same of the face that hides it.
        size: height and width, px.

    Returns:
        float32[size, size]; it falls to 0 only outside both outlines.

    >>> dot = np.full((3, 2), 0.5, np.float32)
    >>> alpha = alpha_from_outlines(dot, dot, 64)
    >>> float(alpha[32, 32]), float(alpha[0, 0])
    (1.0, 0.0)
    """
    oval = identity_mask(size)
    opaque = oval.astype(np.uint8)
    for points in (subject, surrogate):
        outline = np.clip(points, -1.0, 2.0) * size - 0.5
        hull = cv2.convexHull(np.round(outline).astype(np.int32))
        cv2.fillConvexPoly(opaque, hull, 1)
    width = FEATHER * size
    away = cv2.distanceTransform(1 - opaque, cv2.DIST_L2, 3)
    alpha = np.clip(1.0 - (away - _GROWTH * size) / width, 0.0, 1.0)
    rim = np.minimum(np.arange(size) + 0.5, size - np.arange(size) - 0.5) / (_EDGE * size)
    inside = np.minimum(np.minimum.outer(rim, rim), 1.0)
    return np.where(oval, 1.0, alpha * inside).astype(np.float32)
