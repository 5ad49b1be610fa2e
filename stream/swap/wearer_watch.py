"""Whether a track still shows the person whose surrogate it wears.

The tracker follows places, and doubts what moves oddly. Where somebody takes the very place of
another (steps in front of him, comes as he leaves, or stands there after a cut between two shots
of one set), a track goes on, and the surrogate would be carried over. So the faces of tracks that
wear one are looked at again and compared with what they looked like when it was lent.

Looks are taken in the newest frame at hand, which in recordings is as far ahead as a look lies
behind the next: what is found out there is known before it is shown. Small or turned faces tell
too little and are not looked at.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

import numpy as np

from engines.face.alignment import crop_from_picture, kveil_from_landmarks
from engines.types import Embedding, Face, Frame, Track, TrackState
from stream.finding.unseen_tracks import forget_unseen
from stream.swap.track_embedding import Embedder, FacesAhead

__all__ = ["WearerWatch"]

_LOOK_EVERY_S: Final = 0.7
"""From look to look. Longer: cheaper; beyond a recording's look-ahead, less `_APART_S`, a change
is found out only after it was shown."""
_LEAST_EVERY_S: Final = 0.3
"""The same where little lies ahead, as in live streams."""
_APART_S: Final = 0.15
"""Between the two looks that must agree on a change: one blurred picture says nothing."""
_UNRESOLVED_S: Final = 1.0
"""After this long without a second look, a single strange one counts."""
_LEAST_PX: Final = 60.0
"""Shorter side of the least face that is looked at. Below, one person's looks differ as much as
two people's."""
_MOST_TURN: Final = 0.3
"""Distance of the nose from between the eyes, along their line, in distances of the eyes."""
_ANOTHER: Final = 0.35
"""Cosine below which a look shows another person. Larger: more people change their surrogate;
smaller: more strangers keep one that is not theirs."""
_FIRST_NAME: Final = 1 << 30
"""Names above are not the tracker's."""

_Place = tuple[Frame, Face]


@dataclass(slots=True)
class _Wearer:
    """What is known of one track.

    Attributes:
        name: by which the swap knows whom it shows.
        known: looks of who was lent the surrogate, then and last; none before.
        sure_s: time of the newest picture that surely shows the same person.
        looked_s: time of the newest picture that was looked at.
        strange_s: times of the looks since `sure_s` that show another, in order.
        seen_frame: index of the frame it was in view last.
        fit_frame: index of the frame it was last fit to wear a surrogate.
    """

    name: int
    known: list[Embedding] = field(default_factory=list)
    sure_s: float = 0.0
    looked_s: float = 0.0
    strange_s: list[float] = field(default_factory=list)
    seen_frame: int = 0
    fit_frame: int = 0

    def is_due(self, frame: Frame, newest_s: float) -> bool:
        """Whether the face is to be looked at.

        Args:
            frame: the one that leaves, in which it is fit to wear a surrogate.
            newest_s: time of the newest picture that tells who it is.
        """
        since_s = newest_s - self.looked_s
        if len(self.strange_s) > 1 or since_s <= 0:
            return False
        if self.strange_s:
            return since_s >= _APART_S
        was_away = frame.index - self.fit_frame > 1
        every_s = min(_LOOK_EVERY_S, max(_LEAST_EVERY_S, newest_s - frame.time_s))
        return was_away or since_s >= every_s

    def take(self, look: Embedding, time_s: float) -> None:
        """Judges a look, of a picture later than all that surely show the person."""
        self.looked_s = max(self.looked_s, time_s)
        if max(float(one @ look) for one in self.known) >= _ANOTHER:
            self.known[1:] = [look]
            self.sure_s = time_s
            self.strange_s = [at_s for at_s in self.strange_s if at_s > time_s]
        else:
            self.strange_s = sorted([*self.strange_s, time_s])

    def verdict(self, time_s: float) -> Literal["same", "unsure", "another"]:
        """Whom a picture shows that leaves now."""
        if not self.strange_s or time_s <= self.sure_s:
            return "same"
        is_sure = len(self.strange_s) > 1 or time_s - self.strange_s[0] > _UNRESOLVED_S
        return "another" if is_sure and time_s >= self.strange_s[0] else "unsure"

    def rename(self, name: int) -> None:
        """Goes on as another person, who wears nothing yet."""
        self.name = name
        self.known.clear()
        self.strange_s.clear()


class WearerWatch:
    """Looks at the faces of one stream's tracks, and names whom they show.

    A track that shows another person than before gets another name, under which all that is
    known of it begins anew.

    Args:
        embedder: describes single crops.
        size: side of the crops, px.
    """

    def __init__(self, embedder: Embedder, size: int) -> None:
        self._embedder = embedder
        self._size = size
        self._wearers: dict[int, _Wearer] = {}
        self._next_name = _FIRST_NAME
        self._ahead: FacesAhead | None = None

    def foresee(self, ahead: FacesAhead) -> None:
        """From now on look at frames that have not left yet."""
        self._ahead = ahead

    def look(self, frame: Frame, tracks: Sequence[Track]) -> None:
        """Looks at the faces that are due, all at once.

        Args:
            frame: the one that leaves.
            tracks: those of its tracks that are fit to wear a surrogate.

        Raises:
            EngineFault: the network failed; the faces stay due.
        """
        due = []
        for track in tracks:
            wearer = self._wearers.get(track.id)
            if wearer is None or not wearer.known:
                continue
            places = self._places(frame, track)
            if places and wearer.is_due(frame, places[-1][0].time_s):
                due.append((wearer, places))
        self._take([(wearer, places[-1]) for wearer, places in due])
        again = [(wearer, _earlier(wearer, places)) for wearer, places in due if wearer.strange_s]
        self._take([(wearer, places[-1]) for wearer, places in again if places])
        for track in tracks:
            if track.id in self._wearers:
                self._wearers[track.id].fit_frame = frame.index

    def named(self, frame: Frame, tracks: Sequence[Track]) -> tuple[list[Track], frozenset[int]]:
        """The tracks by the names of those they show, and the names that must be covered."""
        named, unsure = [], set()
        for track in tracks:
            wearer = self._wearers.setdefault(track.id, _Wearer(track.id))
            wearer.seen_frame = frame.index
            verdict = wearer.verdict(frame.time_s)
            if verdict == "another":
                self._rename(wearer)
            elif verdict == "unsure":
                unsure.add(wearer.name)
            named.append(replace(track, id=wearer.name))
        forget_unseen(self._wearers, frame.index)
        return named, frozenset(unsure)

    def parted(self, named: Sequence[Track], names: Collection[int]) -> list[Track]:
        """The tracks, of which some go on as somebody else, who wears nothing yet.

        Args:
            named: those of a frame, by the names of those they show.
            names: of those who go on under another one.
        """
        renamed = {}
        for wearer in self._wearers.values():
            if wearer.name in names:
                before = wearer.name
                self._rename(wearer)
                renamed[before] = wearer.name
        return [replace(one, id=renamed.get(one.id, one.id)) for one in named]

    def lent(self, frame: Frame, track: int, look: Embedding) -> None:
        """Told what the person on a track of this frame looks like, who was lent a surrogate."""
        wearer = self._wearers[track]
        wearer.known = [look]
        wearer.sure_s = wearer.looked_s = frame.time_s
        wearer.fit_frame = frame.index

    def _rename(self, wearer: _Wearer) -> None:
        wearer.rename(self._next_name)
        self._next_name += 1

    def _places(self, frame: Frame, track: Track) -> list[_Place]:
        """Where the track's face can be told, from this frame on, in order."""
        places = [(frame, track.face)] if track.state is TrackState.DETECTED else []
        if self._ahead is not None:
            places += [one for one in self._ahead(track.id) if one[0].index > frame.index]
        return [one for one in places if _tells(one[1])]

    def _take(self, looks: Sequence[tuple[_Wearer, _Place]]) -> None:
        if not looks:
            return
        crops = [
            crop_from_picture(
                frame.picture, kveil_from_landmarks(face.landmarks_px, self._size), self._size
            )
            for _, (frame, face) in looks
        ]
        found = self._embedder.embed(np.stack(crops))
        for (wearer, (frame, _)), look in zip(looks, found, strict=True):
            wearer.take(look, frame.time_s)


def _earlier(wearer: _Wearer, places: Sequence[_Place]) -> list[_Place]:
    """The places between the last look that showed the person and the strange one."""
    last_s = wearer.strange_s[0] - _APART_S
    return [one for one in places if wearer.sure_s < one[0].time_s <= last_s]


def _tells(face: Face) -> bool:
    """Whether a face is large enough, and turned to the camera enough, to tell who it is."""
    x0, y0, x1, y1 = face.box_px.tolist()
    if min(x1 - x0, y1 - y0) < _LEAST_PX:
        return False
    left, right, nose = face.landmarks_px[:3].astype(np.float64)
    eyes = right - left
    turn = abs(float((nose - (left + right) / 2) @ eyes)) / max(float(eyes @ eyes), 1e-9)
    return turn <= _MOST_TURN
