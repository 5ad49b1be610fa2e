"""Lids of shutting eyes: how landmarks say that eyes are shut, and shut other eyes likewise.

The landmark network learnt from photographs, on which hardly anybody blinks, and draws lids nearly
as far apart when they are shut. Where `engines.face.lid_reading` sees an eye shutting, its lids are
drawn together by the share that it lacks, and a surrogate's lids go the same share of their own
way. How far an eye is usually open tells people apart, and nothing is said of it here:
lids open and narrow by as much, in proportion, as their subject's depart from that.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from engines.stylegan.topology import EYE_LEFT_SLICE, EYE_RIGHT_SLICE

__all__ = [
    "BOTH_EYES",
    "EYES",
    "drawn_together",
    "gap_of",
    "lids_as_read",
    "narrowed",
    "open_shares",
]
__all__ += ["openings"]

_SHUT, _OPEN = 0.2, 0.95
"""Openness up to which an eye is shut, and from which on it is open. Between them its lids are as
far apart as the third power says: eyes that shut are read as more open than they are."""
_WINKS: Final = 0.7
"""How much farther open one eye must be read than the other for the person to wink: eyes blink
together, and both tell more than one."""
_SHUTTING: Final = 0.16
"""Gap of the lids, as a share of the eye's width, below which an eye is about to shut; landmarks of
open ones are read wider."""
_WIDEST: Final = 1.4
"""How far eyes open at most, over how far they usually are."""
_RESTS: Final = 0.15
"""Where shut lids meet, from the lower one, as a share of the open eye's gap."""
_FAINT: Final = 1e-6

EYES: Final = (EYE_LEFT_SLICE, EYE_RIGHT_SLICE)
"""Lids float32[16, 3] of both: from the outer corner along the lower lid, 8 the inner corner."""
BOTH_EYES: Final = np.array([np.arange(EYE_RIGHT_SLICE.stop)[lids] for lids in EYES])
"""The same as rows (2, 16) of landmarks."""

Float32 = npt.NDArray[np.float32]


def drawn_together(points: Float32, openness: Float32) -> Float32:
    """Landmarks with the lids of shutting eyes as far together as these are shut.

    Args:
        points: float32[N, POINTS, 3].
        openness: float32[N, 2] of the eyes on the left and the right, 0 shut to 1 open.

    Returns:
        The same where eyes are open; else a new array.
    """
    both = openness.mean(axis=1, keepdims=True)
    winks = np.abs(openness[:, :1] - openness[:, 1:]) > _WINKS
    seen = np.where(winks, openness, both)
    if (seen >= _OPEN).all():
        return points
    made = points.copy()
    for side, lids in enumerate(EYES):
        open_ = np.clip((seen[:, side] - _SHUT) / (_OPEN - _SHUT), 0, 1) ** 3
        made[:, lids] = narrowed(points[:, lids], open_.astype(np.float32))
    return made


def lids_as_read(smooth: Float32, read: Float32) -> Float32:
    """Smoothed landmarks whose shut eyes are as shut as they were read.

    A blink lasts for a few frames, and the mean of more of them would hold the eyes open.

    Args:
        smooth: float32[POINTS, 3].
        read: the same, of one frame.

    Returns:
        The same as `smooth` where eyes are open; else a new array.
    """
    wanted, found = gap_of(read[BOTH_EYES]), gap_of(smooth[BOTH_EYES])
    is_shut = wanted < np.minimum(found, np.float32(_SHUTTING))
    if not is_shut.any():
        return smooth
    made, lids = smooth.copy(), BOTH_EYES[is_shut]
    share = np.asarray(wanted / np.maximum(found, _FAINT), np.float32)
    made[lids] = narrowed(made[lids], share[is_shut])
    return made


def openings(points: Float32) -> Float32:
    """How far both eyes of landmarks float32[N, >=MESH_POINTS, 3] are open: float32[N, 2].

    Gaps as shares of the eyes' width; an eye that is about to shut counts as one that just is not.
    """
    return np.asarray(np.maximum(gap_of(points[:, BOTH_EYES]), np.float32(_SHUTTING)), np.float32)


def open_shares(points: Float32, usual: Float32 | None = None) -> Float32:
    """How far open both eyes of landmarks are, 1 for open as usual: float32[N, 2].

    Args:
        points: float32[N, >=MESH_POINTS, 3], lids of shutting eyes drawn together.
        usual: `openings` of the same faces as they usually look; where it is not known, all eyes
            are open as usual but for those that shut.
    """
    usual = openings(points) if usual is None else usual
    shares = gap_of(points[:, BOTH_EYES]) / usual
    return np.asarray(np.minimum(shares, np.float32(_WIDEST)), np.float32)


def gap_of(lids: Float32) -> Float32:
    """How far lids float32[..., 16, 3] are apart, as a share of the eye's width: float32[...]."""
    apart = np.linalg.norm(lids[..., 9:, :] - lids[..., 7:0:-1, :], axis=-1).max(axis=-1)
    width = np.linalg.norm(lids[..., 8, :] - lids[..., 0, :], axis=-1)
    return np.asarray(apart / np.maximum(width, _FAINT), np.float32)


def narrowed(lids: Float32, share: Float32) -> Float32:
    """Lids float32[N, 16, 3] brought together to a share float32[N] of their gap.

    >>> lids = np.zeros((1, 16, 3), np.float32)
    >>> lids[0, 9:, 1] = -1
    >>> round(float(narrowed(lids, np.zeros(1, np.float32))[0, 9, 1]), 2)
    -0.15
    """
    made, left = lids.copy(), (1 - share)[:, None, None]
    lower, upper = lids[:, 1:8], lids[:, :8:-1]
    meet = lower + np.float32(_RESTS) * (upper - lower)
    made[:, 1:8] += left * (meet - lower)
    made[:, 9:] += (left * (meet - upper))[:, ::-1]
    return made
