"""Hair that a patch hides: short hair, and hair beside a temple, may end where the patch does.

Nobody has hair on top and beside the face, and none in between. Where a head has hair, and what is
next to the patch is neither hair nor the skin of a bald head, there is hair under the patch's rim;
without it, what is behind the head would be drawn in up to the face. A patch that hides a whole
head tells nothing of its hair; hair is drawn there too, as nearly all heads have some.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.hairline import Hair
from engines.polar import RAYS, REACH, STEPS, UP, along, smooth_around
from engines.seam import skin_likeness
from engines.stylegan.drawing import rise

__all__ = ["UPPER", "amount_of", "with_hidden"]

_HAS_HAIR: Final = (0.003, 0.01)
"""Amounts between which a head comes to have hair."""
_ALL_HIDDEN: Final = (0.6, 0.9)
"""Shares of the rays that end on what is behind a head between which the patch hides all of it."""
UPPER: Final = UP > 0.3
_REACHES: Final = 0.05
_LESS_BESIDE: Final = 0.7
_ON_TOP: Final = (0.3, 0.85)
"""These rays, how far beyond a patch what it hides is drawn, and how much less beside the face: how
steeply rays rise between which it comes to be that far."""
_BESIDE: Final = np.array([0.02, 0.04, 0.06], np.float32)
_BEHIND: Final = np.array([0.99, 1.09, 1.19], np.float32)
"""Where beyond the patch is looked for skin, and, from the middle, for what is behind the head."""
_BALD: Final = (0.2, 0.5)
"""Likenesses to skin, and not to what is behind, between which a ray comes to be bald."""

Float32 = NDArray[np.float32]


def amount_of(hair: Hair) -> float:
    """How wide sure hair is above a face, the mean of its rays, shares of the patch's side."""
    return float(hair.places[UPPER].sum(axis=1).mean()) * (REACH / STEPS)


def with_hidden(hair: Hair, amount: float, hidden: Float32, around: Float32, skin: Float32) -> Hair:
    """Hair as it was read, and what of it the patch hides.

    Args:
        hair: as it was read.
        amount: of hair on this head, now or before, see `amount_of`.
        hidden: float32[RAYS], where the patch ends.
        around: float32[RAYS, STEPS, 3] BGR, what is around it.
        skin: float32[3] BGR of the face.
    """
    like_skin, like_wall = _beyond(hidden, around, skin)
    bald = rise(np.asarray((like_skin * (1 - like_wall)).max(axis=1), np.float32), *_BALD)
    all_hidden = rise(like_wall.min(axis=1)[UPPER].mean(keepdims=True), *_ALL_HIDDEN)
    has_hair = np.maximum(rise(np.full(1, amount, np.float32), *_HAS_HAIR), all_hidden)
    share = has_hair * (1 - bald) * UPPER
    share = smooth_around(np.asarray(share, np.float32), 1.0)
    beside = np.float32(_LESS_BESIDE) * (1 - rise(UP, *_ON_TOP))
    reaches = hidden + share * np.float32(_REACHES) * (1 - beside)
    is_seen = hair.ends > hair.begins
    short = np.maximum(reaches - np.where(is_seen, hair.ends, hidden), 0).astype(np.float32)
    begins = np.where(short > 0, hidden, hair.begins).astype(np.float32)
    ends = np.where(short > 0, reaches, hair.ends).astype(np.float32)
    return Hair(begins, ends, hair.places, short)


def _beyond(hidden: Float32, around: Float32, skin: Float32) -> tuple[Float32, Float32]:
    """How like places beyond a patch are to skin, and to what is behind: float32[RAYS, N] each."""
    beside = along(around, hidden[:, None] + _BESIDE)
    behind = along(around, np.broadcast_to(_BEHIND, (RAYS, len(_BEHIND)))).mean(axis=1)
    return skin_likeness(beside, skin), skin_likeness(beside, behind[:, None])
