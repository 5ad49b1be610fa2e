"""The swap on a stream: one surrogate per person, rendered anew in every frame.

Per track the gallery is asked once for a surrogate; per frame only the light path runs:
crop, read the control, smooth it over time, paint, match the picture around, and hand the
patches to the compositor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from config.settings import Privacy
from engines.alignment import crop_from_picture, kveil_from_landmarks, scale_of
from engines.control_reading import ControlReader, Painter
from engines.harmony import Retouch, retouch_of, retouched, sized_patch
from engines.head_memory import HeadMemory
from engines.patches import Patch, hides
from engines.swapper import DOUBT_LIMIT, Control
from engines.temporal_consistency import TemporalConsistency
from engines.types import Embedding, Face, Frame, Latent, Surrogate, Track, TrackState
from gallery.errors import EmbeddingsRejected
from gallery.people import SharpestMean
from stream.control_track import REACH_S, ControlTrack, Steady
from stream.replacement import Replacement
from stream.report import ClusterCounts
from stream.track_embedding import Embedder, FacesAhead, TrackEmbedder

__all__ = ["Embedder", "Painter", "SurrogateSource", "SwapEveryFace"]

_LEAST_FACE_PX = 20.0
"""Below this a face has too few pixels to be followed or to look like anything."""
_SMALL_AGAIN = 1.2
"""A face that was too small must grow by this before it is swapped, lest it flips."""
_COMPARE_FRAMES = 5
"""Frames between two comparisons of a patch with its surroundings; cameras change slowly."""
_COMPARED_SHARE = 0.2
_FORGET_FRAMES = 100
_ASK_AGAIN_FRAMES = 25
_MOST_AT_ONCE = 16
_UNFIT = "pose_or_occlusion"
_DEFAULT_PRIVACY = Privacy()


class SurrogateSource(Protocol):
    """Lends surrogates to tracks; `stream.lending` has the gallery's."""

    def see(self, frame: Frame, tracks: Sequence[Track]) -> frozenset[int]:
        """Told who is in view; gives the tracks that must be covered in this frame."""

    def lend(self, frame: Frame, track: Track, embedding: Embedding) -> Surrogate | str:
        """The track's surrogate, or why it has none."""

    def counts(self) -> ClusterCounts:
        """Clusters used so far."""


@dataclass(slots=True)
class _Wearer:
    """What is remembered of one track."""

    seen: SharpestMean
    latent: Latent | None = None
    cause: str = "no_surrogate"
    asked_frame: int = -_ASK_AGAIN_FRAMES
    seen_frame: int = 0
    is_small: bool = False
    control: ControlTrack = field(default_factory=lambda: ControlTrack(DOUBT_LIMIT))
    painted: TemporalConsistency = field(default_factory=TemporalConsistency)
    head: HeadMemory = field(default_factory=HeadMemory)
    retouch: Retouch | None = None
    compared_frame: int = 0


class SwapEveryFace:
    """Replaces the faces of one stream by surrogates; others get a cause and a cover.

    Args:
        painter: control and generator.
        embedder: tells people apart.
        source: lends the surrogates.
        privacy: what is done around a painted face, and with what is in front of it.
    """

    def __init__(
        self,
        painter: Painter,
        embedder: Embedder,
        source: SurrogateSource,
        privacy: Privacy = _DEFAULT_PRIVACY,
    ) -> None:
        self._painter = painter
        self._embedder = TrackEmbedder(embedder, painter.size)
        self._reader = ControlReader(painter)
        self._source = source
        self._alters_heads = privacy.surroundings == "altered"
        self._draws_foreground = privacy.foreground == "drawn"
        self._wearers: dict[int, _Wearer] = {}
        self._ahead: FacesAhead | None = None

    def foresee(self, ahead: FacesAhead) -> None:
        """Lets new tracks be told, and control be smoothed, by frames that have not left yet."""
        self._embedder.foresee(ahead)
        self._ahead = ahead

    def replace(self, frame: Frame, tracks: Sequence[Track]) -> Replacement:
        """Patches for the tracks that can be followed; see `FaceReplacer.replace`.

        Raises:
            EngineFault: a network failed.
        """
        causes = {track.id: cause for track in tracks if (cause := self._cause_to_cover(track))}
        clashing = self._source.see(frame, tracks)
        causes |= {track.id: "shared_face" for track in tracks if track.id in clashing}
        able = [track for track in tracks if track.id not in causes]
        patches: dict[int, Patch] = {}
        for start in range(0, len(able), _MOST_AT_ONCE):
            batch = able[start : start + _MOST_AT_ONCE]
            self._replace_batch(frame, batch, patches, causes)
        self._forget(frame.index)
        return Replacement(patches, causes)

    def counts(self) -> ClusterCounts:
        """Sizes of the clusters used so far."""
        return self._source.counts()

    def _replace_batch(
        self,
        frame: Frame,
        tracks: Sequence[Track],
        patches: dict[int, Patch],
        causes: dict[int, str],
    ) -> None:
        self._dress(frame, tracks)
        dressed = []
        for track in tracks:
            wearer = self._wearers[track.id]
            if wearer.latent is None:
                causes[track.id] = wearer.cause
            else:
                dressed.append((track, wearer, wearer.latent))
        self._look(frame, [(track, wearer) for track, wearer, _ in dressed])
        ready: list[tuple[Track, _Wearer, Latent, Steady]] = []
        for track, wearer, latent in dressed:
            steady = wearer.control.steady(frame.index, frame.time_s)
            if steady is None:
                causes[track.id] = _UNFIT
            else:
                ready.append((track, wearer, latent, steady))
        sizes = [self._size_for(steady) for *_, steady in ready]
        for size in sorted(set(sizes)):
            alike = [one for one, own in zip(ready, sizes, strict=True) if own == size]
            self._paint(frame, alike, size, patches, causes)

    def _size_for(self, steady: Steady) -> int:
        """The least size at which a face can be painted without being enlarged, px."""
        side_px = 1 / scale_of(steady.crop_from_frame(1))
        return next((size for size in self._painter.sizes if size >= side_px), self._painter.size)

    def _paint(
        self,
        frame: Frame,
        ready: Sequence[tuple[Track, _Wearer, Latent, Steady]],
        size: int,
        patches: dict[int, Patch],
        causes: dict[int, str],
    ) -> None:
        """Paints faces at one size; each gets a patch or a cause."""
        rendered = self._painter.paint(
            _joined([steady for *_, steady in ready]),
            np.stack([latent for _, _, latent, _ in ready]),
            size,
        )
        for row, (track, wearer, _, steady) in enumerate(ready):
            place = steady.crop_from_frame(size)
            patch = Patch(
                rendered.pixels[row],
                rendered.alpha[row],
                place,
                rendered.outline[row],
                rendered.head[row] if self._alters_heads else None,
                steady.occlusion if self._draws_foreground else None,
                wearer.head,
                self._painter.hair,
            )
            if rendered.is_usable[row] and hides(track.face, patch):
                patches[track.id] = _retouched(patch, frame, track.id, wearer)
            else:
                wearer.control.hide()
                causes[track.id] = _UNFIT

    def _look(self, frame: Frame, dressed: Sequence[tuple[Track, _Wearer]]) -> None:
        """Reads control off this frame, and off the next ones where they are at hand."""
        wanted: list[tuple[_Wearer, Frame, Face]] = []
        for track, wearer in dressed:
            for seen, face in [(frame, track.face), *self._faces_ahead(frame, track.id)]:
                if not wearer.control.knows(seen.index):
                    wanted.append((wearer, seen, face))
        for start in range(0, len(wanted), _MOST_AT_ONCE):
            part = wanted[start : start + _MOST_AT_ONCE]
            looks = self._reader.looks([(seen, face) for _, seen, face in part])
            for (wearer, seen, _), look in zip(part, looks, strict=True):
                wearer.control.add(look, seen.picture)

    def _faces_ahead(self, frame: Frame, track: int) -> list[tuple[Frame, Face]]:
        if self._ahead is None:
            return []
        last_s = frame.time_s + REACH_S
        return [
            (seen, face)
            for seen, face in self._ahead(track)
            if seen.index > frame.index and seen.time_s <= last_s
        ]

    def _cause_to_cover(self, track: Track) -> str:
        """Why a track must be covered whatever the engines can do; empty where it need not."""
        if not track.is_confirmed:
            return "unconfirmed"
        if track.state is TrackState.DOUBTFUL:
            return "doubtful"
        if track.state is TrackState.EXTENDED:
            return "extended"
        wearer = self._wearers.get(track.id)
        was_small = wearer is not None and wearer.is_small
        x0, y0, x1, y1 = (float(value) for value in track.face.box_px)
        least = _LEAST_FACE_PX * (_SMALL_AGAIN if was_small else 1.0)
        is_small = min(x1 - x0, y1 - y0) < least
        if wearer is not None:
            wearer.is_small = is_small
        return "too_small" if is_small else ""

    def _dress(self, frame: Frame, tracks: Sequence[Track]) -> None:
        """Asks for the surrogates of tracks that have none, now and then again."""
        for track in tracks:
            wearer = self._wearers.get(track.id)
            if wearer is None:
                wearer = self._wearers[track.id] = _Wearer(self._embedder.mean())
            wearer.seen_frame = frame.index
            is_due = frame.index - wearer.asked_frame >= _ASK_AGAIN_FRAMES
            if wearer.latent is None and is_due:
                wearer.asked_frame = frame.index
                one = kveil_from_landmarks(track.face.landmarks_px, self._painter.size)
                crop = crop_from_picture(frame.picture, one, self._painter.size)
                self._ask(frame, track, crop, wearer)

    def _ask(self, frame: Frame, track: Track, crop: NDArray[np.uint8], wearer: _Wearer) -> None:
        try:
            embedding = self._embedder.embed(track.id, crop, wearer.seen)
        except EmbeddingsRejected:
            wearer.cause = "unusable_embedding"
            return
        answer = self._source.lend(frame, track, embedding)
        if isinstance(answer, Surrogate):
            wearer.latent = answer.latent
        else:
            wearer.cause = answer

    def _forget(self, index: int) -> None:
        stale = [n for n, one in self._wearers.items() if index - one.seen_frame > _FORGET_FRAMES]
        for number in stale:
            del self._wearers[number]


def _joined(steady: Sequence[Steady]) -> Control:
    return Control(
        np.stack([one.points for one in steady]),
        np.stack([one.light for one in steady]),
        np.array([one.doubt for one in steady], np.float32),
        contrast=np.array([one.contrast for one in steady], np.float32),
    )


def _retouched(patch: Patch, frame: Frame, track: int, wearer: _Wearer) -> Patch:
    """The patch with the grain and focus of the picture."""
    if not np.isfinite(patch.pixels).all():
        return patch  # for the compositor to refuse
    patch = sized_patch(patch)
    patch = wearer.painted.steadied(patch, frame.index, wearer.control.flow)
    if wearer.retouch is None or frame.index - wearer.compared_frame >= _COMPARE_FRAMES:
        wearer.compared_frame = frame.index
        found = retouch_of(frame.picture, patch)
        known = wearer.retouch
        wearer.retouch = known.followed_by(found, _COMPARED_SHARE) if known else found
    return retouched(patch, wearer.retouch, (track, frame.index))
