"""A tracker's state as plain JSON, to continue exactly where another run stopped.

No picture is kept: the few thumbnails that cut detection still needs are named by frame, and
whoever continues decodes those frames again (they are among the last ones pushed).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from pydantic import TypeAdapter, ValidationError

from engines.types import Face
from tracker.clock import StreamClock
from tracker.cuts import CutMemory
from tracker.errors import TrackerStateRejected
from tracker.frames import HeldFrame
from tracker.lifecycle import Search
from tracker.motion import Motion
from tracker.poses import pose_from_face
from tracker.trajectory import Observation, Trajectory

__all__ = ["Snapshot", "decoded", "encoded"]

VERSION = 4


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything a tracker knows between two frames.

    Attributes:
        settings: the settings as a mapping; a state fits only the settings it came from.
        next_frame: index of the next frame to push; None before the first.
        clock: the stream's clock.
        cuts: the cut detector's memory.
        held: frames pushed but not released.
        scene_before: scene of the frame released last.
        trajectories: the tracks alive; `motion` has one row for each.
        motion: their filters.
        steered: the same if the camera turned; None when nothing says so.
        next_id: id of the next track.
        drift_px: how far the picture as a whole has moved since the stream began, dx and dy.
        searches: the detector runs that still matter.
    """

    settings: dict[str, float]
    next_frame: int | None
    clock: StreamClock
    cuts: CutMemory
    held: list[HeldFrame]
    scene_before: int
    trajectories: list[Trajectory]
    motion: Motion
    steered: Motion | None
    next_id: int
    drift_px: tuple[float, float]
    searches: list[Search]


@dataclass(frozen=True, slots=True)
class _Seen:
    frame: int
    time_s: float
    box_px: list[float]
    landmarks_px: list[list[float]]
    score: float
    track_id: int
    birth_frame: int
    is_doubtful: bool
    drift_px: tuple[float, float]


@dataclass(frozen=True, slots=True)
class _Path:
    scene: int
    track_id: int
    birth_frame: int
    hits: int
    best_score: float
    believed_hits: int
    believed_score: float
    in_doubt: bool
    clear_runs: int
    is_suspect: bool
    is_bridge: bool
    is_vouched: bool
    rival: int
    unseen_since_s: float
    unseen_until_s: float
    observations: list[_Seen]


@dataclass(frozen=True, slots=True)
class _Filters:
    mean: list[list[list[float]]]
    spread: list[list[list[float]]]


@dataclass(frozen=True, slots=True)
class _Record:
    version: int
    settings: dict[str, float]
    next_frame: int | None
    clock: StreamClock
    cuts: CutMemory
    held: list[HeldFrame]
    scene_before: int
    paths: list[_Path]
    motion: _Filters
    steered: _Filters | None
    next_id: int
    drift_px: tuple[float, float]
    searches: list[Search]


def encoded(snapshot: Snapshot) -> dict[str, object]:
    """Numbers, strings, lists and mappings; floats survive JSON exactly."""
    return asdict(
        _Record(
            VERSION,
            snapshot.settings,
            snapshot.next_frame,
            snapshot.clock,
            snapshot.cuts,
            snapshot.held,
            snapshot.scene_before,
            [_path_from(trajectory) for trajectory in snapshot.trajectories],
            _filters_from(snapshot.motion),
            None if snapshot.steered is None else _filters_from(snapshot.steered),
            snapshot.next_id,
            snapshot.drift_px,
            snapshot.searches,
        )
    )


def decoded(state: object) -> Snapshot:
    """Inverse of `encoded`.

    Raises:
        TrackerStateRejected: the state is damaged or of another version.
    """
    try:
        record = TypeAdapter(_Record).validate_python(state)
        motion = _motion_from(record.motion, len(record.paths))
        steered = None
        if record.steered is not None:
            steered = _motion_from(record.steered, len(record.paths))
        trajectories = [_trajectory_from(path) for path in record.paths]
    except (ValidationError, ValueError) as error:
        raise TrackerStateRejected(
            "the saved tracker state is damaged: start from the beginning, without --resume"
        ) from error
    if record.version != VERSION:
        raise TrackerStateRejected(
            f"the saved tracker state has version {record.version}, not {VERSION}: start from"
            " the beginning, without --resume"
        )
    return Snapshot(
        record.settings,
        record.next_frame,
        record.clock,
        record.cuts,
        record.held,
        record.scene_before,
        trajectories,
        motion,
        steered,
        record.next_id,
        record.drift_px,
        record.searches,
    )


def _filters_from(motion: Motion) -> _Filters:
    return _Filters(motion.mean.tolist(), motion.spread.tolist())


def _motion_from(filters: _Filters, rows: int) -> Motion:
    mean = np.array(filters.mean, dtype=np.float64).reshape(rows, 4, 2)
    return Motion(mean, np.array(filters.spread, dtype=np.float64).reshape(rows, 4, 3))


def _path_from(trajectory: Trajectory) -> _Path:
    return _Path(
        trajectory.scene,
        trajectory.track_id,
        trajectory.birth_frame,
        trajectory.hits,
        trajectory.best_score,
        trajectory.believed_hits,
        trajectory.believed_score,
        trajectory.in_doubt,
        trajectory.clear_runs,
        trajectory.is_suspect,
        trajectory.is_bridge,
        trajectory.is_vouched,
        trajectory.rival,
        trajectory.unseen_since_s,
        trajectory.unseen_until_s,
        [_seen_from(seen) for seen in trajectory.observations],
    )


def _seen_from(seen: Observation) -> _Seen:
    return _Seen(
        seen.frame,
        seen.time_s,
        seen.face.box_px.tolist(),
        seen.face.landmarks_px.tolist(),
        float(seen.face.score),
        seen.track_id,
        seen.birth_frame,
        seen.is_doubtful,
        seen.drift_px,
    )


def _trajectory_from(path: _Path) -> Trajectory:
    if not path.observations:
        raise ValueError("a track without detections")
    return Trajectory(
        path.scene,
        path.track_id,
        path.birth_frame,
        path.hits,
        path.best_score,
        path.believed_hits,
        path.believed_score,
        path.in_doubt,
        path.clear_runs,
        path.is_suspect,
        path.is_bridge,
        path.is_vouched,
        path.rival,
        path.unseen_since_s,
        path.unseen_until_s,
        [_observation_from(seen) for seen in path.observations],
    )


def _observation_from(seen: _Seen) -> Observation:
    box = np.array(seen.box_px, dtype=np.float32).reshape(4)
    landmarks = np.array(seen.landmarks_px, dtype=np.float32).reshape(5, 2)
    face = Face(box, landmarks, seen.score)
    return Observation(
        seen.frame,
        seen.time_s,
        face,
        pose_from_face(face),
        seen.track_id,
        seen.birth_frame,
        seen.is_doubtful,
        seen.drift_px,
    )
