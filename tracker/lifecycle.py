"""How tracks begin, go on, become doubtful, and end."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from engines.face.glance import Glance
from engines.types import Face
from tracker.carried import carried_to
from tracker.doubt import AppearanceDistance
from tracker.evidence import has_evidence, is_face
from tracker.links import Link, Links, link
from tracker.motion import (
    Motion,
    correct,
    join,
    predict,
    select,
    sizes_and_speeds,
    start,
    steer,
)
from tracker.poses import size_px
from tracker.reach import forward_reach_s, is_within
from tracker.schedule import MovingFace
from tracker.settings import TrackerSettings
from tracker.trajectory import Trajectory

__all__ = ["Lifecycle", "Search"]

_CLEAR_RUNS = 2
"""Detector runs without a cause before a doubt ends (in a new id)."""
_SHORTEST_S = 1e-3
_CLEARLY_BETTER = 0.1
"""Agreement by which a turning camera must explain the detections better."""


@dataclass(frozen=True, slots=True)
class Search:
    """A detector run.

    Attributes:
        time_s: of its frame.
        least_px: size from which it finds faces.
    """

    time_s: float
    least_px: float


class Lifecycle:
    """All tracks of one stream that may still be shown.

    Attributes:
        trajectories: the tracks; `motion` has one row for each.
        motion: their filters, at the time of the newest frame.
        steered: the same filters if the camera turned as the thumbnails say; None while they
            say nothing new since the last detector run.
        next_id: id of the next track; ids are never reused.
        drift_px: how far the picture as a whole has moved since the stream began, dx and dy.
        searches: the last ones, each with smaller faces than those after it.
    """

    def __init__(
        self, settings: TrackerSettings, appearance: AppearanceDistance | None = None
    ) -> None:
        self.trajectories: list[Trajectory] = []
        self.motion = Motion.none()
        self.steered: Motion | None = None
        self.next_id = 1
        self.drift_px = (0.0, 0.0)
        self.searches: list[Search] = []
        self._flow = (0.0, 0.0)
        self._settings = settings
        self._appearance = appearance

    def advance(
        self,
        interval_s: float,
        turn_px: tuple[float, float] = (0.0, 0.0),
        moved_px: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        """Move every track to the next frame's time.

        Args:
            interval_s: time since the frame before.
            turn_px: change of the whole picture's motion, dx and dy in the interval. It may
                be wrong (a large face that moves looks like a turning camera), so the
                detections decide whether to believe it.
            moved_px: the whole picture's motion itself. A face seen for the first time is
                expected to move with it.
        """
        self.drift_px = (self.drift_px[0] + moved_px[0], self.drift_px[1] + moved_px[1])
        # px a second
        self._flow = (moved_px[0] / interval_s, moved_px[1] / interval_s) if interval_s else (0, 0)
        if self.steered is not None or any(turn_px):
            believed = self.motion if self.steered is None else self.steered
            self.steered = steer(predict(believed, interval_s), turn_px, interval_s)
        self.motion = predict(self.motion, interval_s)

    def observe(
        self,
        frame: int,
        time_s: float,
        scene: int,
        faces: Sequence[Face],
        least_px: float = 0.0,
        look: Callable[[Face], Glance | None] | None = None,
    ) -> None:
        """Link one frame's detections to the tracks; what links to none begins a track.

        Args:
            frame: index of the frame, to which the tracks were advanced.
            time_s: its time.
            scene: number of its scene; tracks of other scenes take no part.
            faces: detections with finite boxes, in any order.
            least_px: size from which the search finds faces.
            look: takes a glance at a detection.
        """
        search = Search(time_s, least_px)
        found = self._link(time_s, scene, faces, look)
        for row in found.crossing:
            self.trajectories[row].doubt_since(time_s - self._settings.doubt_margin_s)
        near = [one for one in found.links if not one.is_away]
        self._end_rivalries(
            {self.trajectories[one.row].track_id: faces[one.column].score for one in near}
        )
        for one in near:
            self._go_on(frame, time_s, faces[one.column], one, found)
        if near:
            boxes = np.array([faces[one.column].box_px for one in near], dtype=np.float64)
            rows = np.array([one.row for one in near], dtype=np.intp)
            self.motion = correct(self.motion, rows, boxes)
        for one in found.links:
            if one.is_away:
                self._branch(frame, time_s, faces[one.column], one, found)
        for column in found.free:
            self._begin(frame, time_s, scene, faces[column], found.glances.get(column))
        for trajectory in self.trajectories:
            if trajectory.scene == scene and trajectory.last.frame < frame:
                self._miss(trajectory, search)
        self.searches = [one for one in self.searches if one.least_px < least_px] + [search]

    def moving(self, scene: int) -> tuple[MovingFace, ...]:
        """Sizes and speeds of the tracks of a scene; a clear newcomer's speed is not known."""
        sizes, speeds = sizes_and_speeds(self.motion)
        return tuple(
            MovingFace(float(sizes[row]), math.inf if self._is_new(track) else float(speeds[row]))
            for row, track in enumerate(self.trajectories)
            if track.scene == scene and not track.is_bridge
        )

    def retire(self, frame: int, time_s: float) -> None:
        """Drop the tracks that no frame after `frame` can show.

        Args:
            frame: index of the frame just released.
            time_s: its time.
        """
        keep = np.array([self._may_show(t, frame, time_s) for t in self.trajectories], dtype=bool)
        if not keep.all():
            self.motion = select(self.motion, keep)
            self.steered = None if self.steered is None else select(self.steered, keep)
            self.trajectories = [t for t, k in zip(self.trajectories, keep, strict=True) if k]
        for trajectory in self.trajectories:
            trajectory.forget_before(frame)

    def _link(
        self,
        time_s: float,
        scene: int,
        faces: Sequence[Face],
        look: Callable[[Face], Glance | None] | None,
    ) -> Links:
        """Links by the motion that tells the detections best, which is then the tracks' own."""
        look = look and _once(look)
        plain = link(self.trajectories, self.motion, time_s, scene, faces, self._settings, look)
        steered, self.steered = self.steered, None
        if steered is None:
            return plain
        turned = link(self.trajectories, steered, time_s, scene, faces, self._settings, look)
        if turned.agreement <= plain.agreement + _CLEARLY_BETTER:
            return plain
        self.motion = steered
        return turned

    def _is_new(self, trajectory: Trajectory) -> bool:
        return trajectory.hits < 2 and trajectory.best_score >= self._settings.high_score

    def _may_show(self, trajectory: Trajectory, frame: int, time_s: float) -> bool:
        """Whether the track can reach beyond the released frame."""
        return trajectory.last.frame >= frame or self._is_held(trajectory, frame, time_s)

    def _is_held(self, trajectory: Trajectory, frame: int, time_s: float) -> bool:
        """Whether the track is covered in a frame by its last detection."""
        away_s = time_s - trajectory.last.time_s
        limit_s = forward_reach_s(trajectory, self._settings)
        return is_within(frame - trajectory.last.frame, away_s, limit_s, self._settings)

    def _go_on(self, frame: int, time_s: float, face: Face, one: Link, found: Links) -> None:
        """Continue a track, under a new id where the old one is not trusted."""
        trajectory = self.trajectories[one.row]
        if one.row not in found.crossing:
            self._settle(trajectory, frame)
            if one.is_resized or self._looks_different(trajectory, frame, time_s, face):
                trajectory.doubt_since(time_s - self._settings.doubt_margin_s)
                trajectory.rename(self._take_id(), frame)
        trajectory.observe(frame, time_s, face, self.drift_px, found.glances.get(one.column))

    def _end_rivalries(self, scores: Mapping[int, float]) -> None:
        """Tracks that are seen where they were expected jumped to none that was seen worse.

        Args:
            scores: how well they are seen, by track id.
        """
        for other in self.trajectories:
            if other.rival and other.best_score <= scores.get(other.rival, -1.0):
                other.rival, other.is_vouched = 0, False

    def _settle(self, trajectory: Trajectory, frame: int) -> None:
        """End a doubt whose cause is gone."""
        if trajectory.in_doubt:
            trajectory.clear_runs += 1
            if trajectory.clear_runs >= _CLEAR_RUNS:
                trajectory.rename(self._take_id(), frame)

    def _looks_different(
        self, trajectory: Trajectory, frame: int, time_s: float, face: Face
    ) -> bool:
        """Unseen for too long, or told so by the appearance."""
        if time_s - trajectory.last.time_s > self._settings.doubt_gap_s:
            return True
        if self._appearance is None:
            return False
        distance = self._appearance(trajectory.track_id, frame, face)
        return distance is not None and not distance < self._settings.doubt_distance

    def _branch(self, frame: int, time_s: float, face: Face, one: Link, found: Links) -> None:
        """Begin a track where an old one may have jumped to; the old one coasts on, doubtful.

        Both explanations stay covered: the face moved, or it is unseen and another came. What does
        not look like the face has a cover of its own, and none is on the way to it. A track that is
        not covered any more vouches for none.
        """
        old, glance = self.trajectories[one.row], found.glances.get(one.column)
        interval_s = max(time_s - old.last.time_s, _SHORTEST_S)
        old.is_suspect |= not one.is_unlike
        new = Trajectory(old.scene, self._take_id(), frame, rival=old.track_id)
        new.is_vouched = has_evidence(old) and self._is_held(old, frame, time_s)
        if one.is_unlike or interval_s > self._settings.doubt_gap_s:
            self._add(new, frame, time_s, face, glance)
            return
        centre = (face.box_px[:2].astype(np.float64) + face.box_px[2:]) / 2
        velocity = np.zeros((1, 4))
        velocity[0, :2] = (centre - old.last.pose[:2]) / interval_s
        self._add(new, frame, time_s, face, glance, velocity)
        if frame - old.last.frame > 1:
            self._bridge(old, new)

    def _bridge(self, old: Trajectory, new: Trajectory) -> None:
        """Cover the way from one track's last detection to another's first."""
        bridge = Trajectory(
            old.scene,
            self._take_id(),
            old.last.frame,
            is_bridge=True,
            is_vouched=has_evidence(old) or has_evidence(new),
            rival=new.rival,
            best_score=new.best_score,
        )
        bridge.observations = [
            replace(seen, track_id=bridge.track_id, birth_frame=old.last.frame, is_doubtful=True)
            for seen in (old.last, new.last)
        ]
        self.trajectories.append(bridge)
        self.motion = join(self.motion, start(new.last.face.box_px[None]))

    def _begin(
        self, frame: int, time_s: float, scene: int, face: Face, glance: Glance | None
    ) -> None:
        """Begin a track for a detection linked to none, however low its score.

        What a moving camera carries to it is no link, but evidence for both.
        """
        new = Trajectory(scene, self._take_id(), frame)
        for old in self._carried_to(face, frame, time_s, scene):
            best = max(face, old.last.face, key=attrgetter("score"))
            if is_face(best, old.hits + 1):
                new.is_vouched = old.is_vouched = True
                new.rival = old.rival = 0
        self._add(new, frame, time_s, face, glance)

    def _carried_to(self, face: Face, frame: int, time_s: float, scene: int) -> list[Trajectory]:
        if not any(self._flow):
            return []
        found = carried_to(face, self.trajectories, self.motion, frame, time_s)
        return [one for one in found if one.scene == scene]

    def _add(
        self,
        trajectory: Trajectory,
        frame: int,
        time_s: float,
        face: Face,
        glance: Glance | None,
        velocity: NDArray[np.float64] | None = None,
    ) -> None:
        trajectory.observe(frame, time_s, face, self.drift_px, glance)
        trajectory.unseen_since_s = self._searched_before(size_px(trajectory.last.pose))
        self.trajectories.append(trajectory)
        is_guess = velocity is None
        if velocity is None:
            velocity = np.array([[*self._flow, 0.0, 0.0]])
        self.motion = join(self.motion, start(face.box_px[None], velocity, is_guess=is_guess))

    def _searched_before(self, face_px: float) -> float:
        """When the last search ended that would have found a face of this size."""
        fine = (one.time_s for one in self.searches if one.least_px <= face_px)
        return max(fine, default=-math.inf)

    @staticmethod
    def _miss(trajectory: Trajectory, search: Search) -> None:
        if search.least_px <= size_px(trajectory.last.pose):
            trajectory.unseen_until_s = min(trajectory.unseen_until_s, search.time_s)

    def _take_id(self) -> int:
        self.next_id += 1
        return self.next_id - 1


def _once(look: Callable[[Face], Glance | None]) -> Callable[[Face], Glance | None]:
    """Takes a glance at each face of a frame once, whichever motion it is linked by."""
    seen: dict[int, Glance | None] = {}

    def glance(face: Face) -> Glance | None:
        if id(face) not in seen:
            seen[id(face)] = look(face)
        return seen[id(face)]

    return glance
