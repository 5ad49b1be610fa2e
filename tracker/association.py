"""Which detection belongs to which track.

Two stages after ByteTrack (Zhang et al., 2022): detections with high scores choose among all
tracks, then those with low scores among the tracks still free. The price is the distance of
the centres in face sizes, plus the difference of the log sizes, less a bonus for overlap; so
small fast faces, whose boxes no longer overlap, match as well as large slow ones. The gate
widens with the motion model's uncertainty, hence with the frames the detector left out. A
third stage links what is left over within `reach`: such a link is a jump, never trusted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engines.detectors.detector import overlaps_of

__all__ = ["Matches", "Prices", "associate", "prepare", "price"]

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

_SMALLEST_GATE = 0.6
_GATE_STD = 3.0
_SIZE_GATE = float(np.log(2.5))
_OVERLAP_BONUS = 0.5
_FORBIDDEN = 1e6


@dataclass(frozen=True, slots=True)
class Prices:
    """How far each of T tracks is from each of N detections.

    Attributes:
        distance: (T, N) float64, distance of the centres ÷ geometric mean of the sizes.
        log_size: (T, N) float64, absolute difference of the log sizes.
        overlap: (T, N) float64, intersection over union, 0…1.
    """

    distance: Floats
    log_size: Floats
    overlap: Floats

    @property
    def unlikeness(self) -> Floats:
        """(T, N) float64, one number for place and size; 0 when equal."""
        return np.hypot(self.distance, self.log_size)


@dataclass(frozen=True, slots=True)
class Matches:
    """Outcome of one frame.

    Attributes:
        tracks: (M,) rows of the tracks matched.
        faces: (M,) rows of the detections they were matched to.
        is_jump: (M,) bool; linked only within reach, where nobody was expected.
    """

    tracks: Rows
    faces: Rows
    is_jump: NDArray[np.bool_]


def price(tracks_px: Floats, faces_px: Floats) -> Prices:
    """Prices between (T, 4) predicted boxes and (N, 4) detected boxes.

    >>> price(np.array([[0.0, 0, 2, 2]]), np.array([[2.0, 0, 4, 2]])).distance.tolist()
    [[1.0]]
    """
    centres = [(b[:, :2] + b[:, 2:]) / 2 for b in (tracks_px, faces_px)]
    logs = [
        np.log(np.maximum(b[:, 2:] - b[:, :2], 1e-3)).mean(axis=1) for b in (tracks_px, faces_px)
    ]
    away = centres[0][:, None, :] - centres[1][None, :, :]
    scale = np.exp((logs[0][:, None] + logs[1][None, :]) / 2)
    return Prices(
        np.hypot(away[..., 0], away[..., 1]) / scale,
        np.abs(logs[0][:, None] - logs[1][None, :]),
        overlaps_of(tracks_px, faces_px),
    )


def associate(
    prices: Prices, spread: Floats, scores: Floats, *, high_score: float, reach_sizes: Floats
) -> Matches:
    """Match detections to tracks.

    Args:
        prices: of T tracks and N detections.
        spread: (T,) uncertainty of the tracks' places, in face sizes.
        scores: (N,) detector scores, 0…1.
        high_score: detections from this score go first.
        reach_sizes: (T,) farthest distance of a link, in face sizes.

    >>> near = price(np.array([[0.0, 0, 2, 2]]), np.array([[0.2, 0, 2.2, 2]]))
    >>> associate(near, np.array([0.1]), np.array([0.9]), high_score=0.5,
    ...           reach_sizes=np.array([2.5])).tracks.tolist()
    [0]
    """
    gate = np.clip(_GATE_STD * spread, _SMALLEST_GATE, reach_sizes)[:, None]
    fits = prices.log_size <= _SIZE_GATE
    expected = fits & (prices.distance <= gate)
    within_reach = fits & (prices.distance <= reach_sizes[:, None])
    cost = prices.distance + prices.log_size + _OVERLAP_BONUS * (1.0 - prices.overlap)
    high = scores >= high_score
    free_tracks = np.ones(len(spread), dtype=bool)
    free_faces = np.ones(len(scores), dtype=bool)
    found: list[tuple[Rows, Rows, bool]] = []
    stages = ((expected, high, False), (expected, ~high, False), (within_reach, high | ~high, True))
    for allowed, wanted, is_jump in stages:
        tracks, faces = _assign(cost, allowed, free_tracks, free_faces & wanted)
        free_tracks[tracks] = False
        free_faces[faces] = False
        found.append((tracks, faces, is_jump))
    return Matches(
        np.concatenate([tracks for tracks, _, _ in found]),
        np.concatenate([faces for _, faces, _ in found]),
        np.concatenate([np.full(len(tracks), jump) for tracks, _, jump in found]),
    )


def _assign(
    cost: Floats,
    allowed: NDArray[np.bool_],
    tracks_free: NDArray[np.bool_],
    faces_free: NDArray[np.bool_],
) -> tuple[Rows, Rows]:
    """Cheapest one-to-one assignment among the allowed pairs of free rows and columns."""
    rows, columns = np.flatnonzero(tracks_free), np.flatnonzero(faces_free)
    if not len(rows) or not len(columns):
        return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
    pick = np.ix_(rows, columns)
    usable, prices = allowed[pick], np.where(allowed[pick], cost[pick], _FORBIDDEN)
    chosen_rows, chosen_columns = _cheapest(usable, prices)
    kept = usable[chosen_rows, chosen_columns]
    return rows[chosen_rows[kept]], columns[chosen_columns[kept]]


def prepare() -> None:
    """Imports the solver for crossing faces, so that no live frame waits for it."""
    from scipy.optimize import linear_sum_assignment

    linear_sum_assignment(np.zeros((1, 1)))


def _cheapest(usable: NDArray[np.bool_], prices: Floats) -> tuple[Rows, Rows]:
    """Rows and columns of the cheapest one-to-one assignment.

    Where each row's cheapest column is another, or each column's cheapest row, nothing is
    cheaper, and nothing needs to be solved.
    """
    for is_turned in (False, True):
        some, costs = (usable.T, prices.T) if is_turned else (usable, prices)
        own = np.flatnonzero(some.any(axis=1))
        best = costs[own].argmin(axis=1)
        if len(set(best.tolist())) == len(best):
            return (best, own) if is_turned else (own, best)
    # Imported where it is needed: half a second of a start that most clips do without.
    from scipy.optimize import linear_sum_assignment

    return linear_sum_assignment(prices)
