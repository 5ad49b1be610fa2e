"""Softens what is around a swapped face: hair, ears and jaw identify people too.

A recogniser that sees a stranger's face on a head still reads something off the hairline, the
outline and the ears. Around the painted face, out to where hair ends, a wide median therefore takes
away every lock, ear and line, whatever its contrast, while what is wide, hair, wall and clothes,
keeps a rounded border (Tukey 1977; a blur that hides as much makes a fog). What is around runs on
under the patch as far as the painted face. Over it the surrogate's head is drawn, see
`engines.drawn_head`; the subject's hair gets new strands, see `engines.strands`. Collars tell
little and are smoothed less. Only the composite itself is looked at, in which every face has been
replaced or covered: softening cannot bring anything back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.alignment import Similarity, crop_from_picture
from engines.crop_regions import faded, filled, inside_of, within_boxes
from engines.drawn_head import SHADOW, Seen, head_drawn, shade_under_hair, worn_by
from engines.hair_detail import add_detail
from engines.hair_reading import first_with
from engines.painted_head import Surrounded, head_of
from engines.patches import Patch, Placed, warped_patch
from engines.pictures import Picture
from engines.strands import strands
from engines.stylegan.drawing import laid_over, rise
from engines.types import Box

__all__ = ["softened"]

_MOST_SIDE: Final = 128
_SIDE_STEP: Final = 16
"""Most pixels along the coarse crop in which surroundings are smoothed, and the step of that
number: a face of fewer pixels than that has fewer here too."""
_WIDTH: Final = 1.75
"""Width of the coarse crop over the patch's."""
_RUN_ON: Final = 0.05
"""Deviation of the blur of what runs on under the patch, a share of the patch's side."""
_MEDIAN: Final = 0.3
"""Width of the median, a share of the patch's side: what is narrower than half of it is gone."""
_NECK_MEDIAN: Final = 0.08
"""The same below the face: a neck is narrow."""
_NECK: Final = (0.22, 0.05)
"""Where neck and collar begin: above the chin, shares of the outline's height."""
_BLUR: Final = 0.01
"""Deviation of the blur that softens the borders left, a share of the patch's side."""
_HIGHER: Final = 0.12
"""How far that crop lies above the patch's middle, a share of the patch's side: heads are higher
above a patch than necks are below it."""
_REACH: Final = 0.12
_FALL: Final = 0.10
"""How far beyond the patch the blur is whole, and over what width it ends; shares of its side."""
_UPWARDS: Final = 0.22
_UPPER: Final = (0.38, 0.0)
"""How much farther it reaches above the head, and heights below the outline's top between which
that begins."""
_ENDS: Final = 8.0
_SMOOTH: Final = 4.0
"""What is around is replaced from one part in so many of the reach's weight on, and is smooth
throughout from one in so many."""
_FACE: Final = (-0.04, 0.04)
"""Depths inside the painted outline between which the face takes over; shares of the side."""
_CHIN: Final = (0.75, 0.95)
_FACE_AT_CHIN: Final = (-0.01, 0.03)
"""The same at the chin, and the heights of the outline between which that comes to hold: what is
painted below a chin is no neck."""
_ROUNDED: Final = 0.03
"""Deviation of the blur that rounds the outline, a share of the patch's side."""
_SEEN: Final = 0.02
"""Alpha from which a pixel belongs to the patch, and no surroundings are read off it."""
_APART: Final = 0.1
"""Width beside other faces' boxes over which softening begins, a share of the patch's side."""
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
    scene = _scene_of(picture, patch, others)
    if scene is None:
        return None
    unit = scene.unit
    middle = np.array([scene.side / 2, scene.side / 2 + _lower(scene.side)], np.float32)
    corners, still = (
        (one - np.float32(0.5)) * np.float32(unit) + middle
        for one in (patch.outline, patch.outline if patch.rest is None else patch.rest)
    )
    lie = _lie_of(corners, still, scene)
    whole = np.where(scene.known[..., None], scene.around, _run_on(scene))
    worn = worn_by(patch, patch.outline, _coarsely(patch.pixels, scene.side))
    flat = _flat(whole, _below(corners, scene.side), unit)
    texture = _strands_of(whole, scene.known, unit)
    drawn = head_drawn(flat, texture, Seen(scene.around, scene.known), lie, worn)
    share = _reach_weight(lie)
    smooth = laid_over(whole, drawn.pixels, np.minimum(share * _SMOOTH, 1))
    weight = np.minimum(share * _ENDS, 1) * _beside(scene.is_free, unit)
    face = _face_weight(lie, drawn.hairline)
    weight *= 1 - face
    shade = shade_under_hair(lie, drawn.hairline) * face
    smooth, weight = _with_shade(smooth, weight, shade, SHADOW * worn.skin)
    placed = warped_patch(picture, Patch(smooth, weight.astype(np.float32), scene.place))
    if placed is not None:
        add_detail(placed, lie.head, patch, drawn.locks, scene.place)
    return placed


@dataclass(frozen=True, slots=True)
class _Scene:
    """The coarse crop around a patch, S×S pixels.

    Attributes:
        around: float32[S, S, 3] BGR, 0…255, of the composite.
        hidden: bool[S, S], under the patch.
        is_free: bool[S, S], not within other faces' boxes.
        known: bool[S, S], where surroundings may be read: a pixel inside the frame or more, free
            and not hidden. Without any such pixel the free ones inside the frame, which show
            the painted face, and at last all inside it.
        place: map from the frame to the crop.
        side: S.
        unit: side of the patch, px of the crop.
    """

    around: Float32
    hidden: Bool
    is_free: Bool
    known: Bool
    place: Similarity
    side: int
    unit: float


def _scene_of(picture: Picture, patch: Patch, others: Sequence[Box]) -> _Scene | None:
    """What is around a patch; None where that is outside the frame."""
    side = _coarse_side(patch)
    place = _coarse_place(patch, side)
    # A pixel off the frame's edge, where the crop mixes in the black beyond it.
    inside = cv2.erode(inside_of(picture, place, side), _NEAR) > 0
    if not inside.any():
        return None
    around = crop_from_picture(picture, place, side).astype(np.float32)
    is_free = within_boxes(others, place, side) == 0
    hidden = _coarsely(patch.alpha, side) > _SEEN
    known = first_with((inside & ~hidden & is_free, inside & is_free, inside), 1)
    return _Scene(around, hidden, is_free, known, place, side, side / _WIDTH)


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
    place[1, 2] += np.float32(_lower(side))
    return np.asarray(place, np.float32)


def _coarsely(values: Float32, side: int) -> Float32:
    """What a patch has, float32[P, P, ...], where it lies in the coarse crop; 0 around it."""
    inner = round(side / _WIDTH)
    small = cv2.resize(values, (inner, inner), interpolation=cv2.INTER_AREA)
    left = (side - inner) // 2
    top = left + _lower(side)
    whole = np.zeros((side, side, *values.shape[2:]), np.float32)
    whole[top : top + inner, left : left + inner] = small
    return whole


def _lower(side: int) -> int:
    """How far below the coarse crop's middle that of the patch lies, px of the crop."""
    return round(_HIGHER * side / _WIDTH)


def _flat(whole: Float32, below: Float32, unit: float) -> Float32:
    """The picture without detail: float32[S, S, 3].

    Args:
        whole: float32[S, S, 3], filled in where it is not known.
        below: float32[S, S], 1 where the neck is.
        unit: side of the patch, px.
    """
    levels = np.clip(np.rint(whole), 0, 255).astype(np.uint8)
    start, end = np.searchsorted(below[:, 0], [_FAINT, 1 - _FAINT])
    flat = np.empty_like(whole)
    flat[:end] = _median(levels, slice(0, end), _MEDIAN * unit)
    narrow = _median(levels, slice(start, len(whole)), _NECK_MEDIAN * unit)
    flat[end:] = narrow[end - start :]
    flat[start:end] += below[start:end, None] * (narrow[: end - start] - flat[start:end])
    return np.asarray(cv2.GaussianBlur(flat, (0, 0), _BLUR * unit), np.float32)


def _median(levels: NDArray[np.uint8], rows: slice, width_px: float) -> Float32:
    """Median of some rows of a picture, seen with as much beside them as it reaches: float32."""
    half = max(round(width_px / 2), 1)
    first = max(rows.start - half, 0)
    part = cv2.medianBlur(levels[first : rows.stop + half], 2 * half + 1)
    return np.asarray(part[rows.start - first :][: rows.stop - rows.start], np.float32)


def _strands_of(whole: Float32, known: Bool, unit: float) -> tuple[Float32, Float32]:
    luma = np.asarray(cv2.cvtColor(whole, cv2.COLOR_BGR2GRAY), np.float32)
    return strands(luma, known, unit)


def _run_on(scene: _Scene) -> Float32:
    """Every pixel as the nearest known one, after a blur of the known ones; float32[S, S, 3]."""
    known, weight = scene.known, scene.known.astype(np.float32)
    both = cv2.merge([*cv2.split(scene.around * weight[..., None]), weight])
    soft = cv2.GaussianBlur(both, (0, 0), _RUN_ON * scene.unit)
    colours = soft[..., :3] / np.maximum(soft[..., 3:], np.float32(_FAINT))
    found = cv2.distanceTransformWithLabels(
        (~known).astype(np.uint8), cv2.DIST_L2, 5, labelType=cv2.DIST_LABEL_PIXEL
    )
    labels = np.asarray(found[1], np.int32)
    nearest = np.empty(int(labels.max()) + 1, np.intp)
    nearest[labels[known]] = np.flatnonzero(known)
    return np.asarray(colours.reshape(-1, 3).take(nearest.take(labels), axis=0), np.float32)


def _below(corners: Float32, side: int) -> Float32:
    """1 below the face, falling to 0 beside it: float32[side, 1]."""
    chin, height = corners[:, 1].max(), np.ptp(corners[:, 1])
    start, end = (chin - share * height for share in _NECK)
    rows = np.arange(side, dtype=np.float32)[:, None] + np.float32(0.5)
    return rise(rows, start, end)


def _beside(is_free: Bool, unit: float) -> Float32:
    """0 in other faces' boxes, rising to 1 beside them; float32[S, S]."""
    if is_free.all():
        return np.ones(is_free.shape, np.float32)
    away = cv2.distanceTransform(is_free.astype(np.uint8), cv2.DIST_L2, 5)
    return rise(np.asarray(away, np.float32), 0, _APART * unit)


def _lie_of(corners: Float32, still: Float32, scene: _Scene) -> Surrounded:
    """Where a painted face and its head lie.

    Args:
        corners: float32[M, 2] outline of the painted face, px of the crop.
        still: the same of the face at rest.
        scene: gives what is hidden.
    """
    face = filled([corners], scene.side)
    depth = cv2.distanceTransform(face, cv2.DIST_L2, 5)
    depth = depth - cv2.distanceTransform(1 - face, cv2.DIST_L2, 5)
    away = cv2.distanceTransform((~scene.hidden).astype(np.uint8), cv2.DIST_L2, 5)
    return Surrounded(
        head_of(still, scene.side),
        corners,
        np.asarray(depth, np.float32),
        np.asarray(away, np.float32),
        scene.unit,
    )


def _reach_weight(lie: Surrounded) -> Float32:
    """1 on the patch and around it, falling to 0 beyond the reach and at the crop's edge."""
    unit = lie.unit
    reach = _REACH + _UPWARDS * rise(lie.down(slice(None)), *_UPPER)
    weight = np.clip(1 - (lie.away - reach * unit) / (_FALL * unit), 0, 1)
    edge = faded(len(lie.away), _FALL * unit)
    return rise(np.minimum(weight, edge), 0, 1)


def _face_weight(lie: Surrounded, hairline: Float32) -> Float32:
    """1 on the painted face, falling to 0 around its outline and its hairline; float32[S, S].

    Args:
        lie: where the face lies.
        hairline: float32[S, S], px below it.
    """
    depth = np.minimum(cv2.GaussianBlur(lie.depth, (0, 0), _ROUNDED * lie.unit), hairline)
    chin = rise(lie.down(slice(None)), *_CHIN)
    start, end = (
        at + (at_chin - at) * chin for at, at_chin in zip(_FACE, _FACE_AT_CHIN, strict=True)
    )
    return rise(np.asarray((depth / lie.unit - start) / (end - start), np.float32), 0, 1)


def _with_shade(
    smooth: Float32, weight: Float32, shade: Float32, shadow: Float32
) -> tuple[Float32, Float32]:
    """A layer and its weights with a shadow on what it lets through.

    Args:
        smooth: float32[S, S, 3], the layer.
        weight: float32[S, S] of it, 0…1.
        shade: float32[S, S], how much of the rest is in the shadow.
        shadow: float32[3] BGR.
    """
    added = (1 - weight) * shade
    both = weight + added
    share = np.asarray(added / np.maximum(both, np.float32(_FAINT)), np.float32)
    return laid_over(smooth, shadow, share), both
