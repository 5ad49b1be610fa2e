"""Faces that closer looks find hardly, but again and again at one place: none of them is a track's.

A head that turns away, or a half of one behind another, is found with half-sure scores in frame
after frame. One such find is rather hair or cloth; several are what makes a track a face too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Final

import numpy as np

from engines.detectors.detector import overlaps_of
from engines.types import Face
from tracker.evidence import is_face

__all__ = ["RepeatedFinds"]

_SAME: Final = 0.4
"""Intersection over union from which two finds are of one face."""
_FORGET_S: Final = 0.25
"""Time without a find after which a face is forgotten. Longer: more covers on what is no face;
fewer faces are bare that are found now and then."""


@dataclass(frozen=True, slots=True)
class _Found:
    """A face and what is known of it.

    Attributes:
        face: as it was found last, with the best score of all finds.
        finds: frames that it was found in.
        time_s: of the last of them.
    """

    face: Face
    finds: int
    time_s: float


class RepeatedFinds:
    """Remembers the finds of one stream, frame by frame.

    Args:
        least_score: finds below it that are no faces alone count for nothing.
    """

    def __init__(self, least_score: float) -> None:
        self._least_score = least_score
        self._known: list[_Found] = []

    def faces(self, found: Sequence[Face], time_s: float) -> list[Face]:
        """Takes in the finds of the next frame.

        Args:
            found: what closer looks found, in any order; two looks may have found one face.
            time_s: time of the frame.

        Returns:
            Those that are faces, alone or with the finds before them.
        """
        before = [one for one in self._known if 0 <= time_s - one.time_s <= _FORGET_S]
        now: list[_Found] = []
        faces = []
        for face in sorted(found, key=attrgetter("score"), reverse=True):
            if face.score < self._least_score and not is_face(face):
                continue
            twin = _at(face, now)
            known = replace(twin, face=face) if twin else _again(face, _at(face, before), time_s)
            if twin is None:
                now.append(known)
            if is_face(known.face, known.finds):
                faces.append(face)
        self._known = now + [one for one in before if _at(one.face, now) is None]
        return faces


def _again(face: Face, before: _Found | None, time_s: float) -> _Found:
    """A find, with those before it."""
    if before is None:
        return _Found(face, 1, time_s)
    best = max(face.score, before.face.score)
    return _Found(replace(face, score=best), before.finds + 1, time_s)


def _at(face: Face, known: Sequence[_Found]) -> _Found | None:
    """The one of some faces that lies where this one does."""
    if not known:
        return None
    boxes = np.array([one.face.box_px for one in known], np.float64)
    shared = overlaps_of(face.box_px[None].astype(np.float64), boxes)[0]
    best = int(shared.argmax())
    return known[best] if shared[best] >= _SAME else None
