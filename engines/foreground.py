"""Draws again, over a swapped face, what was in front of it: a hand, a microphone, a shoulder.

No pixel of the original is shown as it was. What is in front is drawn from its own marked pixels
after a blur, over a patch that stays opaque: a part of a face that was marked by mistake
would appear blurred, and `engines.occlusion` bounds how large it can be.
`scripts/measure_occlusion.py` measures what is marked on free faces, and what recognisers make of
marks that are as wrong as can be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import cv2
import numpy as np

from engines.alignment import crop_from_picture, identity_mask
from engines.crop_regions import faded, within_boxes
from engines.occlusion import MOST_HIDDEN, SURE, Occlusion
from engines.patches import Patch, Placed, warped_patch
from engines.pictures import Picture
from engines.types import Box

__all__ = ["BLUR_PER_SHARE", "LEAST_BLUR", "foreground"]

LEAST_BLUR: Final = 0.012
BLUR_PER_SHARE: Final = 0.08
"""Deviation of the blur, a share of the kveil crop's side: that of a thing which hides hardly
anything, and what is added for all of the identity oval. The more is drawn again, the less sharp.
Larger shows less of a face that was marked by mistake, and less of a hand."""
_RIM: Final = 0.012
"""Deviation of the soft rim, a share of the side."""
_RISE: Final = 0.3
"""Certainty over which the rim rises, half of it on either side of `SURE`."""
_EDGE: Final = 0.06
"""Width over which what is drawn ends at the edge of the crop, a share of the side."""
_FAINT: Final = 1e-3
_NEAR: Final = np.ones((3, 3), np.uint8)


def foreground(picture: Picture, patch: Patch, others: Sequence[Box]) -> Placed | None:
    """What is in front of a face, to be blended over the composite last.

    Args:
        picture: the frame as it came, before anything is written.
        patch: the face's, with an occlusion.
        others: boxes x0 y0 x1 y1 px of the frame of all other faces: nothing is read or drawn
            there.

    Returns:
        Pixels and weights in a window of the frame, of weight 0 wherever nothing was marked;
        None where nothing is in front, or more than `MOST_HIDDEN` of the identity oval would be
        drawn, or the window lies outside the frame.

    Raises:
        EngineFault: the crop is not placed by a similarity.
    """
    if patch.occlusion is None:
        return None
    drawn = _drawn(picture, patch.occlusion, others)
    placed = None if drawn is None else warped_patch(picture, drawn)
    # Beside the patch, the thing itself is still to be seen.
    return None if placed is None else _within(placed, patch, picture)


def _drawn(picture: Picture, occlusion: Occlusion, others: Sequence[Box]) -> Patch | None:
    place, size = occlusion.crop_from_frame, occlusion.sure.shape[0]
    free = 1 - within_boxes(others, place, size)
    marks = occlusion.marks * free
    share = float(marks[identity_mask(size)].mean())
    if share > MOST_HIDDEN:
        return None
    # A pixel at the rim of a mark may be half face: it gives no colour unless there is no other.
    weight = cv2.erode(marks, _NEAR).astype(np.float32) + np.float32(_FAINT) * marks
    crop = crop_from_picture(picture, place, size).astype(np.float32)
    both = cv2.merge([*cv2.split(crop * weight[..., None]), weight])
    blur = LEAST_BLUR + BLUR_PER_SHARE * share
    soft = cv2.GaussianBlur(both, (0, 0), blur * size)
    pixels = soft[..., :3] / np.maximum(soft[..., 3:], np.float32(1e-6))
    rim = cv2.GaussianBlur(occlusion.sure * free, (0, 0), _RIM * size)
    alpha = (
        np.clip((rim - SURE) / _RISE + 0.5, 0, 1)
        * cv2.dilate(marks, _NEAR)
        * faded(size, _EDGE * size)
    )
    return Patch(np.asarray(pixels, np.float32), np.asarray(alpha, np.float32), place)


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
