"""The rim of a texture: beards that go on down to the outline of a face, and jaws without shade.

Hair and background are taken off textures along the outline, and plain skin is left there. On a
head that would be seen: a beard would end above the chin, in a smooth ring. So along chin and jaw
what lies a little farther in of a beard is mirrored outwards. What is left of the ends of brows
beyond their sharp part is taken away. And what is dark beside the mouth of a chin without a beard
is the shade of a portrait's jaw, which would look hollow under another light.
"""

from dataclasses import dataclass
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

__all__ = ["TextureRim", "rim_of_texture"]

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


@dataclass(frozen=True, slots=True)
class TextureRim:
    """Where the rim of textures takes what it shows.

    Attributes:
        x: float32[S, S], column of what is mirrored to each place, px.
        y: the same, row.
        mirrored: float32[S, S], how much of it is put there.
        plain: float32[S, S], how much of the texture is taken away instead.
        jaw: float32[S, S], how much shade counts as a jaw's.
        chin: its rows and columns.
    """

    x: Float32
    y: Float32
    mirrored: Float32
    plain: Float32
    jaw: Float32
    chin: tuple[slice, slice]

    def filled(self, texture: Float32) -> Float32:
        """A texture float32[S, S, 3] BGR, around 0, with skin and beard up to its outline."""
        luma = brightness(texture)
        hairs = luma - cv2.GaussianBlur(luma, (0, 0), _HAIR * len(luma))
        columns = np.abs(hairs[self.chin]).mean(axis=0)
        beard = ramp(float(np.quantile(columns, _WHERE_FEW)), *_BEARD)
        broad = cv2.GaussianBlur(luma, (0, 0), _BROAD * len(luma))
        lacking = np.maximum(-_SHADE - broad, 0) * self.jaw * np.float32(1 - beard)
        lit = np.asarray((texture + lacking[..., None]) * (1 - self.plain)[..., None], np.float32)
        grown = self.mirrored * np.float32(beard)
        if not grown.any():
            return lit
        mirrored = cv2.remap(lit, self.x, self.y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        return laid_over(lit, np.asarray(mirrored, np.float32), grown)


def rim_of_texture(points: Float32, size: int) -> TextureRim:
    """The rim of textures of a canonical face.

    Args:
        points: float32[>= MESH_POINTS, 2] of the face, texture units.
        size: side of the textures, px.
    """
    steps = (np.arange(size, dtype=np.float32) + 0.5) / np.float32(size)
    columns, rows = np.meshgrid(steps, steps)
    within, inwards = _within(points, size)
    reach = np.maximum(_WIDTH[0] - within, 0)[..., None] * 2
    source = np.dstack([columns, rows]) + reach * inwards
    source[..., 1] -= np.maximum(source[..., 1] - _CHIN, 0) * (1 + _SHORT)
    x, y = np.moveaxis(np.asarray(source * size - 0.5, np.float32), 2, 0).copy()
    free = away_from_features(points, size)
    lies_free = cv2.remap(free, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    rim = 1 - rise(within, _WIDTH[0] - _WIDTH[1] / 2, _WIDTH[0] + _WIDTH[1] / 2)
    low = rise(rows, _CHIN - _WIDTH[1] / 2, _CHIN + _WIDTH[1] / 2)
    put = np.maximum(rim, low)
    bare = rise(np.asarray(lies_free, np.float32), *_FREE)
    eyes, nose = (float(points[one, 1].max()) for one in (EYE_LEFT_SLICE, NOSE_BASE_SLICE))
    lips = float(points[LIPS_OUTER_SLICE, 1].max())
    mirrored = put * bare * rise(rows, lips - _FREE[1], lips + _FREE[1])
    plain = put * (1 - bare) * (1 - rise(rows, eyes, eyes + _WIDTH[1]))
    jaw = rise(free, *_FAR) * rise(rows, eyes, nose)
    return TextureRim(
        np.asarray(x, np.float32),
        np.asarray(y, np.float32),
        mirrored,
        plain,
        jaw,
        _chin(points, size),
    )


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
