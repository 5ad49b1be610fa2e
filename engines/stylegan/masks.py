"""The mask of a swapped face: what must be hidden, and how a patch goes over into its head.

Everything that tells who somebody is lies within the identity outline, which follows from the
landmarks of the frame: brows, eyes, nose, mouth, cheeks and chin. The patch is opaque there. Its
rim runs over skin: along jaw and cheeks, half of it on either side of where the face ends, and
inwards over forehead and temples, so that hairline and ears stay as they are.
"""

import math
from functools import lru_cache
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.stylegan.drawing import filled_hull, filled_outline, rise
from engines.stylegan.topology import (
    BROW_LEFT_SLICE,
    BROW_RIGHT_SLICE,
    EYE_LEFT_SLICE,
    EYE_RIGHT_SLICE,
    LIPS_OUTER_SLICE,
    NOSE_BASE_SLICE,
    NOSE_BRIDGE_SLICE,
    OVAL_SLICE,
)

__all__ = [
    "alpha_from_outlines",
    "carried_along",
    "identity_outlines",
    "oval_from_points",
    "share_outside",
]

FEATHER: Final = 0.022
"""Width of the feathered rim along jaw and cheeks, half of it within the outline and half beyond,
as a share of the crop's side. Larger takes a head's edge and the shade below its chin away; farther
out, heads grow broad and ears vanish."""
_LEAST_FEATHER_PX: Final = 3.0
"""Its width at least: narrower rims show steps."""
_EDGE: Final = 0.01
"""Width of the rim that is feathered along the crop's edge: chins of long faces lie close to it."""
_FOREHEAD: Final = (0.15, 1.0)
"""Shares of the way from the brows to the top of the face between which a forehead goes over into
the subject's own. Smaller leaves more of the subject's forehead, and a softer step."""
_TEMPLE: Final = 0.1
"""Width over which temples go over into the subject's own, as a share of the side."""
_BROW_REACH: Final = 0.02
"""How far above the landmarks of brows what must be hidden reaches, as a share of the side."""
_BROW_INSET: Final = 0.88
"""How far towards the outline what must be hidden above brows reaches, shares of the way from the
middle: hair falls over temples."""
_BEYOND: Final = 0.03
"""How far beyond the outline temples still go over, as a share of the side."""
_CARRIED: Final = 0.1
"""How far within a face features go along with its outline, crop units."""
_HELD: Final = 1.5
"""What holds features where they are, in points of the outline. Larger moves them less."""
_INSET: Final = (0.17, 0.03)
"""How far within the outline what must be hidden ends beside the eyes and at the chin, shares of
the way to the middle of the face. Hair falls over cheeks beside the eyes."""
_CROP: Final = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)
_FAR: Final = 100.0
_FAINT: Final = 1e-6
_FEATURES: Final = (
    EYE_LEFT_SLICE,
    EYE_RIGHT_SLICE,
    NOSE_BRIDGE_SLICE,
    NOSE_BASE_SLICE,
    LIPS_OUTER_SLICE,
)
"""Parts that are hidden wherever they are: lips of a bowed head reach below its chin."""
_CHEEKBONES: Final = (7, 30)
"""First and last point of the oval that lie beside or below the eyes, clockwise from the top."""

Float32 = npt.NDArray[np.float32]


def oval_from_points(points: Float32, size: int) -> Float32:
    """Draw the outline of one face, filled: float32[size, size] in [0, 1].

    Args:
        points: float32[POINTS, >=2], crop units; may lie outside [0, 1].
        size: height and width, px.
    """
    fixed = np.clip(points[OVAL_SLICE, :2], -1.0, 2.0) * size - 0.5
    return filled_outline(fixed, (size, size)).astype(np.float32) / 255.0


def carried_along(points: Float32, outlines: Float32) -> Float32:
    """Faces whose outline is drawn elsewhere, with their features drawn along near it.

    Else the far eye of a turned head would end up on the rim of a subject's narrower one.

    Args:
        points: float32[N, POINTS, 3] of painted faces, crop units.
        outlines: float32[N, M, 2], where their ovals are to be.

    Returns:
        float32[N, POINTS, 3]: the ovals are where they are to be, and other points go with them,
        the nearer the more.
    """
    ovals = points[:, OVAL_SLICE, :2]
    away = points[:, :, None, :2] - ovals[:, None]
    weight = np.exp(np.square(away).sum(axis=3) / np.float32(-2 * _CARRIED**2))
    total = weight.sum(axis=2, keepdims=True) + np.float32(_HELD)
    moved = points.copy()
    moved[..., :2] += weight @ (outlines - ovals) / total
    moved[:, OVAL_SLICE, :2] = outlines
    return moved


def identity_outlines(points: Float32, outlines: Float32) -> Float32:
    """What must be hidden of faces: brows, eyes, nose, mouth, cheeks and chin.

    Args:
        points: float32[N, POINTS, 3] of the faces, crop units.
        outlines: float32[N, M, 2] where the same faces end.

    Returns:
        float32[N, K, 2], points whose convex hull it is.
    """
    brows = np.concatenate([points[:, BROW_LEFT_SLICE], points[:, BROW_RIGHT_SLICE]], axis=1)
    bare = _within(brows[..., :2], outlines)
    middle = outlines.mean(axis=1, keepdims=True)
    above = brows[..., :2] - np.array([0, _BROW_REACH], np.float32)
    wide = _within(above, middle + _BROW_INSET * (outlines - middle))
    first, last = _CHEEKBONES
    jaws = outlines[:, first:last]
    middle = brows[..., :2].mean(axis=1, keepdims=True)
    chin = outlines[..., 1].max(axis=1)[:, None, None]
    down = (jaws[..., 1:] - middle[..., 1:]) / np.maximum(chin - middle[..., 1:], _FAINT)
    inset = _INSET[0] + (_INSET[1] - _INSET[0]) * np.clip(down, 0, 1)
    centre = (middle + jaws.mean(axis=1, keepdims=True)) / 2
    kept = jaws + inset * (centre - jaws)
    features = [points[:, part, :2] for part in _FEATURES]
    return np.concatenate([kept, bare, wide, *features], axis=1).astype(np.float32)


def _within(points: Float32, outlines: Float32) -> Float32:
    """Points float32[N, K, 2], those beyond an outline drawn in towards the middle onto it."""
    centre = outlines.mean(axis=1)
    moved = points.copy()
    for row, (outline, middle) in enumerate(zip(outlines, centre, strict=True)):
        away, rim = points[row] - middle, outline - middle
        turns = np.arctan2(rim[:, 1], rim[:, 0])
        order = np.argsort(turns)
        reach = np.interp(
            np.arctan2(away[:, 1], away[:, 0]),
            turns[order],
            np.linalg.norm(rim, axis=1)[order],
            period=2 * np.pi,
        )
        length = np.maximum(np.linalg.norm(away, axis=1), _FAINT)
        moved[row] = middle + away * np.minimum(1, reach / length)[:, None]
    return moved


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


def alpha_from_outlines(points: Float32, identity: Float32, outline: Float32, size: int) -> Float32:
    """Alpha of one patch: 1 on the identity outline, and a rim over skin around it.

    Args:
        points: float32[POINTS, >=2] of the subject, crop units; the eyes are on one level.
        identity: float32[K, 2], what must be hidden.
        outline: float32[M, 2] of the painted face.
        size: height and width, px.

    Returns:
        float32[size, size]. Along the crop's edge all but the identity is feathered.
    """
    must = _filled(identity, size)
    face = cv2.bitwise_or(_filled(outline, size), must)
    away = cv2.distanceTransform(1 - face, cv2.DIST_L2, 3) / size
    within = cv2.distanceTransform(face, cv2.DIST_L2, 3) / size
    width = np.float32(max(FEATHER, _LEAST_FEATHER_PX / size))
    alpha = np.asarray(0.5 - (away - within) / width, np.float32)
    np.clip(alpha, 0, 1, out=alpha)
    eyes = float(np.mean([points[part, 1].mean() for part in (EYE_LEFT_SLICE, EYE_RIGHT_SLICE)]))
    brow, top = float(identity[:, 1].min()), float(outline[:, 1].min())
    above = slice(0, min(max(math.ceil(eyes * size), 0), size))
    rows = ((np.arange(size)[above] + 0.5) / size).astype(np.float32)
    up = (brow - rows) / max(brow - top, _FAINT)
    share = rise((eyes - rows).astype(np.float32), 0.0, max(eyes - brow, 0.02))
    side = rise(np.asarray(within[above] - away[above] + _BEYOND, np.float32), 0.0, _TEMPLE)
    alpha[above] *= (1 - share)[:, None]
    alpha[above] += ((1 - rise(up.astype(np.float32), *_FOREHEAD)) * share)[:, None] * side
    alpha *= _edges(size)
    soft = cv2.GaussianBlur(must.astype(np.float32), (0, 0), max(0.012 * size, 1.5))
    np.maximum(alpha, np.minimum(soft * np.float32(2), 1), out=alpha)
    alpha[must > 0] = 1.0
    return alpha


@lru_cache(maxsize=8)
def _edges(size: int) -> Float32:
    """1 within a patch, falling to 0 along its edges: float32[size, size], shared."""
    rim = np.minimum(np.arange(size) + 0.5, size - np.arange(size) - 0.5) / (_EDGE * size)
    return np.asarray(np.minimum(np.minimum.outer(rim, rim), 1.0), np.float32)


def _filled(outline: Float32, size: int) -> npt.NDArray[np.uint8]:
    """What the convex hull of points float32[K, 2], crop units, encloses: uint8, 0 or 1."""
    return filled_hull(np.clip(outline, -1.0, 2.0) * np.float32(size), (size, size))
