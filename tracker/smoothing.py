"""Where a track is in one frame, told with the frames on both sides.

Between two detections the face is interpolated; before the first and after the last it is
extrapolated; in a detected frame jitter is filtered by a local straight-line fit over the
detections on both sides, which has no delay and lets large deviations pass. The box of a
detected frame always holds the detector's own box.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter

import numpy as np

from engines.types import Face, Track, TrackState
from tracker.poses import LANDMARKS, Pose, contain, face_from_pose, grow, size_px
from tracker.reach import backward_reach_s, forward_reach_s, is_sure, is_weak, is_within
from tracker.settings import TrackerSettings
from tracker.trajectory import Observation, Trajectory

__all__ = ["line_fit", "smoothed_face", "track_at"]

_CALM_SIZES, _CALM_LOG, _CALM_MARKS = 0.04, 0.06, 0.04
"""Deviations from the fit well below these are jitter, well above are movement."""
_VELOCITY_WINDOW_S = 0.25
_SPARSE_WINDOW_S = 1.0
_VELOCITY_POINTS = 8
"""Detections used for a velocity: near ones, and older ones only to make up three."""
_JITTER_SIZES = 0.04
_USUAL_SPEED = 2.0
"""Standard deviations of a detected centre, sizes, and of heads' speeds, sizes per second."""
_SURE_POINTS = 3
"""Detections from which a velocity is taken seriously enough to bend an interpolation."""
_SLOWING_S = 0.25
"""Time constant of the alternative that a face slows down after its last detection."""
_SMALL_PX = 24.0
"""Faces below this size move fast for their size, and little is covered with them."""
_LONGEST_MOTION_S = 0.4
"""Time beyond a detection, or inside a gap, for which its speed tells anything: frames may lie
seconds apart."""
_BESIDE_S = 0.09
"""Time from the nearest detection up to which a gap is filled, however long it is."""
_LARGEST_GROWTH_RATE = 1.0
"""Log size per second: faster trends over a few frames are noise."""


def track_at(
    trajectory: Trajectory,
    frame: int,
    time_s: float,
    settings: TrackerSettings,
    drift_px: tuple[float, float] = (0.0, 0.0),
) -> Track | None:
    """The track in one frame, or None where it does not reach.

    Args:
        trajectory: the track with all detections known so far.
        frame: index of the frame.
        time_s: its time.
        settings: how far a track reaches beyond its detections.
        drift_px: how far the picture as a whole has moved since the stream began, dx and dy.
    """
    seen = trajectory.observations
    after = bisect_right(seen, frame, key=attrgetter("frame"))
    if after and seen[after - 1].frame == frame:
        return _detected(trajectory, seen[after - 1], settings)
    if 0 < after < len(seen):
        return _filled(trajectory, seen[after - 1], seen[after], frame, time_s, settings)
    near = seen[after - 1] if after else seen[0]
    reach_s = (forward_reach_s if after else backward_reach_s)(trajectory, settings)
    away_s = abs(time_s - near.time_s)
    if trajectory.is_bridge or not is_within(abs(frame - near.frame), away_s, reach_s, settings):
        return None
    carried = np.zeros(14)
    carried[:2] = np.subtract(drift_px, near.drift_px)
    return _extended(trajectory, near, frame, time_s, settings, carried)


def _detected(trajectory: Trajectory, seen: Observation, settings: TrackerSettings) -> Track | None:
    if trajectory.is_bridge:
        return None
    near = [
        other
        for other in trajectory.observations
        if other.track_id == seen.track_id and abs(other.time_s - seen.time_s) <= settings.smooth_s
    ]
    face = contain(smoothed_face(seen, near, settings.smooth_s), seen.face)
    state = TrackState.DOUBTFUL if seen.is_doubtful else TrackState.DETECTED
    return _track(trajectory, seen, seen.frame, face, state, settings)


def _filled(
    trajectory: Trajectory,
    before: Observation,
    after: Observation,
    frame: int,
    time_s: float,
    settings: TrackerSettings,
) -> Track:
    gap_s = max(after.time_s - before.time_s, 1e-9)
    part = (time_s - before.time_s) / gap_s
    score = min(before.face.score, after.face.score)
    line = (1.0 - part) * before.pose + part * after.pose
    curve = line + _bend(trajectory.observations, before, after, part)
    away_s = min(part, 1.0 - part) * gap_s
    face = contain(face_from_pose(curve, score), face_from_pose(line, score))
    face = grow(face, _growth(away_s, size_px(before.pose), settings))
    trusted = before.track_id == after.track_id
    trusted &= not (before.is_doubtful or after.is_doubtful)
    state = TrackState.FILLED if trusted else TrackState.DOUBTFUL
    if trusted and away_s > _BESIDE_S and _is_long(trajectory, before, after, settings):
        state = TrackState.EXTENDED
    return _track(trajectory, before, frame, face, state, settings)


def _is_long(
    trajectory: Trajectory, before: Observation, after: Observation, settings: TrackerSettings
) -> bool:
    """Whether in a gap between two detections the face may be gone, or never was there."""
    gap_s = after.time_s - before.time_s
    if is_weak(trajectory, settings):
        return gap_s > settings.weak_gap_s
    is_small = size_px(before.pose) < _SMALL_PX
    is_clear = max(before.face.score, after.face.score) >= settings.high_score
    is_clear &= is_sure(trajectory, settings)
    return gap_s > settings.unclear_gap_s and not is_small and not is_clear


def _bend(
    seen: Sequence[Observation], before: Observation, after: Observation, part: float
) -> Pose:
    """(14,) what a cubic through both ends, with the speeds there, adds to the straight line."""
    gap_s = after.time_s - before.time_s
    if gap_s > _LONGEST_MOTION_S:
        return np.zeros(14)
    mean = (after.pose - before.pose) / max(gap_s, 1e-9)
    place = bisect_right(seen, before.frame, key=attrgetter("frame"))
    earlier, later = seen[:place], seen[place:]
    leaving = _velocity(earlier, before)[0] - mean if len(earlier) >= _SURE_POINTS else None
    coming = _velocity(later, after)[0] - mean if len(later) >= _SURE_POINTS else None
    bend = np.zeros(14)
    if leaving is not None:
        bend[:2] += part * (1.0 - part) ** 2 * gap_s * leaving[:2]
    if coming is not None:
        bend[:2] -= part**2 * (1.0 - part) * gap_s * coming[:2]
    return bend


def _extended(
    trajectory: Trajectory,
    near: Observation,
    frame: int,
    time_s: float,
    settings: TrackerSettings,
    carried: Pose,
) -> Track:
    """The track beyond its detections.

    What its own detections do not tell of its speed, the picture does: in `carried`, (14,),
    is how far it has moved since the nearest detection.
    """
    away_s = min(max(time_s - near.time_s, -_LONGEST_MOTION_S), _LONGEST_MOTION_S)
    velocity, trust = _velocity(trajectory.observations, near)
    deviation = _USUAL_SPEED * math.sqrt(1.0 - trust)
    score, pose = near.face.score, near.pose + (1.0 - trust) * carried
    keeps_on = face_from_pose(pose + away_s * velocity, score)
    slowed_s = math.copysign(_SLOWING_S, away_s) * (1.0 - math.exp(-abs(away_s) / _SLOWING_S))
    slows = face_from_pose(pose + slowed_s * velocity, score)
    growth = _growth(abs(away_s), size_px(near.pose), settings, 2.0 * deviation)
    face = grow(contain(keeps_on, slows), growth)
    doubtful = near.is_doubtful
    doubtful |= away_s > 0 and (trajectory.in_doubt or trajectory.is_suspect)
    state = TrackState.DOUBTFUL if doubtful else TrackState.EXTENDED
    return _track(trajectory, near, frame, face, state, settings)


def _track(
    trajectory: Trajectory,
    near: Observation,
    frame: int,
    face: Face,
    state: TrackState,
    settings: TrackerSettings,
) -> Track:
    confirmed = trajectory.is_confirmed(near.track_id, settings)
    return Track(near.track_id, face, state, frame - near.birth_frame, confirmed)


def _growth(
    away_s: float, face_px: float, settings: TrackerSettings, unsure_per_s: float = 0.0
) -> float:
    rate = settings.growth_per_s + unsure_per_s
    largest = settings.growth_max if face_px >= _SMALL_PX else settings.small_growth_max
    return min(1.0 + rate * away_s, largest)


def _velocity(seen: Sequence[Observation], near: Observation) -> tuple[Pose, float]:
    """Speed at one end of a track.

    Returns:
        (14,) change per second of the pose, landmarks held still; and how far it is to be
        trusted, 0…1. Few detections close together tell little: their speed is drawn towards
        zero.
    """
    nearest = sorted(seen, key=lambda other: abs(other.frame - near.frame))[:_VELOCITY_POINTS]
    close = [
        other
        for place, other in enumerate(nearest)
        if abs(other.time_s - near.time_s)
        <= (_VELOCITY_WINDOW_S if place >= _SURE_POINTS else _SPARSE_WINDOW_S)
    ]
    velocity = np.zeros(14)
    times = [other.time_s - near.time_s for other in close]
    mean_s = sum(times) / len(times)
    spread = sum((time - mean_s) ** 2 for time in times)
    trust = spread / (spread + (_JITTER_SIZES / _USUAL_SPEED) ** 2)
    if len(close) > 1:
        _, slope = line_fit(times, [1.0] * len(close))
        velocity[:4] = trust * (slope @ np.array([other.pose[:4] for other in close]))
        velocity[2:4] = np.clip(velocity[2:4], -_LARGEST_GROWTH_RATE, _LARGEST_GROWTH_RATE)
    return velocity, trust


def smoothed_face(seen: Observation, near: Sequence[Observation], width_s: float) -> Face:
    """The detection with its jitter filtered.

    A straight line is fitted to the neighbours in time; small deviations from it are taken
    for jitter and dropped, large ones for movement and kept.

    Args:
        seen: the detection.
        near: detections of the same track around it, itself included.
        width_s: half width of the window.
    """
    if len(near) < 3:
        return seen.face
    times = [other.time_s - seen.time_s for other in near]
    weights = [(1.0 - min(abs(time) / (width_s * 1.01), 1.0) ** 2) ** 2 for time in times]
    level, _ = line_fit(times, weights)
    fit = level @ np.array([other.pose for other in near])
    off = seen.pose - fit
    x, y, log_width, log_height, *marks = off.tolist()
    keep = np.empty(14)
    keep[:2] = _kept(math.hypot(x, y) / max(size_px(seen.pose), 1e-6), _CALM_SIZES)
    keep[2:4] = _kept(max(abs(log_width), abs(log_height)), _CALM_LOG)
    keep[LANDMARKS] = _kept(max(map(abs, marks)), _CALM_MARKS)
    return face_from_pose(fit + keep * off, seen.face.score)


def _kept(deviation: float, calm: float) -> float:
    """Share of a deviation that is movement: 0 for small ones, 1 for large ones."""
    return deviation**2 / (deviation**2 + calm**2)


def line_fit(times_s: Sequence[float], weights: Sequence[float]) -> tuple[Pose, Pose]:
    """Weights that give level and slope, at time 0, of the best line through samples.

    Args:
        times_s: (N,) times of the samples.
        weights: (N,) non-negative, not all zero.

    Returns:
        Two (N,) float64: multiply by the samples and add up.

    >>> level, slope = line_fit([0.0, 1.0], [1.0, 1.0])
    >>> float(level @ [3.0, 5.0]), float(slope @ [3.0, 5.0])
    (3.0, 2.0)
    """
    pairs = list(zip(times_s, weights, strict=True))
    total = first = second = 0.0
    for time, weight in pairs:
        total += weight
        first += weight * time
        second += weight * time * time
    spread = total * second - first * first
    if spread <= 1e-12 * max(total * second, 1e-12):
        return np.array(weights) / total, np.zeros(len(pairs))
    level = [weight * (second - first * time) / spread for time, weight in pairs]
    slope = [weight * (total * time - first) / spread for time, weight in pairs]
    return np.array(level), np.array(slope)
