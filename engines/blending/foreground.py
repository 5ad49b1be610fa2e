"""Leaves in front of a swapped face what was in front of it: a hand, a microphone, a shoulder.

`engines.blending.occlusion` says what is. Its marks are coarse; their rim is drawn to the edges of
the picture, and the picture's own pixels are laid over the patch, which stays opaque.
`scripts/measure_occlusion.py` measures what is marked on free faces, and what recognisers make of
marks that are as wrong as can be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.blending.occlusion import MOST_HIDDEN, SURE, along_edges
from engines.blending.patches import Patch, Placed, warped_patch
from engines.face.alignment import Similarity, crop_from_picture, identity_mask, inverse_of, moved
from engines.face.crop_regions import disc, faded, filled, within_boxes
from engines.pictures import Picture
from engines.stylegan.drawing import rise
from engines.types import Box

__all__ = ["foreground"]

_FINER: Final = 2
"""How much finer rims are drawn than marks are."""
_REACH: Final = 0.03
"""How far off an edge of the picture the rim of a mark may lie, a share of the crop's side."""
_RISE: Final = (0.4, 0.7)
"""Certainty between which what is in front comes to be seen. Larger shows less skin beside it."""
_EDGE: Final = 0.03
"""Width over which it ends at the edge of the crop, a share of the side."""

Float32 = NDArray[np.float32]


def foreground(picture: Picture, patch: Patch, others: Sequence[Box]) -> Placed | None:
    """What is in front of a face, to be laid over the composite last.

    Args:
        picture: the frame as it came, before anything is written.
        patch: the face's, with an occlusion.
        others: boxes x0 y0 x1 y1 px of the frame of all other faces: nothing is shown there.

    Returns:
        Pixels and weights in a window of the frame, of weight 0 wherever nothing was marked;
        None where nothing is in front, or more than `MOST_HIDDEN` of what tells who it is would
        be shown, or the window lies outside the frame.

    Raises:
        EngineFault: the crop is not placed by a similarity.
    """
    seen = patch.occlusion
    if seen is None or not seen.marks.any():
        return None
    size = seen.sure.shape[0]
    sure = seen.sure * (1 - within_boxes(others, seen.crop_from_frame, size))
    if float((sure > SURE)[_identity_in(patch, seen.crop_from_frame, size)].mean()) > MOST_HIDDEN:
        return None
    placed = warped_patch(picture, _drawn(picture, sure, seen.crop_from_frame))
    if placed is None:
        return None
    height, width = placed.alpha.shape
    placed.pixels[:] = picture.region_bgr(placed.top, placed.left, height, width)
    # Beside the patch, the thing itself is still to be seen.
    return _within(placed, patch, picture)


def _identity_in(patch: Patch, place: Similarity, size: int) -> NDArray[np.bool_]:
    """What of the crop of the marks must be hidden: bool[size, size], never empty."""
    if patch.identity is None:
        return identity_mask(size)
    there = moved(inverse_of(patch.crop_from_frame), patch.identity * patch.alpha.shape[0])
    must = filled([moved(place, there)], size) > 0
    return must if must.any() else np.ones_like(must)


def _drawn(picture: Picture, sure: Float32, place: Similarity) -> Patch:
    """A patch whose alpha is 1 on what is in front, of any pixels."""
    side = sure.shape[0] * _FINER
    fine = place * np.float32(_FINER)
    crop = crop_from_picture(picture, fine, side)
    grey = cv2.cvtColor(crop, cv2.COLOR_BGR2GRAY).astype(np.float32)
    marks = cv2.resize(sure, (side, side), interpolation=cv2.INTER_LINEAR)
    rim = rise(along_edges(np.asarray(marks, np.float32), grey, _REACH * side), *_RISE)
    is_front, reach = np.asarray(marks > SURE, np.uint8), disc(_REACH * side / 2)
    inner, near = cv2.erode(is_front, disc(_REACH * side)), cv2.dilate(is_front, reach)
    alpha = np.maximum(rim, inner) * near * faded(side, _EDGE * side)
    return Patch(crop.astype(np.float32), np.asarray(alpha, np.float32), fine)


def _within(placed: Placed, patch: Patch, picture: Picture) -> Placed | None:
    """The same where the patch is."""
    own = warped_patch(picture, patch)
    if own is None:
        return None
    top, left = placed.top - own.top, placed.left - own.left
    height, width = placed.alpha.shape
    over = cv2.warpAffine(
        np.ascontiguousarray(own.alpha),
        np.array([[1, 0, -left], [0, 1, -top]], np.float32),
        (width, height),
    )
    placed.alpha[:] *= over
    return placed
