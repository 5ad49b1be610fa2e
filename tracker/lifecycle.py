"""How tracks begin, go on, become doubtful, and end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from engines.types import Face
from tracker.association import Matches, associate, price
from tracker.doubt import AppearanceDistance, exchangeable, has_moved_away, has_resized
from tracker.motion import (
    Motion,
    correct,
    join,
    predict,
    select,
    shift,
    sizes_and_speeds,
    spread_sizes,
    start,
    unseen_log_spread,
)
from tracker.poses import pose_from_face
from tracker.schedule import MovingFace
from tracker.settings import TrackerSettings
from tracker.trajectory import Trajectory

__all__ = ["Lifecycle", "is_within"]

_CLEAR_RUNS = 2
"""Detector runs without a cause before a doubt ends (in a new id)."""

_REACH_S = 0.04
_REACH_GROWTH = 2.0
"""The reach holds for 40 ms and doubles for twice that and more."""


def is_within(frames: int, seconds: float, limit_s: float, settings: TrackerSettings) -> bool:
    """Whether a frame this far from a detection is still covered by it.

    >>> is_within(2, 1.0, 0.4, TrackerSettings())
    True
    """
    return frames <= settings.min_hold_frames or seconds <= limit_s + 1e-9


class Lifecycle:
    """All tracks of one stream that may still be shown.

    Attributes:
        trajectories: the tracks; `motion` has one row for each.
        motion: their filters, at the time of the newest frame.
        next_id: id of the next track; ids are never reused.
    """

    def __init__(
        self, settings: TrackerSettings, appearance: AppearanceDistance | None = None
    ) -> None:
        self.trajectories: list[Trajectory] = []
        self.motion = Motion.none()
        self.next_id = 1
        self._settings = settings
        self._appearance = appearance

    def advance(self, interval_s: float, offset_px: tuple[float, float] = (0.0, 0.0)) -> None:
        """Move every track to the next frame's time.

        Args:
            interval_s: time since the frame before.
            offset_px: how far the whole picture moved, dx and dy.
        """
        self.motion = shift(predict(self.motion, interval_s), offset_px)

    def observe(self, frame: int, time_s: float, scene: int, faces: Sequence[Face]) -> None:
        """Link one frame's detections to the tracks; what links to none begins a track.

        Args:
            frame: index of the frame, to which the tracks were advanced.
            time_s: its time.
            scene: number of its scene; tracks of other scenes take no part.
            faces: detections with finite boxes, best first or not.
        """
        rows = np.array(
            [i for i, t in enumerate(self.trajectories) if t.scene == scene and not t.is_bridge],
            dtype=np.intp,
        )
        boxes = np.array([face.box_px for face in faces], dtype=np.float64).reshape(-1, 4)
        scores = np.array([face.score for face in faces], dtype=np.float64)
        active = Motion(self.motion.mean[rows], self.motion.spread[rows])
        prices = price(active.boxes_px, boxes)
        matches = associate(
            prices,
            spread_sizes(active),
            scores,
            high_score=self._settings.high_score,
            reach_sizes=self._reach(rows, time_s),
        )
        crossing = exchangeable(
            prices, matches, self._claimants(rows), scores >= self._settings.high_score
        )
        away = has_moved_away(prices, matches)
        resized = has_resized(prices, matches, unseen_log_spread(active))
        self._doubt(rows[crossing], time_s)
        self._go_on(frame, time_s, faces, rows, matches, crossing, away, resized)
        self.motion = correct(self.motion, rows[matches.tracks[~away]], boxes[matches.faces[~away]])
        self._branch(frame, time_s, faces, rows, matches, away)
        self._begin(frame, time_s, scene, faces, matches)

    def moving(self, scene: int) -> tuple[MovingFace, ...]:
        """Sizes and speeds of the tracks of a scene; a clear newcomer's speed is not known."""
        sizes, speeds = sizes_and_speeds(self.motion)
        return tuple(
            MovingFace(float(sizes[row]), math.inf if self._is_new(track) else float(speeds[row]))
            for row, track in enumerate(self.trajectories)
            if track.scene == scene and not track.is_bridge
        )

    def _is_new(self, trajectory: Trajectory) -> bool:
        return trajectory.hits < 2 and trajectory.best_score >= self._settings.high_score

    def retire(self, frame: int, time_s: float) -> None:
        """Drop the tracks that no frame after `frame` can show.

        Args:
            frame: index of the frame just released.
            time_s: its time.
        """
        keep = np.array([self._may_show(t, frame, time_s) for t in self.trajectories], dtype=bool)
        if not keep.all():
            self.motion = select(self.motion, keep)
            self.trajectories = [t for t, k in zip(self.trajectories, keep, strict=True) if k]
        for trajectory in self.trajectories:
            trajectory.forget_before(frame)

    def _may_show(self, trajectory: Trajectory, frame: int, time_s: float) -> bool:
        """Whether the track can reach beyond the released frame."""
        last = trajectory.last
        return is_within(
            frame - last.frame, time_s - last.time_s, self._settings.hold_s, self._settings
        )

    def _reach(self, rows: NDArray[np.intp], time_s: float) -> NDArray[np.float64]:
        """(T,) sizes within which a track may be linked; wider when it was unseen."""
        unseen_s = np.array([time_s - self.trajectories[row].last.time_s for row in rows])
        return self._settings.reach_sizes * np.clip(unseen_s / _REACH_S, 1.0, _REACH_GROWTH)

    def _claimants(self, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """(T,) tracks seen at least twice and once clearly."""
        chosen = [self.trajectories[row] for row in rows]
        return np.array(
            [t.hits >= 2 and t.best_score >= self._settings.high_score for t in chosen], dtype=bool
        )

    def _doubt(self, rows: NDArray[np.intp], time_s: float) -> None:
        for row in rows:
            self.trajectories[row].doubt_since(time_s - self._settings.doubt_margin_s)

    def _go_on(
        self,
        frame: int,
        time_s: float,
        faces: Sequence[Face],
        rows: NDArray[np.intp],
        matches: Matches,
        crossing: NDArray[np.bool_],
        away: NDArray[np.bool_],
        resized: NDArray[np.bool_],
    ) -> None:
        """Append to each linked track, under a new id where the old one is not trusted."""
        for place, (row, column) in enumerate(zip(matches.tracks, matches.faces, strict=True)):
            if away[place]:
                continue
            trajectory, face = self.trajectories[rows[row]], faces[column]
            if not crossing[row]:
                self._settle(trajectory, frame)
                if resized[place] or self._looks_different(trajectory, frame, time_s, face):
                    trajectory.doubt_since(time_s - self._settings.doubt_margin_s)
                    trajectory.rename(self._take_id(), frame)
            trajectory.observe(frame, time_s, face)

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

    def _branch(
        self,
        frame: int,
        time_s: float,
        faces: Sequence[Face],
        rows: NDArray[np.intp],
        matches: Matches,
        away: NDArray[np.bool_],
    ) -> None:
        """Begin a track where an old one may have jumped to; the old one coasts on, doubtful.

        Both explanations stay covered: the face moved, or it is unseen and another came.
        """
        for row, column in zip(matches.tracks[away], matches.faces[away], strict=True):
            old, face = self.trajectories[rows[row]], faces[column]
            interval_s = max(time_s - old.last.time_s, 1e-3)
            old.is_suspect = True
            new = Trajectory(old.scene, self._take_id(), frame)
            velocity = None
            if interval_s <= self._settings.doubt_gap_s:
                velocity = np.zeros((1, 4))
                velocity[0, :2] = (pose_from_face(face)[:2] - old.last.pose[:2]) / interval_s
            self._add(new, frame, time_s, face, velocity)
            if velocity is not None and frame - old.last.frame > 1:
                self._bridge(old, new)

    def _bridge(self, old: Trajectory, new: Trajectory) -> None:
        """Cover the way from one track's last detection to another's first."""
        bridge = Trajectory(old.scene, self._take_id(), old.last.frame, is_bridge=True)
        bridge.observations = [
            replace(
                seen, track_id=bridge.track_id, birth_frame=bridge.birth_frame, is_doubtful=True
            )
            for seen in (old.last, new.last)
        ]
        self.trajectories.append(bridge)
        self.motion = join(self.motion, start(new.last.face.box_px[None]))

    def _begin(
        self, frame: int, time_s: float, scene: int, faces: Sequence[Face], matches: Matches
    ) -> None:
        """Begin a track for every detection linked to none, however low its score."""
        taken = set(matches.faces.tolist())
        for column, face in enumerate(faces):
            if column not in taken:
                self._add(Trajectory(scene, self._take_id(), frame), frame, time_s, face, None)

    def _add(
        self,
        trajectory: Trajectory,
        frame: int,
        time_s: float,
        face: Face,
        velocity: NDArray[np.float64] | None,
    ) -> None:
        trajectory.observe(frame, time_s, face)
        self.trajectories.append(trajectory)
        self.motion = join(self.motion, start(face.box_px[None], velocity))

    def _take_id(self) -> int:
        self.next_id += 1
        return self.next_id - 1
