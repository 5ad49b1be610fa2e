"""Softens what is around a swapped face: hair, ears and jaw identify people too.

A recogniser that sees a stranger's face on a head still reads something off the hairline, the
outline and the neck. Around the painted face, out to about a face's half width, a wide median
therefore takes away every lock, ear and line, whatever its contrast, while what is wide, hair, wall
and clothes, keeps a rounded border (Tukey 1977; a blur that hides as much makes a fog). Close to
the face, where the patch hid what was there and recognisers look most, a wide blur of what is
around fills in. Hair gets new strands, see `engines.strands`. Only the composite itself is looked
at, in which every face has been replaced or covered: softening cannot bring anything back.
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
from engines.strands import strands
from engines.types import Box

__all__ = ["softened"]

_MOST_SIDE: Final = 128
_SIDE_STEP: Final = 16
"""Most pixels along the coarse crop in which surroundings are smoothed, and the step of that
number: a face of fewer pixels than that has fewer here too."""
_WIDTH: Final = 1.65
"""Width of the coarse crop over the patch's."""
_WIDE: Final = 0.2
"""Deviation of the blur that fills what the patch hides, a share of the patch's side."""
_MEDIAN: Final = 0.3
"""Width of the median, a share of the patch's side: what is narrower than half of it is gone."""
_BLUR: Final = 0.01
"""Deviation of the blur that softens the borders left, a share of the patch's side."""
_REACH: Final = 0.18
_FALL: Final = 0.12
"""How far beyond the patch the blur is whole, and over what width it ends; shares of its side."""
_ENDS: Final = 8.0
_SMOOTH: Final = 4.0
"""What is around is replaced from one part in so many of the reach's weight on, and is smooth
throughout from one in so many."""
_FACE_FROM: Final = -0.04
_FACE_TO: Final = 0.04
"""Depths inside the painted outline between which the face takes over; shares of the side."""
_ROUNDED: Final = 0.03
"""Deviation of the blur that rounds the outline, a share of the patch's side."""
_SEEN: Final = 0.02
"""Alpha from which a pixel belongs to the patch, and no surroundings are read off it."""
_APART: Final = 0.15
"""Width beside other faces' boxes over which softening begins, a share of the patch's side."""
_SHRUNK: Final = 4
"""The wide blur is done at this part of the size."""
_FAINT: Final = 1e-4
_NEAR: Final = np.ones((3, 3), np.uint8)

Float32 = NDArray[np.float32]
Bool = NDArray[np.bool_]


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
    side = _coarse_side(patch)
    unit = side / _WIDTH
    place = _coarse_place(patch, side)
    around = crop_from_picture(picture, place, side).astype(np.float32)
    is_free = within_boxes(others, place, side) == 0
    hidden = _coarse_alpha(patch, side) > _SEEN
    # A pixel off the frame's edge, where the crop mixes in the black beyond it.
    inside = cv2.erode(inside_of(picture, place, side), _NEAR) > 0
    if not inside.any():
        return None
    known = inside & ~hidden & is_free
    share = _reach_weight(hidden, unit)
    wide = _mean_of(around, known if known.any() else inside, _WIDE * unit)
    smooth = _smoothed(np.where(known[..., None], around, wide), known, share, unit)
    weight = np.minimum(share * _ENDS, 1) * _beside(is_free, unit)
    weight *= 1 - _face_weight(patch.outline, side)
    return warped_patch(picture, Patch(smooth, weight.astype(np.float32), place))


def _coarse_side(patch: Patch) -> int:
    """Pixels along the coarse crop of a patch: about one for every one of its own, up to a limit.

    >>> alpha = np.ones((40, 40), np.float32)
    >>> _coarse_side(Patch(np.zeros((40, 40, 3), np.float32), alpha, np.eye(2, 3)))
    80
    """
    steps = -(-patch.alpha.shape[0] * _WIDTH // _SIDE_STEP)
    return int(min(steps * _SIDE_STEP, _MOST_SIDE))


def _coarse_place(patch: Patch, side: int) -> Similarity:
    """Map from the frame to the coarse crop around the patch's middle."""
    size = patch.alpha.shape[0]
    scale = np.float32(side / (_WIDTH * size))
    place = patch.crop_from_frame * scale
    place[:, 2] += np.float32(side / 2) - scale * np.float32(size / 2)
    return np.asarray(place, np.float32)


def _coarse_alpha(patch: Patch, side: int) -> Float32:
    """The patch's alpha in the middle of the coarse crop, 0 around it; float32[side, side]."""
    inner = round(side / _WIDTH)
    small = cv2.resize(patch.alpha, (inner, inner), interpolation=cv2.INTER_AREA)
    before = (side - inner) // 2
    after = side - inner - before
    return np.asarray(np.pad(small, (before, after)), np.float32)


def _smoothed(whole: Float32, known: Bool, share: Float32, unit: float) -> Float32:
    """The picture without detail, and with new strands.

    Args:
        whole: float32[S, S, 3], filled in where it is not known.
        known: bool[S, S].
        share: float32[S, S], 0…1; where it is small the picture stays as it is.
        unit: side of the patch, px.
    """
    levels = np.clip(np.rint(whole), 0, 255).astype(np.uint8)
    median = cv2.medianBlur(levels, 2 * round(_MEDIAN * unit / 2) + 1)
    smooth = cv2.GaussianBlur(median.astype(np.float32), (0, 0), _BLUR * unit)
    luma = np.asarray(cv2.cvtColor(whole, cv2.COLOR_BGR2GRAY), np.float32)
    smooth = smooth + strands(luma, known, unit)[..., None]
    part = np.minimum(share * _SMOOTH, 1)[..., None]
    return np.asarray(whole + part * (smooth - whole), np.float32)


def _mean_of(around: Float32, known: Bool, deviation_px: float) -> Float32:
    """A wide blur of the known pixels alone, and far from them their mean: float32[S, S, 3]."""
    side, weight = len(known), known.astype(np.float32)
    both = np.asarray(cv2.merge([*cv2.split(around * weight[..., None]), weight]), np.float32)
    everywhere = both.reshape(-1, 4).mean(axis=0)
    small = (side // _SHRUNK, side // _SHRUNK)
    both = np.asarray(cv2.resize(both, small, interpolation=cv2.INTER_AREA), np.float32)
    both = np.asarray(cv2.GaussianBlur(both, (0, 0), deviation_px / _SHRUNK), np.float32)
    both = both + np.float32(_FAINT) * everywhere
    both = np.asarray(cv2.resize(both, (side, side), interpolation=cv2.INTER_LINEAR), np.float32)
    return np.asarray(both[..., :3] / both[..., 3:], np.float32)


def _beside(is_free: Bool, unit: float) -> Float32:
    """0 in other faces' boxes, rising to 1 beside them; float32[S, S]."""
    if is_free.all():
        return np.ones(is_free.shape, np.float32)
    away = cv2.distanceTransform(is_free.astype(np.uint8), cv2.DIST_L2, 5)
    return _smooth(np.clip(away / np.float32(_APART * unit), 0, 1))


def _reach_weight(hidden: Bool, unit: float) -> Float32:
    """1 on the patch and around it, falling to 0 beyond the reach and at the crop's edge."""
    away = cv2.distanceTransform((~hidden).astype(np.uint8), cv2.DIST_L2, 5)
    weight = np.clip(1 - (away - _REACH * unit) / (_FALL * unit), 0, 1)
    edge = faded(hidden.shape[0], _FALL * unit)
    return np.asarray(_smooth(np.minimum(weight, edge)), np.float32)


def _face_weight(outline: Float32, side: int) -> Float32:
    """1 on the painted face, falling to 0 around its outline; float32[side, side]."""
    unit = side / _WIDTH
    corners = (outline - 0.5) * unit + side / 2
    face = filled([corners], side)
    depth = cv2.distanceTransform(face, cv2.DIST_L2, 5)
    depth = depth - cv2.distanceTransform(1 - face, cv2.DIST_L2, 5)
    depth = cv2.GaussianBlur(depth, (0, 0), _ROUNDED * unit)
    rise = (depth / unit - _FACE_FROM) / (_FACE_TO - _FACE_FROM)
    return _smooth(np.clip(rise, 0, 1))


def _smooth(share: Float32) -> Float32:
    return np.asarray(share * share * (3 - 2 * share), np.float32)
