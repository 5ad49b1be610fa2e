"""The swap on a stream: one surrogate per person, rendered anew in every frame.

Per person, which is a track unless `stream.swap.wearer_watch` finds that another took its place,
the gallery is asked once for a surrogate; per frame the faces that wear one are drawn, see
`stream.swap.face_drawing`, and the layers handed to the compositor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from config.settings import Privacy
from engines.blending.compositor import DEFAULT_MARGIN, neighbours
from engines.face.alignment import crop_from_picture, kveil_from_landmarks
from engines.face.control_reading import Painter
from engines.types import Embedding, Face, Frame, Latent, Surrogate, Track, TrackState
from gallery.errors import EmbeddingsRejected
from gallery.people import SharpestMean
from stream.files.report import ClusterCounts
from stream.finding.unseen_tracks import forget_unseen
from stream.pipeline.replacement import Replacement
from stream.swap.control_track import UNFIT
from stream.swap.face_drawing import FaceDrawer, FaceDrawing, Wearing
from stream.swap.fitting import TRYING_ON
from stream.swap.following import FOLLOWING
from stream.swap.track_embedding import Embedder, FacesAhead, Foresighted, TrackEmbedder
from stream.swap.wearer_watch import WearerWatch

__all__ = ["Embedder", "Painter", "SurrogateSource", "SwapEveryFace", "cause_by_track"]

_LEAST_FACE_PX = 20.0
"""Below this a face has too few pixels to be followed or to look like anything."""
_SMALL_AGAIN = 1.2
"""A face that was too small must grow by this before it is swapped, lest it flips."""
_ASK_AGAIN_FRAMES = 25
_ASK_SOON_FRAMES = 5
"""The same where the face could not be painted just then, and so not be tried on, or where somebody
in view wears all that there is."""
_MOST_AHEAD = 24
"""Frames ahead in which a face is read; each may lie in memory that processes share."""
_NO_SURROGATE = "no_surrogate"
_KNOWN = (UNFIT, TRYING_ON)
"""Why people wait who need not be described again when they are asked for."""
_ASK_LATE_FRAMES = 250
"""The same where every draw resembled the person: trying a dozen on is dear."""
_DEFAULT_PRIVACY = Privacy()


class SurrogateSource(Protocol):
    """Lends surrogates to tracks; `stream.swap.lending` has the gallery's."""

    def see(self, frame: Frame, tracks: Sequence[Track]) -> frozenset[int]:
        """Told who is in view; gives the tracks that must be covered in this frame."""

    def lend(self, frame: Frame, track: Track, embedding: Embedding) -> Surrogate | str:
        """The track's surrogate, or why it has none."""

    def counts(self) -> ClusterCounts:
        """Clusters used so far."""


@dataclass(slots=True)
class _Person:
    """What is remembered of one track, as long as it shows one person."""

    seen: SharpestMean
    latent: Latent | None = None
    cause: str = _NO_SURROGATE
    asked_frame: int = -_ASK_LATE_FRAMES
    seen_frame: int = 0
    is_small: bool = False


class SwapEveryFace:
    """Replaces the faces of one stream by surrogates; others get a cause and a cover.

    Args:
        painter: control and generator.
        embedder: tells people apart.
        source: lends the surrogates.
        privacy: what is done with what is in front of a painted face.
        margin: size of a face's surroundings, in which its neighbours draw nothing, over size of
            its box.
        elsewhere: draws with the help of other processes, given what draws in this one; without
            it all are drawn here.
        asks_per_frame: people that a surrogate is asked for in one frame, others wait under their
            covers; None for all. When it grows, a crowd is shown sooner, and the frames in which
            people come are later.
    """

    def __init__(
        self,
        painter: Painter,
        embedder: Embedder,
        source: SurrogateSource,
        privacy: Privacy = _DEFAULT_PRIVACY,
        margin: float = DEFAULT_MARGIN,
        elsewhere: Callable[[FaceDrawer], FaceDrawing] | None = None,
        asks_per_frame: int | None = None,
    ) -> None:
        self._size = painter.size
        self._embedder = TrackEmbedder(embedder, painter.size)
        self._source = source
        self._margin = margin
        self._asks_per_frame = asks_per_frame
        drawer = FaceDrawer(painter, draws_foreground=privacy.foreground == "drawn")
        self._drawing: FaceDrawing = elsewhere(drawer) if elsewhere else drawer
        self._watch = WearerWatch(embedder, painter.size)
        self._people: dict[int, _Person] = {}
        self._tracks: dict[int, int] = {}
        self._ahead: FacesAhead | None = None
        self._places: dict[int, Sequence[tuple[Frame, Face]]] = {}

    @property
    def ahead(self) -> int:
        """Frames whose faces others work on while the caller completes the ones before."""
        return self._drawing.ahead

    def foresee(self, ahead: FacesAhead) -> None:
        """Lets new tracks be told, and control be smoothed, by frames that have not left yet."""
        self._ahead = ahead
        self._embedder.foresee(lambda name: self._ahead_on(self._tracks[name]))
        if isinstance(self._source, Foresighted):
            self._source.foresee(lambda name: self._ahead_on(self._tracks[name]))
        self._watch.foresee(self._ahead_on)

    def replace(self, frame: Frame, tracks: Sequence[Track]) -> Replacement:
        """Patches for the tracks that can be followed; see `FaceReplacer.replace`.

        Raises:
            EngineFault: a network failed.
        """
        return self.begin(frame, tracks)()

    def begin(self, frame: Frame, tracks: Sequence[Track]) -> Callable[[], Replacement]:
        """Begins on the faces of a frame; see `stream.pipeline.replacement.AheadReplacer`.

        Raises:
            EngineFault: a network failed; what is given may raise it as well.
        """
        self._places.clear()
        self._watch.look(frame, [track for track in tracks if not cause_by_track(track)])
        named, unsure = self._watch.named(frame, tracks)
        clashing = self._source.see(frame, named)
        if another := {one.id for one in named if self._must_change(one, clashing - unsure)}:
            named = self._watch.parted(named, another)
            clashing = self._source.see(frame, named)
        self._tracks = {one.id: track.id for one, track in zip(named, tracks, strict=True)}
        causes = {one.id: cause for one in named if (cause := self._cause_to_cover(one))}
        causes |= dict.fromkeys(unsure - causes.keys(), "doubtful")
        causes |= {one.id: "shared_face" for one in named if one.id in clashing}
        able = [one for one in named if one.id not in causes]
        self._dress(frame, able)
        others, worn = neighbours(named, self._margin), []
        for track in able:
            person = self._people[track.id]
            if person.latent is None:
                causes[track.id] = person.cause
            else:
                ahead = self._faces_ahead(frame, track.id)
                seen = (track.id, track.face, person.latent, ahead, others[track.id])
                worn.append(Wearing(*seen))
        forget_unseen(self._people, frame.index)
        drawing, tracks_of = self._drawing.begin(frame, worn), self._tracks

        def ended() -> Replacement:
            drawn = drawing()
            patches = {tracks_of[name]: patch for name, patch in drawn.patches.items()}
            told = {tracks_of[name]: why for name, why in (causes | drawn.causes).items()}
            return Replacement(patches, told)

        return ended

    def counts(self) -> ClusterCounts:
        """Sizes of the clusters used so far."""
        return self._source.counts()

    def close(self) -> None:
        """Forgets the stream, here and elsewhere; idempotent."""
        self._drawing.close()

    def _faces_ahead(self, frame: Frame, name: int) -> list[tuple[Frame, Face]]:
        last_s = frame.time_s + FOLLOWING.hold_s + FOLLOWING.bridged_s
        return [
            (seen, face)
            for seen, face in self._ahead_on(self._tracks[name])
            if seen.index > frame.index and seen.time_s <= last_s
        ][:_MOST_AHEAD]

    def _ahead_on(self, track: int) -> Sequence[tuple[Frame, Face]]:
        if self._ahead is None:
            return []
        if track not in self._places:
            self._places[track] = self._ahead(track)
        return self._places[track]

    def _cause_to_cover(self, track: Track) -> str:
        """Why a track must be covered whatever the engines can do; empty where it need not."""
        if cause := cause_by_track(track):
            return cause
        person = self._people.get(track.id)
        was_small = person is not None and person.is_small
        x0, y0, x1, y1 = (float(value) for value in track.face.box_px)
        least = _LEAST_FACE_PX * (_SMALL_AGAIN if was_small else 1.0)
        is_small = min(x1 - x0, y1 - y0) < least
        if person is not None:
            person.is_small = is_small
        return "too_small" if is_small else ""

    def _must_change(self, track: Track, clashing: frozenset[int]) -> bool:
        """Whether it wears what somebody else in view does, and could wear something else.

        Where two tracks came to share a surrogate while one of them was out of view, the later one
        would be covered for as long as both stay. It goes on as somebody else.
        """
        if track.id not in clashing or self._cause_to_cover(track):
            return False
        return track.id in self._people and self._people[track.id].latent is not None

    def _dress(self, frame: Frame, tracks: Sequence[Track]) -> None:
        """Asks for the surrogates of tracks that have none, now and then again."""
        due: list[tuple[Track, _Person]] = []
        for track in tracks:
            person = self._people.get(track.id)
            if person is None:
                person = self._people[track.id] = _Person(self._embedder.mean())
            person.seen_frame = frame.index
            is_due = frame.index - person.asked_frame >= _pause(person.cause)
            if person.latent is None and is_due:
                due.append((track, person))
        due.sort(key=lambda one: (one[1].cause != TRYING_ON, one[1].asked_frame))
        for track, person in due[: self._asks_per_frame]:
            self._ask(frame, track, person)

    def _ask(self, frame: Frame, track: Track, person: _Person) -> None:
        person.asked_frame = frame.index
        before, person.cause = person.cause, _NO_SURROGATE  # where this fails
        try:
            if before in _KNOWN and len(person.seen):  # who it is is known by now
                embedding = person.seen.embedding()
            else:
                embedding = self._embedder.embed(track.id, self._crop(frame, track), person.seen)
        except EmbeddingsRejected:
            person.cause = "unusable_embedding"
            return
        answer = self._source.lend(frame, track, embedding)
        if isinstance(answer, Surrogate):
            person.latent = answer.latent
        else:
            person.cause = answer
        is_told = isinstance(answer, Surrogate) or answer == TRYING_ON
        if is_told and before != TRYING_ON:
            self._watch.lent(frame, self._tracks[track.id], embedding)

    def _crop(self, frame: Frame, track: Track) -> NDArray[np.uint8]:
        one = kveil_from_landmarks(track.face.landmarks_px, self._size)
        return crop_from_picture(frame.picture, one, self._size)


def _pause(cause: str) -> int:
    """Frames after which a surrogate is asked for again.

    >>> _pause("too_alike") > _pause("below_k") > _pause("pose_or_occlusion") > _pause("trying_on")
    True
    """
    pauses = {TRYING_ON: 1, UNFIT: _ASK_SOON_FRAMES, "too_alike": _ASK_LATE_FRAMES}
    pauses["shared_face"] = _ASK_SOON_FRAMES
    return pauses.get(cause, _ASK_AGAIN_FRAMES)


def cause_by_track(track: Track) -> str:
    """Why its track alone makes a face unfit for a surrogate; empty where it does not."""
    if not track.is_confirmed:
        return "unconfirmed"
    if track.state is TrackState.DOUBTFUL:
        return "doubtful"
    return "extended" if track.state is TrackState.EXTENDED else ""
