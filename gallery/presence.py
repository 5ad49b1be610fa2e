"""Who is in view: tracks of each stream, what they wear, and who was shown together.

Memory is bounded: tracks not seen for a while are forgotten, and a period's presence is handed over
when the period is over.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from engines.types import Surrogate
from gallery.assignments import Assignment
from gallery.surrogates import Face, LoneFace

__all__ = ["Period", "Presence", "Wearer", "records_of", "worn_by"]

_TRACKS_PER_STREAM = 4096
_JUMP_S = 1.0


@dataclass(slots=True)
class Wearer:
    """A track and what it wears.

    Attributes:
        assignment: the last answer.
        seen_s: when it was last in view, stream time.
        window, record: the pseudonym; "" and 0 where the track has none.
        person, cluster: those of the pseudonym when it was released; 0 before.
        look: which other surrogates are practically the same, see `Surrogates.look`; "" where
            only the very same one is.
        order: counts up with each first release, so that the earlier wearer keeps its face.
        is_suspect: was found to be another record's person too late.
        choices: surrogates that it may get instead, the present one first; empty once settled.
    """

    assignment: Assignment
    seen_s: float
    window: str = ""
    record: int = 0
    person: int = 0
    cluster: int = 0
    look: str = ""
    order: int = 0
    is_suspect: bool = False
    choices: tuple[Face | LoneFace, ...] = ()

    @property
    def surrogate(self) -> Surrogate | None:
        """What it wears; None under a cover."""
        return self.assignment.surrogate


def records_of(wearers: Collection[Wearer]) -> list[tuple[str, int]]:
    """Windows and records of those that have one."""
    return [(wearer.window, wearer.record) for wearer in wearers if wearer.record]


def worn_by(wearers: Collection[Wearer]) -> frozenset[str]:
    """Names and looks of what they wear."""
    dressed = [wearer for wearer in wearers if wearer.surrogate is not None]
    return frozenset(what for one in dressed for what in (one.assignment.face, one.look))


@dataclass(frozen=True, slots=True)
class Period:
    """People of one cluster who were shown before one camera in one period."""

    window: str
    people: frozenset[int]


@dataclass(slots=True)
class _View:
    """One stream, from its beginning to its end; `visit` is a number that no other one has."""

    visit: int
    wearers: dict[int, Wearer] = field(default_factory=dict)
    in_view: frozenset[int] = frozenset()
    number: int = 0
    shown: dict[tuple[str, int], set[int]] = field(default_factory=dict)
    swept_s: float = float("-inf")
    now_s: float = float("-inf")


class Presence:
    """Tracks in view, by stream.

    Args:
        period_s: length of a period, seconds of stream time.
        forget_track_s: tracks unseen for this long are forgotten.
    """

    def __init__(self, period_s: float, forget_track_s: float) -> None:
        self._period_s = period_s
        self._forget_track_s = forget_track_s
        self._views: dict[str, _View] = {}
        self._visits = itertools.count(1)

    def visit(self, stream: str) -> int:
        """Which of all streams since the start this is; another one after it ended."""
        return self._view(stream).visit

    def wearer(self, stream: str, track: int) -> Wearer | None:
        """What the track wears; None if it is not known, or forgotten."""
        view = self._views.get(stream)
        return view.wearers.get(track) if view else None

    def keep(self, stream: str, track: int, wearer: Wearer) -> None:
        """Remember what a track wears; the longest unseen one goes where there are too many."""
        wearers = self._view(stream).wearers
        wearers[track] = wearer
        if len(wearers) > _TRACKS_PER_STREAM:
            del wearers[min(wearers, key=lambda t: wearers[t].seen_s)]

    def others(self, stream: str, track: int, time_s: float) -> list[Wearer]:
        """The other tracks in view."""
        view = self._view(stream)
        return [
            wearer
            for other, wearer in view.wearers.items()
            if other != track and (other in view.in_view or wearer.seen_s == time_s)
        ]

    def known(self, stream: str, track: int) -> list[Wearer]:
        """The other tracks that are remembered, in view or not."""
        return [one for other, one in self._view(stream).wearers.items() if other != track]

    def see(
        self, stream: str, tracks: Collection[int], time_s: float, covered: Collection[int] = ()
    ) -> frozenset[int]:
        """Note who is in view now; tracks that must be covered since their look is taken.

        Args:
            stream: name of the stream.
            tracks: those in view.
            time_s: stream time.
            covered: those of them that are covered anyway: they show no face, so they take none.
        """
        view = self._view(stream)
        view.in_view = frozenset(tracks)
        taken: dict[str, int] = {}
        hidden: list[int] = []
        seen = [(t, w) for t in view.in_view if (w := view.wearers.get(t)) is not None]
        for track, wearer in sorted(seen, key=lambda item: item[1].order):
            wearer.seen_s = time_s
            if wearer.surrogate is None or track in covered:
                continue
            if taken.setdefault(wearer.look or wearer.assignment.face, track) != track:
                hidden.append(track)
            elif wearer.person:
                view.shown.setdefault((wearer.window, wearer.cluster), set()).add(wearer.person)
        self._sweep(view, time_s)
        return frozenset(hidden)

    def over(self, stream: str, time_s: float) -> list[Period]:
        """Presence of the period that ended before this time, once; empty within a period.

        A stream whose time jumps back began anew: its tracks are other ones, and forgotten.
        """
        view = self._view(stream)
        if time_s < view.now_s - _JUMP_S:
            return self.end(stream)
        view.now_s = time_s
        number = int(time_s // self._period_s)
        if number == view.number:
            return []
        view.number = number
        return self._handed_over(view)

    def end(self, stream: str) -> list[Period]:
        """Forget a stream; presence of its last period."""
        view = self._views.pop(stream, None)
        return self._handed_over(view) if view else []

    def streams(self) -> Iterator[str]:
        """Names of the streams known."""
        return iter(list(self._views))

    def _handed_over(self, view: _View) -> list[Period]:
        shown, view.shown = view.shown, {}
        return [Period(window, frozenset(people)) for (window, _), people in shown.items()]

    def _sweep(self, view: _View, time_s: float) -> None:
        """Forget tracks long unseen; at most once a second of stream time."""
        if abs(time_s - view.swept_s) < 1.0:
            return
        view.swept_s = time_s
        oldest_s = time_s - self._forget_track_s
        view.wearers = {
            track: wearer
            for track, wearer in view.wearers.items()
            if wearer.seen_s >= oldest_s or track in view.in_view
        }

    def _view(self, stream: str) -> _View:
        view = self._views.get(stream)
        if view is None:
            view = self._views[stream] = _View(next(self._visits))
        return view
