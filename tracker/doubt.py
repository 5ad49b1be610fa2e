"""When a link may join two different people.

A link is doubted, and the face covered, when an exchange of two identities would explain the
frame almost as well (faces crossing, overlapping, one hidden behind the other), when place or
size jumped, when the face was unseen for too long, or when an appearance distance says so.
Being wrong the other way would carry one person's surrogate over to another.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from engines.types import Face
from tracker.association import Matches, Prices

__all__ = ["AppearanceDistance", "exchangeable", "has_moved_away", "has_resized"]

AppearanceDistance = Callable[[int, int, Face], float | None]
"""(track id, frame index, face) → 1 − cosine to how the track looked, 0…2; None: not known."""

Flags = NDArray[np.bool_]

_EXCHANGE_MARGIN = 0.45
"""Face sizes by which the second-best explanation must be worse."""
_AWAY_SIZES = 0.6
"""Beyond this the new box leaves the expected face bare: its place is kept covered as well."""
_RESIZE_LOG = float(np.log(1.5))
_RESIZE_STD = 3.0


def exchangeable(prices: Prices, matches: Matches, claimants: Flags, clear_faces: Flags) -> Flags:
    """Tracks that could be exchanged with another track or for another face.

    Args:
        prices: of T tracks and N detections.
        matches: M of them linked.
        claimants: (T,) tracks that are surely somebody; the others raise no doubt.
        clear_faces: (N,) detections that are surely somebody. The others raise doubt where
            they lie nearer to a track than what was linked to it, as a face does that got weak
            just when a clear one came by.

    Returns:
        (T,) true where the identity is doubtful, matched or not.
    """
    unlike = prices.unlikeness
    doubtful = np.zeros(len(claimants), dtype=bool)
    own = unlike[matches.tracks, matches.faces]
    known = claimants[matches.tracks]
    _mark_swaps(doubtful, unlike, matches, own, known)
    _mark_rivals(doubtful, unlike, matches, own, claimants)
    _mark_others(doubtful, unlike, matches, own, known, clear_faces)
    return doubtful


def _mark_others(
    doubtful: Flags,
    unlike: NDArray[np.float64],
    matches: Matches,
    own: NDArray[np.float64],
    known: Flags,
    clear_faces: Flags,
) -> None:
    """One track, two faces: the one that no track got fits almost as well, or better."""
    free = np.setdiff1d(np.arange(len(clear_faces)), matches.faces)
    if not len(free) or not len(own):
        return
    margins = np.where(clear_faces[free], _EXCHANGE_MARGIN, 0.0)
    close = unlike[np.ix_(matches.tracks, free)] - own[:, None] < margins
    doubtful[matches.tracks[known & close.any(axis=1)]] = True


def _mark_swaps(
    doubtful: Flags,
    unlike: NDArray[np.float64],
    matches: Matches,
    own: NDArray[np.float64],
    known: Flags,
) -> None:
    """Two tracks, two faces: the swap is almost as good."""
    crossed = unlike[np.ix_(matches.tracks, matches.faces)]
    extra = crossed + crossed.T - own[:, None] - own[None, :]
    close = (extra < 2 * _EXCHANGE_MARGIN) & known[:, None] & known[None, :]
    np.fill_diagonal(close, val=False)
    doubtful[matches.tracks[close.any(axis=1)]] = True


def _mark_rivals(
    doubtful: Flags,
    unlike: NDArray[np.float64],
    matches: Matches,
    own: NDArray[np.float64],
    claimants: Flags,
) -> None:
    """Two tracks, one face: the track left without it fits almost as well."""
    waiting = claimants.copy()
    waiting[matches.tracks] = False
    rivals = np.flatnonzero(waiting)
    if not len(rivals) or not len(own):
        return
    close = unlike[np.ix_(rivals, matches.faces)] - own[None, :] < _EXCHANGE_MARGIN
    close &= claimants[matches.tracks][None, :]
    doubtful[rivals[close.any(axis=1)]] = True
    doubtful[matches.tracks[close.any(axis=0)]] = True


def has_moved_away(prices: Prices, matches: Matches) -> Flags:
    """(M,) links to a place where the new box would not cover the expected face."""
    return matches.is_jump | (prices.distance[matches.tracks, matches.faces] > _AWAY_SIZES)


def has_resized(prices: Prices, matches: Matches, log_spread: NDArray[np.float64]) -> Flags:
    """(M,) links whose size changed faster than a head can.

    Args:
        prices: of T tracks and N detections.
        matches: M of them linked.
        log_spread: (T,) standard deviation of the tracks' expected log sizes.
    """
    limit = np.maximum(_RESIZE_LOG, _RESIZE_STD * log_spread[matches.tracks])
    resized: Flags = prices.log_size[matches.tracks, matches.faces] > limit
    return resized
