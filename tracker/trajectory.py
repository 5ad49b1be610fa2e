"""One face's detections over time, as far as the look-ahead needs them."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, field, replace
from operator import attrgetter

from engines.face.glance import Glance
from engines.types import Face
from tracker.poses import Pose, eye_distance, pose_from_face
from tracker.settings import TrackerSettings

__all__ = ["Observation", "Trajectory"]

_KEPT_BEHIND = 12
"""Detections kept behind the released frame: enough to tell a velocity."""
_TURNED_EYES = 0.16
"""Distance of the eyes, over the height of the box, below which a face is seen from the side: half
of what it is from the front. Larger: fewer false tracks on hair and in gaps between people; more
faces that are turned away, and hardly found, are bare."""
_OFTEN_FINDS = 8
_RATHER = 0.8
"""How often what may be a face must be found, and how well over a clear find, to be worth a
surrogate though it was never clearly found. Less swaps more faces out of focus, and paints faces on
what is none where the reader does not refuse it."""
_LARGE_PX = 56.0
"""Size from which a face, unless it is quite out of focus, is found with a good score. Smaller:
fewer false tracks on hair and hands; more large faces in the dark are bare."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One detection of a track.

    Attributes:
        frame: index of the frame.
        time_s: its time.
        face: what the detector gave.
        pose: the same as a vector.
        track_id: id of the track at that time.
        birth_frame: frame of that id's first detection.
        is_doubtful: possibly another person.
        drift_px: how far the picture as a whole had moved since the stream began, dx and dy.
    """

    frame: int
    time_s: float
    face: Face
    pose: Pose
    track_id: int
    birth_frame: int
    is_doubtful: bool = False
    drift_px: tuple[float, float] = (0.0, 0.0)


@dataclass(slots=True)
class Trajectory:
    """The detections of one track; its id changes where the identity became doubtful.

    Attributes:
        scene: number of the scene it lives in; it is never shown in another.
        track_id: current id.
        birth_frame: frame of the current id's first detection.
        hits: detections so far.
        best_score: highest score so far.
        believed_hits: detections that may be a face though hardly found: neither large nor seen
            from the side.
        believed_score: highest score of those.
        in_doubt: may be another person than its id says.
        clear_runs: detector runs since the doubt's cause was last seen.
        is_suspect: may have jumped to where another track began; over once it is seen where
            it was expected.
        is_bridge: only covers the way between two tracks that may be one; never linked.
        is_vouched: may be the continuation of a track that had enough evidence for a face, or has
            it together with a track that the camera carried to it.
        rival: id of the track with evidence that may have jumped here, until that is seen where it
            was expected; 0 where there is none.
        unseen_since_s: time of the last search before the first detection that would have
            found a face of this size.
        unseen_until_s: the same, the first search after the last detection; infinite before one.
        observations: in order of frames.
        glance: at the last detection, where it was taken; None else.
    """

    scene: int
    track_id: int
    birth_frame: int
    hits: int = 0
    best_score: float = 0.0
    believed_hits: int = 0
    believed_score: float = 0.0
    in_doubt: bool = False
    clear_runs: int = 0
    is_suspect: bool = False
    is_bridge: bool = False
    is_vouched: bool = False
    rival: int = 0
    unseen_since_s: float = -math.inf
    unseen_until_s: float = math.inf
    observations: list[Observation] = field(default_factory=list)
    glance: Glance | None = None

    @property
    def first(self) -> Observation:
        """The oldest detection kept."""
        return self.observations[0]

    @property
    def last(self) -> Observation:
        """The newest detection."""
        return self.observations[-1]

    def is_confirmed(self, track_id: int, settings: TrackerSettings) -> bool:
        """Seen often or clearly enough to be worth a surrogate, and not only under other ids.

        Where an id is given up again at once, nobody is to see a surrogate flash up.
        """
        is_clear = self.best_score >= settings.high_score
        is_clear |= (
            self.believed_hits >= _OFTEN_FINDS
            and self.believed_score >= _RATHER * settings.high_score
        )
        if self.hits < settings.confirm_hits or not is_clear:
            return False
        own = sum(seen.track_id == track_id for seen in self.observations)
        return own >= min(settings.confirm_hits, _KEPT_BEHIND)

    def observe(
        self,
        frame: int,
        time_s: float,
        face: Face,
        drift_px: tuple[float, float] = (0.0, 0.0),
        glance: Glance | None = None,
    ) -> None:
        """Append a detection under the current id."""
        self.glance = glance
        self.hits += 1
        self.is_suspect = False
        self.unseen_until_s = math.inf
        self.best_score = max(self.best_score, face.score)
        if eye_distance(face) >= _TURNED_EYES and face.size_px < _LARGE_PX:
            self.believed_hits += 1
            self.believed_score = max(self.believed_score, face.score)
        self.observations.append(
            Observation(
                frame,
                time_s,
                face,
                pose_from_face(face),
                self.track_id,
                self.birth_frame,
                is_doubtful=self.in_doubt,
                drift_px=drift_px,
            )
        )

    def rename(self, track_id: int, frame: int) -> None:
        """Go on as another person from `frame` on."""
        self.track_id = track_id
        self.birth_frame = frame
        self.in_doubt = False
        self.clear_runs = 0

    def doubt_since(self, time_s: float) -> None:
        """Become doubtful, together with the detections from `time_s` on."""
        self.in_doubt = True
        self.clear_runs = 0
        for place in range(len(self.observations) - 1, -1, -1):
            seen = self.observations[place]
            if seen.time_s < time_s:
                break
            self.observations[place] = replace(seen, is_doubtful=True)

    def forget_before(self, frame: int) -> None:
        """Drop what is too old to matter once `frame` has been released."""
        behind = bisect_right(self.observations, frame, key=attrgetter("frame"))
        if behind > _KEPT_BEHIND:
            del self.observations[: behind - _KEPT_BEHIND]
