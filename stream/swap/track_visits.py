"""How often who returns passes for a new person: ``python -m stream.swap.track_visits CLIP…``.

Each track of a clip is cut into visits, as if the person left and came back. The first visit is
enrolled, the others return; people of other tracks are strangers, although a clip may show
somebody on two tracks, so that the columns of newcomers are upper bounds. Each visit is told by its
first frame alone, by the mean over the sharpest frames of a live look-ahead, and over those of a
file's. What passes for new counts one person twice and overstates k.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from config.settings import Settings
from engines.detectors.multiscale import detect_picture
from engines.face.alignment import crop_from_picture, kveil_from_landmarks
from engines.types import Face, Frame, Track, TrackState
from gallery.faces import FaceSet
from gallery.settings import Thresholds
from gallery.thresholds import shown, threshold_row
from stream.media.opening import open_source
from stream.pipeline.engine_set import EngineSet, open_engines
from stream.swap.track_embedding import Embedder, FacesAhead, TrackEmbedder
from tracker.settings import TrackerSettings
from tracker.tracker import FrameTracks, Tracker

__all__ = ["Visits"]

_SIZE = 128
_LEAST_FACE_PX = 20.0
_FRAMES = 5


class Visits:
    """Templates of the visits of all tracks, one set for each way to make them.

    Args:
        embedder: describes single crops.
        looks: name → frames of look-ahead that are used; 0 for the present frame alone.
        every_s: from the start of a visit to the next one's.
    """

    def __init__(self, embedder: Embedder, looks: dict[str, int], every_s: float) -> None:
        self._embedder = embedder
        self._looks = looks
        self._every_s = every_s
        self._rows: dict[str, list[NDArray[np.float32]]] = {name: [] for name in looks}
        self._persons: list[int] = []
        self._numbers: dict[tuple[str, int], int] = {}
        self._last_s: dict[tuple[str, int], float] = {}

    def see(
        self, clip: str, frame: Frame, track: Track, ahead: Sequence[tuple[Frame, Face]]
    ) -> None:
        """Takes a visit in, where one begins with this frame."""
        who = (clip, track.id)
        last_s = self._last_s.get(who, -np.inf)
        is_able = track.is_confirmed and track.state is TrackState.DETECTED
        if not is_able or _size_px(track.face) < _LEAST_FACE_PX:
            return
        if frame.time_s - last_s < self._every_s:
            return
        self._last_s[who] = frame.time_s
        self._persons.append(self._numbers.setdefault(who, len(self._numbers)))
        crop_from_frame = kveil_from_landmarks(track.face.landmarks_px, _SIZE)
        crop = crop_from_picture(frame.picture, crop_from_frame, _SIZE)
        for name, frames in self._looks.items():
            teller = TrackEmbedder(self._embedder, _SIZE, _FRAMES if frames else 1)
            teller.foresee(_first(ahead, frames))
            self._rows[name].append(teller.embed(track.id, crop, teller.mean()))

    def faces(self, name: str) -> FaceSet:
        """The visits, told in one of the ways; a person is a track."""
        return FaceSet(np.stack(self._rows[name]), np.array(self._persons, np.intp))

    def __len__(self) -> int:
        return len(self._persons)


def main(
    clips: Annotated[list[Path], typer.Argument(help="Videos with faces.")],
    every_s: Annotated[float, typer.Option(help="From visit to visit.")] = 2.0,
) -> None:
    """Print one row for each way to tell who it is, in percent."""
    settings = Settings()
    with open_engines(settings) as engines:
        if engines.swap is None:
            raise typer.BadParameter("the swap's networks are needed; see `kveil doctor`")
        live = settings.tracking.lookahead_live_frames
        looks = {"first frame": 0, f"{live} frames ahead": live, "1 s ahead": 10_000}
        visits = Visits(engines.swap.embedder, looks, every_s)
        for clip in clips:
            _watch(clip, engines, settings, visits)
        known = engines.swap.thresholds
    if not len(visits):
        raise typer.BadParameter("no clip shows a face that is followed")
    thresholds = Thresholds(known.match, known.doubt)
    rows = [(name, visits.faces(name)) for name in looks]
    table = shown([threshold_row(faces, thresholds, faces.n_people) for _, faces in rows])
    head, *lines = table.splitlines()
    typer.echo(f"{len(visits)} visits of {rows[0][1].n_people} tracks")
    typer.echo(f"{'told by':18}{head}")
    for (name, _), line in zip(rows, lines, strict=True):
        typer.echo(f"{name:18}{line}")


def _watch(clip: Path, engines: EngineSet, settings: Settings, visits: Visits) -> None:
    source = open_source(clip)
    lookahead = max(1, round(settings.tracking.lookahead_s * float(source.shape.rate)))
    tracker = Tracker(TrackerSettings(lookahead_frames=lookahead))
    waiting: deque[Frame] = deque()
    try:
        for frame in source.frames():
            waiting.append(frame)
            plan = engines.plans(frame.picture.height, frame.picture.width)["coarse"]
            faces = detect_picture(
                engines.detector, frame.picture, plan, settings.detection.low_score
            )
            for found in tracker.push(frame.index, frame.time_s, faces):
                _show(clip.name, waiting, found, tracker, visits)
    finally:
        source.close()


def _show(
    clip: str, waiting: deque[Frame], found: FrameTracks, tracker: Tracker, visits: Visits
) -> None:
    frame = waiting.popleft()
    for track in found.tracks:
        faces = dict(tracker.ahead(track.id))
        ahead = [(later, faces[later.index]) for later in waiting if later.index in faces]
        visits.see(clip, frame, track, ahead)


def _first(ahead: Sequence[tuple[Frame, Face]], frames: int) -> FacesAhead:
    def these(track: int) -> Sequence[tuple[Frame, Face]]:
        del track
        return ahead[:frames]

    return these


def _size_px(face: Face) -> float:
    x0, y0, x1, y1 = (float(value) for value in face.box_px)
    return min(x1 - x0, y1 - y0)


if __name__ == "__main__":
    typer.run(main)
