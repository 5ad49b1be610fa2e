"""Movement of faces: what of it is more than faces at rest differ by, and what is read too small.

The landmark network learnt from photographs, which show few brows that rise and lips that purse: it
reads about so much less of each as the gains below say. `scripts/measure_swap.py` tells how far
painted faces move by then.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from engines.stylegan.topology import (
    BROW_LEFT_SLICE,
    BROW_RIGHT_SLICE,
    LIPS_INNER_SLICE,
    LIPS_OUTER_SLICE,
    MESH_POINTS,
)

__all__ = ["BROWS", "LIPS", "beyond_stillness", "movement_beyond_rest", "unread_movement"]

BROWS: Final = slice(BROW_LEFT_SLICE.start, BROW_RIGHT_SLICE.stop)
LIPS: Final = slice(LIPS_OUTER_SLICE.start, LIPS_INNER_SLICE.stop)
_RISING: Final = 1.5
"""How much farther than they are read brows rise and sink. Larger gains, here and below, move faces
more, and the noise of landmarks with them."""
_WIDENING: Final = 1.3
"""The same of mouths that are wider than they usually are."""
_NARROWING: Final = 1.8
"""The same of mouths that are narrower than they usually are."""
_ASIDE: Final = 1.5
"""The same of lips that move aside."""
_MOUTH_LEFT: Final = 0
_MOUTH_RIGHT: Final = 10
"""Corners of the mouth among the lips; the outer contour comes first."""
_REGAINED: Final = 1.5
"""By how much movement grows faster than it is, beyond what counts as none, until it is whole."""

Float32 = npt.NDArray[np.float32]


def movement_beyond_rest(
    expression: Float32, neutral: Float32, movement_gain: Float32, stillness: Float32
) -> Float32:
    """What of expression parts is movement rather than a face at rest, float32[N, K].

    Args:
        expression: float32[N, K].
        neutral: float32[K], see `ShapeModel`.
        movement_gain: float32[K, K], likewise.
        stillness: float32[K], likewise.

    >>> one = np.ones((1, 1), np.float32)
    >>> sizes = np.array([[1], [2], [9]], np.float32)
    >>> movement_beyond_rest(sizes, 0 * one[0], one, one[0]).ravel().tolist()
    [0.0, 1.5, 9.0]
    """
    found = np.asarray((expression - neutral) @ movement_gain.T, np.float32)
    return beyond_stillness(found, stillness)


def beyond_stillness(found: Float32, stillness: Float32 | np.float32) -> Float32:
    """Movements of any shape without what is as small as `stillness`; large ones lose nothing."""
    beyond = np.maximum(np.abs(found) - stillness, 0) * _REGAINED
    return np.asarray(np.sign(found) * np.minimum(beyond, np.abs(found)), np.float32)


def unread_movement(departed: Float32) -> Float32:
    """How much farther faces move than is read, float32[N, MESH_POINTS, 3].

    Args:
        departed: float32[N, MESH_POINTS * 3], how canonical landmarks differ from the usual ones.
    """
    away = departed.reshape(-1, MESH_POINTS, 3)
    more = np.zeros_like(away)
    lips = away[:, LIPS, 0]
    aside = lips.mean(axis=1, keepdims=True)
    is_wider = lips[:, _MOUTH_RIGHT] > lips[:, _MOUTH_LEFT]
    gain = np.where(is_wider, np.float32(_WIDENING), np.float32(_NARROWING))[:, None]
    more[:, LIPS, 0] = (gain - 1) * (lips - aside) + (_ASIDE - 1) * aside
    more[:, BROWS, 1] = (_RISING - 1) * away[:, BROWS, 1]
    return more
