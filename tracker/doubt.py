"""When a link may join two different people.

A link is doubted, and the face covered, when an exchange of two identities would explain the
frame almost as well (faces crossing, overlapping, one hidden behind the other), when place or
size jumped, when the face was unseen for too long, or when an appearance distance says so.
Being wrong the other way would carry one person's surrogate over to another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engines.face.glance import ALIKE
from engines.types import Face
from tracker.association import Matches, Prices

__all__ = ["AppearanceDistance", "Looks", "exchangeable", "has_moved_away", "has_resized"]

AppearanceDistance = Callable[[int, int, Face], float | None]
"""(track id, frame index, face) → 1 − cosine to how the track looked, 0…2; None: not known."""

Flags = NDArray[np.bool_]

_EXCHANGE_MARGIN = 0.45
"""Face sizes by which the second-best explanation must be worse."""
_CLEARLY_MORE = 0.1
"""Likeness by which a face must be more alike to its track than another."""
_RATHER_ALIKE = 0.8
_FAR_MORE = 0.5
"""The same two for a face that moved or turned a little, where the other looks nothing like it."""
_UNLIKE = 0.3
"""Likeness up to which two pictures do not show one face, even a second apart. Larger: fewer covers
on the way to what is no face; more faces that turn while they jump are bare on their way."""
_AWAY_SIZES = 0.6
"""Beyond this the new box leaves the expected face bare: its place is kept covered as well."""
_RESIZE_LOG = float(np.log(1.5))
_RESIZE_STD = 3.0


@dataclass(frozen=True, slots=True)
class Looks:
    """How alike faces look to what tracks looked like when they were seen last.

    Attributes:
        alike: (T, N) float64, -1 to 1; not a number where unknown.
        is_fresh: (T,) whether the track was seen a moment ago.
    """

    alike: NDArray[np.float64]
    is_fresh: Flags

    @staticmethod
    def unknown(tracks: int, faces: int) -> Looks:
        """Nobody was looked at."""
        return Looks(np.full((tracks, faces), np.nan), np.zeros(tracks, dtype=bool))

    def of_links(self, matches: Matches) -> NDArray[np.float64]:
        """(M,) likeness of every linked face to its track; not a number where that is stale."""
        own = self.alike[matches.tracks, matches.faces]
        return np.where(self.is_fresh[matches.tracks], own, np.nan)

    def are_unlike(self, matches: Matches) -> Flags:
        """(M,) links to faces that look otherwise than their tracks did; false where unknown."""
        with np.errstate(invalid="ignore"):
            unlike: Flags = self.alike[matches.tracks, matches.faces] <= _UNLIKE
        return unlike


def exchangeable(
    prices: Prices,
    matches: Matches,
    claimants: Flags,
    clear_faces: Flags,
    looks: Looks | None = None,
) -> Flags:
    """Tracks that could be exchanged with another track or for another face.

    Args:
        prices: of T tracks and N detections.
        matches: M of them linked.
        claimants: (T,) tracks that are surely somebody; the others raise no doubt.
        clear_faces: (N,) detections that are surely somebody. The others raise doubt where
            they lie nearer to a track than what was linked to it, as a face does that got weak
            just when a clear one came by.
        looks: how alike tracks and faces are. A face that looks as its own track just did, and
            clearly more so than the other face or to the other track, was not exchanged.

    Returns:
        (T,) true where the identity is doubtful, matched or not.
    """
    unlike = prices.unlikeness
    doubtful = np.zeros(len(claimants), dtype=bool)
    own = unlike[matches.tracks, matches.faces]
    known = claimants[matches.tracks]
    seen = looks or Looks.unknown(*unlike.shape)
    _mark_swaps(doubtful, unlike, matches, own, known, seen)
    _mark_rivals(doubtful, unlike, matches, own, claimants, seen)
    _mark_others(doubtful, unlike, matches, own, known, clear_faces, seen)
    return doubtful


def _mark_others(
    doubtful: Flags,
    unlike: NDArray[np.float64],
    matches: Matches,
    own: NDArray[np.float64],
    known: Flags,
    clear_faces: Flags,
    looks: Looks,
) -> None:
    """One track, two faces: the one that no track got fits almost as well, or better."""
    free = np.setdiff1d(np.arange(len(clear_faces)), matches.faces)
    if not len(free) or not len(own):
        return
    margins = np.where(clear_faces[free], _EXCHANGE_MARGIN, 0.0)
    close = unlike[np.ix_(matches.tracks, free)] - own[:, None] < margins
    close &= ~_is_told(looks.of_links(matches)[:, None], looks.alike[np.ix_(matches.tracks, free)])
    doubtful[matches.tracks[known & close.any(axis=1)]] = True


def _mark_swaps(
    doubtful: Flags,
    unlike: NDArray[np.float64],
    matches: Matches,
    own: NDArray[np.float64],
    known: Flags,
    looks: Looks,
) -> None:
    """Two tracks, two faces: the swap is almost as good."""
    crossed = unlike[np.ix_(matches.tracks, matches.faces)]
    extra = crossed + crossed.T - own[:, None] - own[None, :]
    close = (extra < 2 * _EXCHANGE_MARGIN) & known[:, None] & known[None, :]
    told = _is_told(
        looks.of_links(matches)[:, None], looks.alike[np.ix_(matches.tracks, matches.faces)]
    )
    close &= ~(told | told.T)
    np.fill_diagonal(close, val=False)
    doubtful[matches.tracks[close.any(axis=1)]] = True


def _mark_rivals(
    doubtful: Flags,
    unlike: NDArray[np.float64],
    matches: Matches,
    own: NDArray[np.float64],
    claimants: Flags,
    looks: Looks,
) -> None:
    """Two tracks, one face: the track left without it fits almost as well."""
    waiting = claimants.copy()
    waiting[matches.tracks] = False
    rivals = np.flatnonzero(waiting)
    if not len(rivals) or not len(own):
        return
    close = unlike[np.ix_(rivals, matches.faces)] - own[None, :] < _EXCHANGE_MARGIN
    close &= claimants[matches.tracks][None, :]
    close &= ~_is_told(looks.of_links(matches)[None, :], looks.alike[np.ix_(rivals, matches.faces)])
    doubtful[rivals[close.any(axis=1)]] = True
    doubtful[matches.tracks[close.any(axis=0)]] = True


def _is_told(own: NDArray[np.float64], other: NDArray[np.float64]) -> Flags:
    """Whether looks alone tell who it is; false where either is not known."""
    with np.errstate(invalid="ignore"):
        told: Flags = (own >= ALIKE) & (own - other >= _CLEARLY_MORE)
        told |= (own >= _RATHER_ALIKE) & (own - other >= _FAR_MORE)
    return told


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
