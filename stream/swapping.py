"""The swap on a stream: one surrogate per person, rendered anew in every frame.

Per track the gallery is asked once for a surrogate; per frame only the light path runs:
crop, read the control, smooth it over time, paint, and hand the patches to the compositor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engines.alignment import Similarity, crop_from_picture, kveil_from_landmarks
from engines.compositor import Patch
from engines.swapper import Control, Rendered
from engines.types import Embedding, Frame, Latent, Surrogate, Track, TrackState
from gallery.errors import EmbeddingsRejected
from gallery.people import SharpestMean
from stream.replacement import Replacement
from stream.report import ClusterCounts
from stream.track_embedding import Embedder, FacesAhead, TrackEmbedder
from tracker.one_euro import OneEuro

__all__ = ["Embedder", "Painter", "SurrogateSource", "SwapEveryFace"]

_LEAST_FACE_PX = 20.0
"""Below this a face has too few pixels to be followed or to look like anything."""
_FORGET_FRAMES = 100
_ASK_AGAIN_FRAMES = 25
_MOST_AT_ONCE = 16
Crops = NDArray[np.uint8]


class Painter(Protocol):
    """What the swap needs of `engines.swapper.Swapper`."""

    @property
    def size(self) -> int:
        """Side of the crops and patches, px."""

    def read(self, crops: Crops) -> Control:
        """Control of uint8 N×S×S×3 BGR crops."""

    def paint(self, control: Control, latents: NDArray[np.float32]) -> Rendered:
        """Surrogates under that control."""


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
    points: OneEuro = field(default_factory=OneEuro)
    light: OneEuro = field(default_factory=lambda: OneEuro(min_cutoff_hz=1.0, beta=1.0))


class SwapEveryFace:
    """Replaces the faces of one stream by surrogates; others get a cause and a cover.

    Args:
        painter: control and generator.
        embedder: tells people apart.
        source: lends the surrogates.
    """

    def __init__(self, painter: Painter, embedder: Embedder, source: SurrogateSource) -> None:
        self._painter = painter
        self._embedder = TrackEmbedder(embedder, painter.size)
        self._source = source
        self._wearers: dict[int, _Wearer] = {}

    def foresee(self, ahead: FacesAhead) -> None:
        """Lets new tracks be told by frames that have not left yet."""
        self._embedder.foresee(ahead)

    def replace(self, frame: Frame, tracks: Sequence[Track]) -> Replacement:
        """Patches for the tracks that can be followed; see `FaceReplacer.replace`.

        Raises:
            EngineFault: a network failed.
        """
        causes = {track.id: cause for track in tracks if (cause := _cause_to_cover(track))}
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
        maps = [kveil_from_landmarks(t.face.landmarks_px, self._painter.size) for t in tracks]
        crops = np.stack(
            [crop_from_picture(frame.picture, one, self._painter.size) for one in maps]
        )
        self._dress(frame, tracks, crops)
        dressed = []
        for place, track in enumerate(tracks):
            wearer = self._wearers[track.id]
            if wearer.latent is None:
                causes[track.id] = wearer.cause
            else:
                dressed.append((place, track, wearer.latent))
        if not dressed:
            return
        places = [place for place, _, _ in dressed]
        control = self._smoothed(
            frame, [t for _, t, _ in dressed], self._painter.read(crops[places])
        )
        rendered = self._painter.paint(control, np.stack([latent for _, _, latent in dressed]))
        for row, (place, track, _) in enumerate(dressed):
            if rendered.is_usable[row]:
                patches[track.id] = _patch(rendered, row, maps[place])
            else:
                causes[track.id] = "pose_or_occlusion"

    def _dress(self, frame: Frame, tracks: Sequence[Track], crops: Crops) -> None:
        """Asks for the surrogates of tracks that have none, now and then again."""
        for track, crop in zip(tracks, crops, strict=True):
            wearer = self._wearers.setdefault(track.id, _Wearer(self._embedder.mean()))
            wearer.seen_frame = frame.index
            is_due = frame.index - wearer.asked_frame >= _ASK_AGAIN_FRAMES
            if wearer.latent is None and is_due:
                wearer.asked_frame = frame.index
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

    def _smoothed(self, frame: Frame, tracks: Sequence[Track], control: Control) -> Control:
        wearers = [self._wearers[track.id] for track in tracks]
        time_s = frame.time_s
        points = [one.points(row, time_s) for one, row in zip(wearers, control.points, strict=True)]
        light = [one.light(row, time_s) for one, row in zip(wearers, control.light, strict=True)]
        return Control(np.stack(points), np.stack(light), control.doubt)

    def _forget(self, index: int) -> None:
        stale = [n for n, one in self._wearers.items() if index - one.seen_frame > _FORGET_FRAMES]
        for number in stale:
            del self._wearers[number]


def _cause_to_cover(track: Track) -> str:
    """Why a track must be covered whatever the engines can do; empty where it need not."""
    if not track.is_confirmed:
        return "unconfirmed"
    if track.state is TrackState.DOUBTFUL:
        return "doubtful"
    if track.state is TrackState.EXTENDED:
        return "extended"
    x0, y0, x1, y1 = (float(value) for value in track.face.box_px)
    if min(x1 - x0, y1 - y0) < _LEAST_FACE_PX:
        return "too_small"
    return ""


def _patch(rendered: Rendered, row: int, crop_from_frame: Similarity) -> Patch:
    return Patch(rendered.pixels[row], rendered.alpha[row], crop_from_frame)
