"""Takes hair and background off the textures of donors, so that only their skin meets other heads.

A portrait's texture shows hair at the temples, on the forehead and beside the cheeks, and whatever
is behind the head. A surrogate's rim lies on other people's heads, where all of it would look
pasted on. What is no skin there is filled with the skin around it, by normalised convolution.
Beards stay: they belong to the face.
"""

from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.face.crop_regions import disc
from engines.stylegan.drawing import LUMA, filled_hull, rise, spread
from engines.stylegan.topology import (
    BROW_LEFT_SLICE,
    BROW_RIGHT_SLICE,
    EYE_LEFT_SLICE,
    EYE_RIGHT_SLICE,
    LIPS_OUTER_SLICE,
    NOSE_BASE_SLICE,
    OVAL_SLICE,
)

__all__ = [
    "away_from_features",
    "away_from_lips",
    "bare_of_features",
    "bare_skin",
    "off_features",
    "skin_beside_features",
    "within_outline",
]

_DARKER: Final = (0.22, 0.42)
_BRIGHTER: Final = (0.35, 0.7)
"""Between which shares less or more than the cheeks' brightness a place becomes no skin."""
_HUE: Final = (16.0, 34.0)
"""Differences of colour from the cheeks', grey levels at their brightness, between which too."""
_CORE: Final = 0.02
"""How far around eyes, nose and lips everything belongs to the face, share of the side."""
_BROW: Final = 0.012
"""The same around brows, whose ends lie close to hair."""
_BROW_LEFT: Final = 0.88
"""Share of a brow that is one in any case; beyond may be hair of the temples."""
_BROW_INNER: Final = [4, 5]
"""Points of a brow at its inner end."""
_BESIDE: Final = 0.006
"""How far around all of them single hairs lie, the same."""
_INSET: Final = 0.02
"""How far within the outline skin is still trusted less than farther in, share of the side."""
_CHIN: Final = (0.93, 0.985)
_CHIN_BLUR: Final = 0.06
"""Between which heights, shares of the side, rows become even, and the blur along them."""
_SPREADS: Final = ((0.012, 1.0), (0.03, 0.1), (0.08, 0.01), (0.25, 0.001))
"""Deviations of the blurs that fill, shares of the side, and their weights."""

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]


def bare_skin(texture: UInt8, points: Float32) -> UInt8:
    """A texture with skin instead of hair and background.

    Args:
        texture: uint8[S, S, 3] BGR, as photographed.
        points: float32[>= MESH_POINTS, 2], of the texture frame, texture units.

    Returns:
        uint8[S, S, 3].
    """
    size = texture.shape[0]
    face = _hull(points[OVAL_SLICE], size)
    core = _features(points, size)
    rows = (np.arange(size)[:, None] + 0.5) / size
    nose = float(points[NOSE_BASE_SLICE, 1].max())
    inside = cv2.distanceTransform(face, cv2.DIST_L2, 3) / size
    beard = (rows > nose) & (face > 0)
    trusted = _skin(texture, core, rows, points) * rise(inside.astype(np.float32), 0.0, _INSET)
    trusted = np.where(core > 0, np.maximum(trusted, rise(inside, 0.0, _INSET)), trusted)
    trusted = np.where(beard, np.maximum(trusted, rise(inside, 0.02, 0.07)), trusted)
    colours = texture.astype(np.float32)
    filled = spread(colours, trusted.astype(np.float32), _SPREADS)
    share = cv2.GaussianBlur(trusted.astype(np.float32), (0, 0), 0.006 * size)[..., None]
    mixed = filled + np.minimum(share, trusted[..., None]) * (colours - filled)
    # Chins go on below a texture, which repeats its last row: it must hold no lines.
    flat = cv2.GaussianBlur(mixed, (0, 0), sigmaX=_CHIN_BLUR * size, sigmaY=1.0)
    mixed += rise(np.asarray(rows, np.float32), *_CHIN)[..., None] * (flat - mixed)
    return np.asarray(np.clip(np.rint(mixed), 0, 255), np.uint8)


def skin_beside_features(texture: UInt8, points: Float32) -> Float32:
    """How surely places look like the cheeks' skin, float32[S, S] in [0, 1]; NaN on features.

    Args:
        texture: uint8[S, S, 3] BGR, as photographed.
        points: float32[>= MESH_POINTS, 2], of the texture frame, texture units.
    """
    size = texture.shape[0]
    core, rows = _features(points, size), (np.arange(size)[:, None] + 0.5) / size
    skin = _skin(texture, core, rows, points)
    return np.where(core > 0, np.float32(np.nan), skin)


def away_from_features(points: Float32, size: int) -> Float32:
    """How far places lie from eyes, brows, nose and lips: float32[size, size], shares of it."""
    free = np.asarray(_features(points, size) == 0, np.uint8)
    return np.asarray(cv2.distanceTransform(free, cv2.DIST_L2, 5) / size, np.float32)


def away_from_lips(points: Float32, size: int, around: float = _BROW) -> Float32:
    """Where no lips are: float32[size, size], 0 on them and close by, 1 elsewhere.

    Args:
        points: float32[>= MESH_POINTS, 2], of the texture frame, texture units.
        size: of the result.
        around: how far around lips counts as lips, share of the side.
    """
    lips = _grown(_hull(points[LIPS_OUTER_SLICE], size), around * size)
    return np.asarray(lips == 0, np.float32)


def off_features(points: Float32, size: int) -> Float32:
    """Where neither eyes, brows nor lips are: float32[size, size], 0 on them, 1 elsewhere."""
    parts = (EYE_LEFT_SLICE, EYE_RIGHT_SLICE, BROW_LEFT_SLICE, BROW_RIGHT_SLICE, LIPS_OUTER_SLICE)
    drawn = np.max([_grown(_hull(points[one], size), _BROW * size) for one in parts], axis=0)
    soft = cv2.GaussianBlur(1 - drawn.astype(np.float32), (0, 0), _BROW * size)
    return np.asarray(soft, np.float32)


def within_outline(points: Float32, size: int) -> Float32:
    """How far places lie within the face's outline: float32[size, size], shares of it."""
    face = _hull(points[OVAL_SLICE], size)
    return np.asarray(cv2.distanceTransform(face, cv2.DIST_L2, 5) / size, np.float32)


def bare_of_features(points: Float32, size: int) -> npt.NDArray[np.bool_]:
    """Where skin should be: bool[size, size], the outer ends of brows included."""
    shown = points[:, :2].copy()
    for brow in (BROW_LEFT_SLICE, BROW_RIGHT_SLICE):
        inner = shown[brow][_BROW_INNER].mean(axis=0)
        shown[brow] = inner + _BROW_LEFT * (shown[brow] - inner)
    wide = _grown(_features(shown, size), _BESIDE * size)
    return np.asarray(wide == 0, np.bool_)


def _features(points: Float32, size: int) -> UInt8:
    """Where eyes, nose, lips and brows are, and a little around them: 0 elsewhere."""
    parts = (EYE_LEFT_SLICE, EYE_RIGHT_SLICE, NOSE_BASE_SLICE, LIPS_OUTER_SLICE)
    core = _grown(_hull(np.concatenate([points[one] for one in parts]), size), _CORE * size)
    for brow in (BROW_LEFT_SLICE, BROW_RIGHT_SLICE):
        core |= _grown(_hull(points[brow], size), _BROW * size)
    return core


def _skin(texture: UInt8, core: UInt8, rows: npt.NDArray[np.floating], points: Float32) -> Float32:
    """How surely places look like the cheeks' skin, float32[S, S] in [0, 1]."""
    size = texture.shape[0]
    soft = cv2.GaussianBlur(texture.astype(np.float32), (0, 0), 0.008 * size)
    eyes = float(points[EYE_LEFT_SLICE, 1].max())
    nose = float(points[NOSE_BASE_SLICE, 1].max())
    cheeks = (core > 0) & (rows > eyes + 0.04) & (rows < nose)
    typical = np.median(soft[cheeks], axis=0)
    luma = soft @ LUMA
    bright = max(float(np.median(luma[cheeks])), 1.0)
    ratio = luma / bright
    hue = np.abs(soft / np.maximum(ratio, 0.1)[..., None] - typical).max(axis=2)
    darker = rise(np.asarray(1 - ratio, np.float32), *_DARKER)
    brighter = rise(np.asarray(ratio - 1, np.float32), *_BRIGHTER)
    other = np.maximum(np.maximum(darker, brighter), rise(hue.astype(np.float32), *_HUE))
    opened = cv2.erode((1 - other).astype(np.float32), np.ones((3, 3), np.uint8))
    return np.asarray(opened, np.float32)


def _hull(points: Float32, size: int) -> UInt8:
    return filled_hull(np.clip(points[:, :2], -1, 2) * np.float32(size), (size, size))


def _grown(mask: UInt8, radius: float) -> UInt8:
    return np.asarray(cv2.dilate(mask, disc(radius)), np.uint8)
