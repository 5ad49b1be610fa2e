"""Hair that a patch hides: short hair, and hair beside a temple, may end where the patch does.

Nobody has hair on top and beside the face, and none in between. Where a head has hair, and what is
next to the patch is neither hair nor the skin of a bald head, there is hair under the patch's rim;
without it, what is behind the head would be drawn in up to the face.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.hairline import Hair
from engines.polar import REACH, STEPS, UP, along, distances, smooth_around
from engines.seam import skin_likeness
from engines.stylegan.drawing import rise

__all__ = ["with_hidden"]

_HAS_HAIR: Final = (0.01, 0.03)
"""Mean widths of sure hair on rays that rise, between which a head comes to have hair."""
_RISES: Final = 0.3
_REACHES: Final = 0.08
"""How steeply these rise, and how far beyond a patch what it hides is drawn."""
_BESIDE: Final = np.array([0.02, 0.04, 0.06], np.float32)
_SKIN: Final = (0.2, 0.5)
"""Where beyond the patch is looked for skin, and the likenesses between which it counts as that."""

Float32 = NDArray[np.float32]


def with_hidden(hair: Hair, hidden: Float32, around: Float32, skin: Float32) -> Hair:
    """Hair as it was read, and what of it the patch hides.

    Args:
        hair: as it was read.
        hidden: float32[RAYS], where the patch ends.
        around: float32[RAYS, STEPS, 3] BGR, what is around it.
        skin: float32[3] BGR of the face.
    """
    upper = UP > _RISES
    wide = hair.places[upper].sum(axis=1).mean() * (REACH / STEPS)
    beside = along(around, hidden[:, None] + _BESIDE)
    like = skin_likeness(beside, skin).max(axis=1)
    share = rise(np.full(1, wide, np.float32), *_HAS_HAIR) * (1 - rise(like, *_SKIN)) * upper
    share = smooth_around(np.asarray(share, np.float32), 1.0)
    reaches = hidden + share * np.float32(_REACHES)
    short = np.maximum(reaches - np.maximum(hair.ends, hidden), 0)
    out = distances()
    is_near = (out > hidden[:, None]) & (out < reaches[:, None])
    places = np.maximum(hair.places, is_near * share[:, None])
    begins = np.where(short > 0, hair.begins + share * (hidden - hair.begins), hair.begins)
    return Hair(*(np.asarray(one, np.float32) for one in (begins, hair.ends + short, places)))
