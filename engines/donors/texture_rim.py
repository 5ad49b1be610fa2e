"""The rim of a texture: beards that go on down to the outline of a face, and jaws without shade.

Hair and background are taken off textures along the outline, and plain skin is left there. On a
head that would be seen: a beard would end above the chin, in a smooth ring. So along chin and jaw
what lies a little farther in of a beard is mirrored outwards. What is left of the ends of brows
beyond their sharp part is taken away. And what is dark beside the mouth of a chin without a beard
is the shade of a portrait's jaw, which would look hollow under another light.
"""

from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.donors.skin import away_from_features
from engines.stylegan.drawing import brightness, filled_hull, laid_over, ramp, rise
from engines.stylegan.topology import (
    EYE_LEFT_SLICE,
    LIPS_OUTER_SLICE,
    NOSE_BASE_SLICE,
    OVAL_SLICE,
)

__all__ = ["with_filled_rim"]

_WIDTH: Final = (0.06, 0.04)
"""How far within the outline textures are plain, and how wide what is put there goes over into
them, shares of the side."""
_FREE: Final = (0.01, 0.03)
"""How far off features lies what may be mirrored, the same."""
_CHIN: Final = 0.92
"""Height of a chin below which a texture is plain, the same."""
_SHORT: Final = 0.5
"""How far up what is put there comes from, shares of how far down it lies: a chin has few hairs
above it."""
_BROAD: Final = 0.03
"""Deviation of the blur that tells shade from hair, the same."""
_FAR: Final = (0.02, 0.07)
"""How far off features shade may be taken away, the same."""
_HAIR: Final = 0.008
"""Deviation of the blur beyond which there are no hairs, the same."""
_BEARD: Final = (0.03, 0.05)
"""How much a chin's hairs stand out, texture units, of which none, and of which all is a beard."""
_WHERE_FEW: Final = 0.25
"""Share of a chin's columns in which they may stand out less: a tuft below the lip is no beard, and
would become a stripe."""
_SHADE: Final = 0.03
"""How dark a jaw without a beard is at most, texture units."""
_HALF: Final = 0.13
"""Half the width of what is looked at of a chin, a share of the side."""

Float32 = npt.NDArray[np.float32]


def with_filled_rim(texture: Float32, points: Float32) -> Float32:
    """A texture with skin and beard up to its outline, a new array.

    Args:
        texture: float32[S, S, 3] BGR, around 0.
        points: float32[>= MESH_POINTS, 2] of the canonical face on it, texture units.
    """
    size = len(texture)
    luma = brightness(texture)
    hairs = luma - cv2.GaussianBlur(luma, (0, 0), _HAIR * size)
    columns = np.abs(hairs[_chin(points, size)]).mean(axis=0)
    beard = np.float32(ramp(float(np.quantile(columns, _WHERE_FEW)), *_BEARD))
    free = away_from_features(points, size)
    rows = (np.arange(size, dtype=np.float32)[:, None] + 0.5) / np.float32(size)
    eyes, nose = (float(points[one, 1].max()) for one in (EYE_LEFT_SLICE, NOSE_BASE_SLICE))
    shade = np.maximum(-_SHADE - cv2.GaussianBlur(luma, (0, 0), _BROAD * size), 0)
    lacking = shade * (rise(free, *_FAR) * rise(rows, eyes, nose)) * (1 - beard)
    within, inwards = _within(points, size)
    x, y = _mirrored_place(within, inwards)
    lies_free = cv2.remap(free, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    bare = rise(np.asarray(lies_free, np.float32), *_FREE)
    rim = 1 - rise(within, _WIDTH[0] - _WIDTH[1] / 2, _WIDTH[0] + _WIDTH[1] / 2)
    put = np.maximum(rim, rise(rows, _CHIN - _WIDTH[1] / 2, _CHIN + _WIDTH[1] / 2))
    plain = put * (1 - bare) * (1 - rise(rows, eyes, eyes + _WIDTH[1]))
    lit = np.asarray((texture + lacking[..., None]) * (1 - plain)[..., None], np.float32)
    lips = float(points[LIPS_OUTER_SLICE, 1].max())
    grown = put * bare * rise(rows, lips - _FREE[1], lips + _FREE[1]) * beard
    mirrored = cv2.remap(lit, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return laid_over(lit, np.asarray(mirrored, np.float32), grown)


def _mirrored_place(within: Float32, inwards: Float32) -> tuple[Float32, Float32]:
    """Column and row of what is mirrored to each place, float32[S, S] px; see `_within`."""
    size = len(within)
    steps = (np.arange(size, dtype=np.float32) + 0.5) / np.float32(size)
    reach = np.maximum(_WIDTH[0] - within, 0)[..., None] * 2
    source = np.dstack(np.meshgrid(steps, steps)) + reach * inwards
    source[..., 1] -= np.maximum(source[..., 1] - _CHIN, 0) * (1 + _SHORT)
    x, y = np.moveaxis(np.asarray(source * size - 0.5, np.float32), 2, 0).copy()
    return x, y


def _within(points: Float32, size: int) -> tuple[Float32, Float32]:
    """How far places lie within the outline, less than 0 beyond, and the way inwards.

    Returns:
        float32[S, S], shares of the side, and float32[S, S, 2], of length 1.
    """
    margin = size // 4
    moved = points[OVAL_SLICE, :2] * np.float32(size) + np.float32(margin)
    side = size + 2 * margin
    face = filled_hull(moved.astype(np.float32), (side, side))
    inner, outer = (cv2.distanceTransform(one, cv2.DIST_L2, 5) for one in (face, 1 - face))
    apart = cv2.GaussianBlur((inner - outer) / np.float32(size), (0, 0), 0.015 * size)
    down, right = np.gradient(apart)
    ways = np.dstack([right, down])
    ways /= np.maximum(np.linalg.norm(ways, axis=2, keepdims=True), 1e-6)
    part = np.s_[margin : margin + size, margin : margin + size]
    return np.asarray(apart[part], np.float32), np.asarray(ways[part], np.float32)


def _chin(points: Float32, size: int) -> tuple[slice, slice]:
    """Rows and columns of the chin."""
    middle, lips = (
        float(points[LIPS_OUTER_SLICE, 0].mean()),
        float(points[LIPS_OUTER_SLICE, 1].max()),
    )
    rows = _span(lips + 0.02, _CHIN, size)
    return rows, _span(middle - _HALF, middle + _HALF, size)


def _span(start: float, end: float, size: int) -> slice:
    first = min(max(round(start * size), 0), size - 1)
    return slice(first, max(round(end * size), first + 1))
