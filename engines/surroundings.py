"""Softens what is around a swapped face: hair, ears and jaw identify people too.

A recogniser that sees a stranger's face on a head still reads something off the hairline, the
outline and the neck. Around the painted face, out to about a face's half width, the picture is
therefore smoothed until no lock, ear or line is left: what differs little runs together, and what
differs much, hair and the wall behind it, keeps a soft border (a bilateral filter, Tomasi and
Manduchi 1998, of a picture that was blurred before). Close to the face, where the patch hides what
was there, a wide blur of all around fills in, the painted face's own colours among it.
Only the composite itself is looked at, in which every face has been replaced or covered:
softening cannot bring anything back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.alignment import Similarity, crop_from_picture
from engines.crop_regions import faded, filled, inside_of, within_boxes
from engines.patches import Patch, Placed, warped_patch
from engines.pictures import Picture
from engines.types import Box

__all__ = ["softened"]

_SIDE: Final = 96
"""Side of the coarse crop in which surroundings are blurred, px."""
_WIDTH: Final = 1.65
"""Its width over the patch's."""
_FILL: Final = 0.16
_FAR_FILL: Final = 0.2
"""Deviations of the blur that fills what the patch hides, and of the one that fills what it leaves
empty; shares of the patch's side."""
_BLUR: Final = 0.04
"""Deviation of the blur before smoothing, a share of the patch's side: larger shows less of the
head's outline, and more of a fog."""
_ALIKE: Final = 130.0
"""Deviation of the sum of differences in three colours within which they run together."""
_ACROSS_PX: Final = 9
"""Width over which they do, px of the coarse crop at half its size."""
_REACH: Final = 0.18
_FALL: Final = 0.12
"""How far beyond the patch the blur is whole, and over what width it ends; shares of its side."""
_ENDS: Final = 8.0
_SMOOTH: Final = 4.0
"""What is around is replaced from one part in so many of the reach's weight on, and is smooth
throughout from one in so many."""
_FACE_FROM: Final = -0.09
_FACE_TO: Final = 0.05
"""Depths inside the painted outline between which the face takes over; shares of the side."""
_ROUNDED: Final = 0.03
"""Deviation of the blur that rounds the outline, a share of the patch's side."""
_SEEN: Final = 0.02
"""Alpha from which a pixel belongs to the patch, and no surroundings are read off it."""
_OPAQUE: Final = 0.999
"""Alpha from which it shows nothing but the patch."""
_ENOUGH: Final = 0.25
_FAINT: Final = 1e-4

Float32 = NDArray[np.float32]
UInt8 = NDArray[np.uint8]


def softened(picture: Picture, patch: Patch, others: Sequence[Box]) -> Placed | None:
    """The smoothed surroundings of one face, to be blended over the picture.

    Args:
        picture: the composite, with every face already replaced or covered; not changed.
        patch: the face's patch as it was placed, with an outline.
        others: boxes x0 y0 x1 y1 px of the frame of the other faces; nothing is softened or
            read there.

    Returns:
        Pixels and weights in a window of the frame; None without an outline, or where the
        window lies outside the frame.

    Raises:
        EngineFault: the patch is not placed by a similarity.
    """
    if patch.outline is None:
        return None
    place = _coarse_place(patch)
    around = crop_from_picture(picture, place, _SIDE).astype(np.float32)
    alpha, face = _coarse_alpha(patch), _face_weight(patch.outline)
    hidden = alpha > _SEEN
    is_free = within_boxes(others, place, _SIDE) == 0
    known = (inside_of(picture, place, _SIDE) > 0) & ~hidden & is_free
    known |= (face >= 1) & (alpha >= _OPAQUE)
    share = _reach_weight(hidden)
    weight = np.minimum(share * _ENDS, 1) * (1 - face) * is_free
    soft = Patch(_smoothed(around, known, share), weight.astype(np.float32), place)
    return warped_patch(picture, soft)


def _coarse_place(patch: Patch) -> Similarity:
    """Map from the frame to the coarse crop around the patch's middle."""
    size = patch.alpha.shape[0]
    scale = np.float32(_SIDE / (_WIDTH * size))
    place = patch.crop_from_frame * scale
    place[:, 2] += np.float32(_SIDE / 2) - scale * np.float32(size / 2)
    return np.asarray(place, np.float32)


def _coarse_alpha(patch: Patch) -> Float32:
    """The patch's alpha in the middle of the coarse crop, 0 around it; float32[96, 96]."""
    side = round(_SIDE / _WIDTH)
    small = cv2.resize(patch.alpha, (side, side), interpolation=cv2.INTER_AREA)
    before = (_SIDE - side) // 2
    after = _SIDE - side - before
    return np.asarray(np.pad(small, (before, after)), np.float32)


def _smoothed(around: Float32, known: NDArray[np.bool_], share: Float32) -> Float32:
    """The picture without detail, its unknown pixels filled by the known ones.

    Args:
        around: float32[96, 96, 3].
        known: bool[96, 96].
        share: float32[96, 96], 0…1; where it is small the picture stays as it is.
    """
    unit = _SIDE / _WIDTH
    whole = np.where(known[..., None], around, _fill(around, known))
    half = cv2.resize(whole, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
    half = cv2.GaussianBlur(half, (0, 0), _BLUR * unit / 2)
    half = cv2.bilateralFilter(half, _ACROSS_PX, _ALIKE, _FILL * unit / 2)
    smooth = cv2.resize(half, (_SIDE, _SIDE), interpolation=cv2.INTER_LINEAR)
    part = np.minimum(share * _SMOOTH, 1)[..., None]
    return np.asarray(whole + part * (smooth - whole), np.float32)


def _fill(around: Float32, known: NDArray[np.bool_]) -> Float32:
    """A wide blur of the known pixels, float32[96, 96, 3]."""
    weight = known.astype(np.float32)
    seen = around * weight[..., None]
    unit = _SIDE / _WIDTH
    # The mean of the whole stands in where not even the far blur reaches a known pixel.
    seen, weight = seen + _FAINT * _mean(seen, weight), weight + _FAINT
    both = np.asarray(cv2.merge([*cv2.split(seen), weight]), np.float32)
    quarter = cv2.resize(both, None, fx=0.25, fy=0.25, interpolation=cv2.INTER_AREA)
    quarter = cv2.GaussianBlur(quarter, (0, 0), _FAR_FILL * unit / 4)
    half = cv2.resize(both, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
    half = cv2.GaussianBlur(half, (0, 0), _FILL * unit / 2)
    side = (_SIDE, _SIDE)
    far, near = (cv2.resize(one, side, interpolation=cv2.INTER_LINEAR) for one in (quarter, half))
    total, filled = near[..., 3:], far[..., :3] / far[..., 3:]
    filled = filled + np.minimum(total / _ENOUGH, 1) * (near[..., :3] / total - filled)
    return np.asarray(filled, np.float32)


def _mean(seen: Float32, weight: Float32) -> Float32:
    total = seen.sum(axis=(0, 1)) / max(float(weight.sum()), 1.0)
    return np.asarray(total, np.float32)


def _reach_weight(hidden: NDArray[np.bool_]) -> Float32:
    """1 on the patch and around it, falling to 0 beyond the reach and at the crop's edge."""
    unit = _SIDE / _WIDTH
    away = cv2.distanceTransform((~hidden).astype(np.uint8), cv2.DIST_L2, 5)
    weight = np.clip(1 - (away - _REACH * unit) / (_FALL * unit), 0, 1)
    return np.asarray(_smooth(np.minimum(weight, faded(_SIDE, _FALL * _SIDE / _WIDTH))), np.float32)


def _face_weight(outline: Float32) -> Float32:
    """1 on the painted face, falling to 0 around its outline; float32[96, 96]."""
    unit = _SIDE / _WIDTH
    corners = (outline - 0.5) * unit + _SIDE / 2
    face = filled([corners], _SIDE)
    depth = cv2.distanceTransform(face, cv2.DIST_L2, 5)
    depth = depth - cv2.distanceTransform(1 - face, cv2.DIST_L2, 5)
    depth = cv2.GaussianBlur(depth, (0, 0), _ROUNDED * unit)
    rise = (depth / unit - _FACE_FROM) / (_FACE_TO - _FACE_FROM)
    return _smooth(np.clip(rise, 0, 1))


def _smooth(share: Float32) -> Float32:
    return np.asarray(share * share * (3 - 2 * share), np.float32)
