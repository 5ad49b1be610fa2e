"""Changed places that belong to no face, followed over time, and whether a face is near them.

A cover on nothing is a find of the detector that was none. One beside a face is a second cover for
the same head, or one that lies off it; one where a face was a moment ago, or will be, came too
early or went too late.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from engines.detectors.detector import overlaps_of
from engines.types import Box

__all__ = ["FalseKind", "FalseTracks", "joined", "resized"]

FalseKind = Literal["beside", "before or after", "nothing"]
"""Where a false track lies: beside a face, where one was or will be within a second, elsewhere."""

_SAME_PLACE: Final = 0.1
"""Intersection over union from which two changed places are one."""
_REMEMBERED_S: Final = 0.3
"""Time for which a false track may be interrupted."""
_REMEMBERED_LOOKS: Final = 1.5
"""The same in times between two looks at the clip, of which the longer counts."""
_BESIDE: Final = 2.0
"""Size of what is beside a face, over that of its box."""
_REACH: Final = 1.5
"""Size of what a changed place reaches to, over that of its box: where two reach each other, they
are parts of one cover, which changes nothing where it is as plain as what it lies on."""
_SOON_S: Final = 1.0
"""Time before and after a false track in which a face at its place belongs to it."""

Spot = NDArray[np.float64]
"""(4,) x0 y0 x1 y1 px of a changed place."""


@dataclass(slots=True)
class _Track:
    """One false track.

    Attributes:
        spot: where it was last.
        last_s: when.
        looks: how often it was seen.
        beside: how often a face was beside it.
        is_met: a face was at its place, or came there.
    """

    spot: Spot
    last_s: float
    looks: int = 0
    beside: int = 0
    is_met: bool = False

    @property
    def kind(self) -> FalseKind:
        """Where it lies."""
        if 2 * self.beside >= self.looks:
            return "beside"
        return "before or after" if self.is_met else "nothing"


class FalseTracks:
    """Follows the changed places of one clip that belong to no face, look by look."""

    def __init__(self) -> None:
        self._tracks: list[_Track] = []
        self._known: list[tuple[float, Sequence[Box]]] = []
        self._now_s = np.inf

    def add(self, spots: Iterable[Spot], faces: Sequence[Box], time_s: float) -> None:
        """Takes in the next look.

        Args:
            spots: changed places that belong to no face.
            faces: boxes of the faces, those in doubt included.
            time_s: time of the frame.
        """
        since_s, self._now_s = max(time_s - self._now_s, 0.0), time_s
        remembered_s = max(_REMEMBERED_S, _REMEMBERED_LOOKS * since_s)
        self._known = [one for one in self._known if time_s - one[0] <= _SOON_S]
        for track in self._tracks:
            if time_s - track.last_s <= _SOON_S:
                track.is_met |= _is_at(track.spot, faces, 1.0)
        for spot in spots:
            self._follow(spot, faces, time_s, remembered_s)
        self._known.append((time_s, faces))

    def kinds(self) -> dict[FalseKind, int]:
        """How many tracks there are of each kind."""
        found: Counter[FalseKind] = Counter(track.kind for track in self._tracks)
        return dict(found)

    def _follow(self, spot: Spot, faces: Sequence[Box], time_s: float, remembered_s: float) -> None:
        known = [one for one in self._tracks if time_s - one.last_s <= remembered_s]
        same = (
            one for one in known if overlaps_of(one.spot[None], spot[None])[0, 0] >= _SAME_PLACE
        )
        track = next(same, None)
        if track is None:
            track = _Track(spot, time_s)
            track.is_met = any(_is_at(spot, boxes, 1.0) for _, boxes in self._known)
            self._tracks.append(track)
        track.spot, track.last_s = spot, time_s
        track.looks += 1
        track.beside += _is_at(spot, faces, _BESIDE)


def joined(spots: Iterable[Spot]) -> list[Spot]:
    """The changed places of a frame, with those that are parts of one cover as one.

    >>> upper, lower, far = ([0, 0, 30, 20], [0, 26, 30, 50], [90, 0, 120, 30])
    >>> [one.tolist() for one in joined(np.array([upper, lower, far], np.float64))]
    [[0.0, 0.0, 30.0, 50.0], [90.0, 0.0, 120.0, 30.0]]
    """
    whole: list[Spot] = []
    for spot in spots:
        one, parted = spot, whole
        while parted:
            parted = [other for other in whole if _reach_each_other(one, other)]
            whole = [other for other in whole if not any(other is part for part in parted)]
            corners = np.array([one, *parted])
            one = np.concatenate([corners[:, :2].min(axis=0), corners[:, 2:].max(axis=0)])
        whole.append(one)
    return whole


def _reach_each_other(one: Spot, other: Spot) -> bool:
    boxes = [resized(spot, _REACH) for spot in (one, other)]
    first, last = np.maximum(boxes[0][:2], boxes[1][:2]), np.minimum(boxes[0][2:], boxes[1][2:])
    return bool((first < last).all())


def resized(box: NDArray[np.float64], factor: float) -> NDArray[np.float64]:
    """A box x0 y0 x1 y1 with the same middle and other sides.

    >>> resized(np.array([0.0, 0.0, 2.0, 4.0]), 2.0).tolist()
    [-1.0, -2.0, 3.0, 6.0]
    """
    middle, half = (box[:2] + box[2:]) / 2, (box[2:] - box[:2]) / 2 * factor
    return np.concatenate([middle - half, middle + half])


def _is_at(spot: Spot, faces: Sequence[Box], size: float) -> bool:
    """Whether the middle of a place lies on one of the faces, resized."""
    middle = (spot[:2] + spot[2:]) / 2
    boxes = (resized(face.astype(np.float64), size) for face in faces)
    return any(bool((box[:2] < middle).all() and (middle < box[2:]).all()) for box in boxes)
