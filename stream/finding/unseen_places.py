"""Places where a face was, or will be, though no search found one: a closer look settles them.

Before its first detection and after its last one a track goes on for a while, in case that its face
was missed. Whether one is there can be seen: where the closer look finds it, the track goes on with
that; where it finds none in the place, nothing is to be covered; where it is in doubt, or cannot be
taken, the cover stays, but for what was never clearly found, or was not for a while. A large face
at the picture's rim is none to any detector once half of it is outside, and a profile at a glance
to everybody: there the cover stays whatever is found, a part of it inside. A face that is found
beside the place beyond doubt, or half-surely but again and again, under no other cover, gets this
one. Between two finds a place is looked at only where it shows neither, see
`stream.finding.weak_gaps`, and stays covered wherever anything is found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from itertools import chain
from operator import attrgetter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.detectors.detector import overlaps_of, shares_inside
from engines.types import Box, Face, Track, TrackState
from stream.finding.repeated_finds import RepeatedFinds

__all__ = ["Looks", "UnseenPlaces"]

_ANOTHERS: Final = 0.4
"""Intersection over union from which a face is that of another track."""
_SAME: Final = 0.4
"""The same from which a face is that of the track which was looked for."""
_THERE: Final = 0.3
"""Share of a face that lies in a place from which it is there. Larger: fewer covers beside faces;
more faces are bare that are hardly seen and have moved on faster than was thought."""
_WITHIN: Final = 0.8
"""Share of the place of who comes that lies in a face, from which he may be in it. Larger: fewer
covers; more faces that are found half hidden, with what hides them, are bare."""
_COVERED: Final = 0.6
"""The same of a cover, from which a face is covered. Larger: more covers that overlap."""
_RATHER: Final = 0.75
"""Least score, over that of a find, that keeps the cover of a track which was never clearly found,
or not for a while: larger: fewer covers on what is no face; more faces that are out of focus, or
turned away, are bare beside their finds."""
_A_WHILE_S: Final = 0.2
"""Time after which a face that is hardly seen has rather gone than turned. Shorter: covers linger
less where a face has left; more of those that turned away are bare."""
_INSIDE: Final = 0.25
"""Share of a cover's side within which the picture's rim is near, and which stays inside. Larger:
more covers where nobody is any more; less of a face that leaves the picture is bare."""
_LARGE_PX: Final = 48.0
"""Side of a find from which half a face is recognised; the place of a track that is not found grows
beyond it."""
_UNSEEN: Final = (TrackState.EXTENDED, TrackState.DOUBTFUL)

Looks = Callable[[Sequence[Box]], list[tuple[Face, ...]] | None]
"""Faces at each of several places of a frame, best first; None where they are not known."""


class UnseenPlaces:
    """Settles the places of one stream, frame by frame.

    Whose place was empty once has left: he is not looked for at half-sure finds until he is found.

    Args:
        clear_score: score from which a face counts as found where one was looked for.
    """

    def __init__(self, clear_score: float) -> None:
        self._clear_score = clear_score
        self._left: set[int] = set()
        self._unseen_s: dict[int, float] = {}
        self._sides_px: dict[int, float] = {}
        self._repeated = RepeatedFinds(clear_score)

    def settled(
        self,
        tracks: Sequence[Track],
        look: Looks,
        time_s: float,
        size: tuple[int, int],
        doubted: Set[int] = frozenset(),
    ) -> tuple[Track, ...]:
        """The tracks of a frame after a closer look at those that no search found.

        Args:
            tracks: of the next frame.
            look: takes the closer look.
            time_s: time of the frame.
            size: height and width of the picture, px.
            doubted: ids of tracks between two finds at whose places nobody may be.

        Returns:
            The tracks in their order, without those whose face is certainly not there.
        """
        self._sides_px = {one.id: self._side_px(one) for one in tracks}
        unseen = [one for one in tracks if one.state in _UNSEEN or one.id in doubted]
        gone = [
            one.id for one in unseen if one.age_frames >= 0 and one.state is TrackState.EXTENDED
        ]
        self._unseen_s = {number: self._unseen_s.get(number, time_s) for number in gone}
        found = look([one.face.box_px for one in unseen]) if unseen else None
        if found is None:
            return tuple(tracks)
        looked_at = {one.id for one in unseen}
        seen = [one.face.box_px for one in tracks if one.id not in looked_at]
        own = [_own(one.face.box_px, faces, seen) for one, faces in zip(unseen, found, strict=True)]
        after = {
            one.id: self._after(one, faces, time_s) or self._at_rim(one, size)
            for one, faces in zip(unseen, own, strict=True)
        }
        covers = seen + [one.face.box_px for one in after.values() if one]
        sure = {id(face) for face in self._repeated.faces([*chain(*own)], time_s)}
        for one, faces in zip(unseen, own, strict=True):
            bare = [face for face in faces if id(face) in sure and not _is_covered(face, covers)]
            if bare:
                after[one.id] = _around(one, bare, after[one.id])
                covers += [face.box_px for face in bare]
        self._left = {
            one.id
            for one in unseen
            if one.age_frames >= 0 and one.state in _UNSEEN and after[one.id] is None
        }
        kept = (after.get(one.id, one) for one in tracks)
        return tuple(one for one in kept if one is not None)

    def _after(self, track: Track, faces: Sequence[Face], time_s: float) -> Track | None:
        """The track with what was found at its place; None where nothing was."""
        there = [face for face in faces if _share_in(track.face.box_px, face) >= _THERE]
        if track.state not in _UNSEEN:
            return track if there else None
        if not there and _may_be_in(track, faces):
            return track
        best = max((face.score for face in there), default=0.0)
        if best >= self._clear_score:
            return _found(track, there)
        was_long_ago = time_s - self._unseen_s.get(track.id, time_s) > _A_WHILE_S
        is_unlikely = best < _RATHER * self._clear_score
        is_unlikely &= was_long_ago or not track.is_confirmed
        if not there or is_unlikely or track.id in self._left:
            return None
        return _hardly_found(track, there)

    def _side_px(self, track: Track) -> float:
        """The shorter side of a track's last find; of its place where none is known."""
        own = float(np.ptp(track.face.box_px.reshape(2, 2), axis=0).min())
        is_found = track.state is TrackState.DETECTED
        return own if is_found else self._sides_px.get(track.id, own)

    def _at_rim(self, track: Track, size: tuple[int, int]) -> Track | None:
        """The track with a part of its place inside; None but for large faces at the rim."""
        is_large = self._sides_px[track.id] >= _LARGE_PX
        return _kept_inside(track, size) if is_large else None


def _kept_inside(track: Track, size: tuple[int, int]) -> Track | None:
    """The track with a part of its place inside the picture; None where no rim is near."""
    box = track.face.box_px.astype(np.float64)
    sides, ends = box[2:] - box[:2], np.array(size[::-1], np.float64)
    inside = _INSIDE * sides
    if not ((box[:2] < inside) | (box[2:] > ends - inside)).any():
        return None
    first = np.clip(box[:2], inside - sides, ends - inside)
    moved = np.concatenate([first, first + sides]).astype(np.float32)
    return replace(track, face=replace(track.face, box_px=moved))


def _found(track: Track, faces: Sequence[Face]) -> Track:
    """The track with the best of its faces if that is where its own is, else around all."""
    best = max(faces, key=attrgetter("score"))
    if _shared([track.face.box_px], [best.box_px])[0, 0] < _SAME:
        return _around(track, faces)
    is_doubtful = track.state is TrackState.DOUBTFUL
    return track if is_doubtful else replace(track, face=best, state=TrackState.FILLED)


def _hardly_found(track: Track, faces: Sequence[Face]) -> Track:
    """The track, with its face if that is hardly seen where it must be: it comes or goes there."""
    best = max(faces, key=attrgetter("score"))
    is_same = _shared([track.face.box_px], [best.box_px])[0, 0] >= _SAME
    if not (is_same and track.is_confirmed and track.state is TrackState.EXTENDED):
        return track
    return replace(_around(track, [best], track), state=TrackState.FILLED)


def _around(track: Track, faces: Sequence[Face], also: Track | None = None) -> Track:
    """The track in a place that holds some faces, and another place too if there is one."""
    boxes = np.array([one.box_px for one in (*faces, *([also.face] if also else []))])
    box = np.concatenate([boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)])
    return replace(track, face=replace(max(faces, key=attrgetter("score")), box_px=box))


def _may_be_in(track: Track, faces: Sequence[Face]) -> bool:
    """Whether somebody who will be clearly found is half hidden now, in one box with what hides."""
    is_coming = track.is_confirmed and track.age_frames < 0
    return is_coming and any(_share_in(one.box_px, track.face) >= _WITHIN for one in faces)


def _is_covered(face: Face, covers: Sequence[Box]) -> bool:
    return any(_share_in(box, face) >= _COVERED for box in covers)


def _share_in(box: Box, face: Face) -> float:
    """Share of a face that lies in a place, 0 to 1."""
    return float(shares_inside(box[None], face.box_px[None])[0, 0])


def _own(box: Box, faces: Sequence[Face], others: Sequence[Box]) -> list[Face]:
    """The faces near a box but for those that are rather at one of the other boxes."""
    if not faces or not others:
        return list(faces)
    boxes = [face.box_px for face in faces]
    at_others, here = _shared(boxes, others).max(axis=1), _shared(boxes, [box])[:, 0]
    is_own = (at_others < _ANOTHERS) | (at_others < here)
    return [face for face, own in zip(faces, is_own.tolist(), strict=True) if own]


def _shared(boxes: Sequence[Box], others: Sequence[Box]) -> NDArray[np.float64]:
    return overlaps_of(np.array(boxes, np.float64), np.array(others, np.float64))
