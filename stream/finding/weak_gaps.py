"""Gaps between two weak finds that may be of different things: whether the way shows neither.

What was never clearly found may be a face out of focus, or now a lamp and then some hair. Between
two of its finds a track shows what they do if it follows one thing. Where a place looks like
neither, a closer look settles whether anybody is there; large faces keep their covers whatever
they look like, and so do those at the picture's rim, which no detector finds once half of them is
outside, and the next frame beside a find.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from engines.face.glance import Glance, glance_of, likeness
from engines.types import Face, Frame, Track, TrackState
from stream.finding.unseen_tracks import forget_unseen
from stream.swap.track_embedding import FacesAhead

__all__ = ["WeakGaps"]

_UNLIKE: Final = 0.3
"""Likeness up to which a place shows something else than a find. Larger: fewer covers on what is no
face; more faces that turn between two finds, and that a closer look misses, are bare."""
_SIDES_PX: Final = (24.0, 48.0)
"""Sides of the places that are looked at: smaller faces are found with low scores, larger ones are
recognised though half of them be seen."""
_BESIDE_FRAMES: Final = 1
"""Frames beside a find in which its cover stays."""
_RIM: Final = 0.25
"""Share of a place's side within which the picture's rim is near. Larger: more covers at the rim
where nobody is; fewer faces that are half outside are bare."""


@dataclass(slots=True)
class _Find:
    """The last find of a track.

    Attributes:
        seen_frame: its frame.
        glance: what it looked like.
    """

    seen_frame: int
    glance: Glance | None


class WeakGaps:
    """Remembers the last finds of one stream's weak tracks, frame by frame."""

    def __init__(self) -> None:
        self._finds: dict[int, _Find] = {}

    def doubted(self, frame: Frame, tracks: Sequence[Track], ahead: FacesAhead) -> frozenset[int]:
        """The tracks of a frame at whose places nobody may be.

        Args:
            frame: the next one; its picture is not changed.
            tracks: all of it.
            ahead: gives the finds of a track in the frames that have not left yet.

        Returns:
            Ids of tracks between two finds, never clearly found, whose place looks like neither.
        """
        weak = [one for one in tracks if not one.is_confirmed]
        for one in weak:
            if one.state is TrackState.DETECTED:
                seen = glance_of(frame.picture, one.face)
                self._finds[one.id] = _Find(frame.index, seen)
        forget_unseen(self._finds, frame.index)
        return frozenset(
            one.id
            for one in weak
            if one.state is TrackState.FILLED
            and _SIDES_PX[0] <= one.face.size_px < _SIDES_PX[1]
            and not _is_at_rim(one.face, frame)
            and self._is_unlike(frame, one, ahead)
        )

    def _is_unlike(self, frame: Frame, track: Track, ahead: FacesAhead) -> bool:
        """Whether the place looks like neither find; not where one of them is not known."""
        before = self._finds.get(track.id)
        after = next(((at, face) for at, face in ahead(track.id) if at.index > frame.index), None)
        if before is None or after is None:
            return False
        nearest = min(frame.index - before.seen_frame, after[0].index - frame.index)
        if nearest <= _BESIDE_FRAMES:
            return False
        here, there = glance_of(frame.picture, track.face), glance_of(after[0].picture, after[1])
        if here is None or there is None or before.glance is None:
            return False
        return bool(likeness([here], [before.glance, there]).max() < _UNLIKE)


def _is_at_rim(face: Face, frame: Frame) -> bool:
    box = face.box_px
    margin = _RIM * (box[2:] - box[:2])
    ends = np.array([frame.picture.width, frame.picture.height], np.float32)
    return bool(((box[:2] < margin) | (box[2:] > ends - margin)).any())
