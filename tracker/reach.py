"""How long a track is covered beyond its detections.

A face that was detected may be there a little longer, missed or turned away. Where no search
ran since that would have found it, it may be there all the time: a small face, between two
thorough searches.
"""

from __future__ import annotations

from typing import Final

from tracker.poses import size_px
from tracker.settings import TrackerSettings
from tracker.trajectory import Trajectory

__all__ = [
    "backward_reach_s",
    "forward_reach_s",
    "is_sure",
    "is_weak",
    "is_within",
    "stands_still",
]

_JUST_AFTER_S: Final = 1e-3
"""A search that found nothing speaks for its own frame."""
_SURE_FINDS: Final = 6
"""Detections from which a track, once clearly seen, is beyond doubt a face."""
_STILL_S: Final = 0.3
_STILL_SIZES: Final = 0.2
"""Time over which a face must not have moved farther than this, in its sizes, to stand still."""
_STILL_FINDS: Final = 3
_SMALL_PX: Final = 24.0
"""Size of a box below which detectors find faces with low scores."""


def is_within(frames: int, seconds: float, limit_s: float, settings: TrackerSettings) -> bool:
    """Whether a frame this far from a detection is still covered by it.

    >>> is_within(2, 1.0, 0.4, TrackerSettings())
    True
    """
    return frames <= settings.min_hold_frames or seconds <= limit_s + 1e-9


def backward_reach_s(trajectory: Trajectory, settings: TrackerSettings) -> float:
    """Seconds for which a track is covered before its first detection."""
    unsearched_s = trajectory.first.time_s - trajectory.unseen_since_s - _JUST_AFTER_S
    held_s = settings.preroll_s
    if is_weak(trajectory, settings):
        held_s = min(held_s, settings.weak_hold_s)
    return max(held_s, min(unsearched_s, settings.unsearched_s))


def forward_reach_s(trajectory: Trajectory, settings: TrackerSettings) -> float:
    """Seconds for which a track is covered after its last detection."""
    held_s = settings.hold_s
    if is_weak(trajectory, settings):
        held_s = min(held_s, settings.weak_hold_s)
    if is_sure(trajectory, settings) or stands_still(trajectory):
        held_s = max(held_s, settings.sure_hold_s)
    unsearched_s = trajectory.unseen_until_s - trajectory.last.time_s - _JUST_AFTER_S
    return max(held_s, min(unsearched_s, settings.unsearched_s))


def is_sure(trajectory: Trajectory, settings: TrackerSettings) -> bool:
    """Whether the track is beyond doubt a face: it turned away, rather than never was one."""
    return trajectory.hits >= _SURE_FINDS and trajectory.best_score >= settings.high_score


def is_weak(trajectory: Trajectory, settings: TrackerSettings) -> bool:
    """Whether the track was never clearly found, and is large enough to have been."""
    is_small = size_px(trajectory.last.pose) < _SMALL_PX
    return trajectory.best_score < settings.high_score and not is_small


def stands_still(trajectory: Trajectory) -> bool:
    """Whether the last detections, over some time, all lie in one place."""
    last, farthest, finds = trajectory.last, 0.0, 0
    limit_px = _STILL_SIZES * size_px(last.pose)
    for seen in reversed(trajectory.observations):
        off_x, off_y = (seen.pose[:2] - last.pose[:2]).tolist()
        farthest, finds = max(farthest, abs(off_x), abs(off_y)), finds + 1
        if farthest > limit_px:
            return False
        if last.time_s - seen.time_s >= _STILL_S:
            return finds >= _STILL_FINDS
    return False
