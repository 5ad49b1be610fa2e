"""How far landmarks may be off before anybody sees it.

A face far away or out of focus is read less exactly than a large one in focus, and shows it less:
an error no wider than the picture's own blur is not seen. So the doubt of such a face counts for
less.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from engines.blending.focus import MOST_BLUR, edge_width, slopes_of
from engines.face.alignment import EYES, crop_from_picture
from engines.face.face_look import Look, crop_with_eyes
from engines.face.swapper import DOUBT_LIMIT
from engines.pictures import Picture
from engines.stylegan.drawing import brightness
from engines.stylegan.masks import oval_from_points
from engines.stylegan.shape import EYES_APART

__all__ = ["softness", "visible_doubt"]

_SIDES: Final = (32, 96)
"""Sides between which a crop is in which focus is measured, px: at the frame's own scale, but for
large faces, whose blur is wider than can be told there."""
_SHARPEST: Final = 0.7
"""Blur of a picture in focus, px: what its lens and its pixels leave."""
_SOFT: Final = 2.5
"""Blur that is taken for a face without a single edge, px of that crop."""
_MOST: Final = 0.15
"""Error of landmarks that blur hides at most, distances of the eyes. Larger swaps more faces that
are hard to read, and shows some that lie beside their heads."""


def visible_doubt(look: Look, picture: Picture) -> float:
    """The doubt of a look, as far as the picture would show the error.

    Args:
        look: as it was read.
        picture: the frame that it was read in.

    Returns:
        The look's doubt where it is within the limit, infinite, or of a large face; else less in
        proportion, so that `DOUBT_LIMIT` is met where the picture's blur is as wide as the error.
    """
    eyes_px = float(np.hypot(*look.motion[2:]))
    limit_px = DOUBT_LIMIT / EYES_APART * eyes_px
    if not np.isfinite(look.doubt) or look.doubt <= DOUBT_LIMIT or limit_px >= MOST_BLUR:
        return look.doubt
    hidden = min(softness(look, picture), _MOST) * EYES_APART
    return look.doubt * DOUBT_LIMIT / max(hidden, DOUBT_LIMIT)


def softness(look: Look, picture: Picture) -> float:
    """Width of the blur of a face in its frame, in distances of its eyes.

    Portraits in focus have 0.02 to 0.04, faces 30 px high or out of focus 0.08 and more.
    """
    eyes_px = float(np.hypot(*look.motion[2:]))
    size = min(max(round(eyes_px / EYES_APART), _SIDES[0]), _SIDES[1])
    crop = crop_from_picture(picture, crop_with_eyes(look.motion, EYES, size), size)
    points = look.shape * np.float32(EYES_APART)
    points[:, :2] += EYES.mean(axis=0).astype(np.float32)
    width = edge_width(slopes_of(brightness(crop)), oval_from_points(points, size) > 0)
    blur_px = (_SOFT if np.isnan(width) else width) * eyes_px / EYES_APART / size
    return max(blur_px, _SHARPEST) / max(eyes_px, 1.0)
