"""Faces that a moving camera carries along faster than its picture moves as a whole.

Where a camera turns or drives, what is near moves faster than what is behind it. A small face,
found weakly, is then linked to no track: in every frame it is a new one, each too weak for a face.
How far it was carried can be seen by a known face beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from engines.types import Face
from tracker.association import price
from tracker.motion import Motion
from tracker.trajectory import Trajectory

__all__ = ["carried_to"]

_BESIDE_SIZES: Final = 6.0
_AS_LARGE: Final = math.log(1.5)
_KNOWN_FINDS: Final = 3
"""How near, in sizes, how like in size and how often found a face is that shows how another moves.
Farther, less alike, less often: more covers on what is no face."""
_CARRIED_SIZES: Final = 0.5
_CARRIED_S: Final = 0.15
"""How far, in sizes, from where it was carried to, and how much later, a face is found again."""


def carried_to(
    face: Face, trajectories: Sequence[Trajectory], motion: Motion, frame: int, time_s: float
) -> list[Trajectory]:
    """The tracks, lost lately, that are carried to where a new face was found.

    Args:
        face: linked to no track.
        trajectories: the tracks, of any scene.
        motion: one row for each of them, at the frame's time.
        frame: index of the frame.
        time_s: its time.
    """
    known = [
        row
        for row, one in enumerate(trajectories)
        if one.last.frame == frame and one.hits >= _KNOWN_FINDS
    ]
    lost = [
        one
        for one in trajectories
        if one.last.frame < frame and time_s - one.last.time_s <= _CARRIED_S and not one.is_bridge
    ]
    near = _nearest(face, [trajectories[row].last.face for row in known])
    if near is None or not lost:
        return []
    speed = motion.mean[known[near], :2, 1]
    boxes = np.array([one.last.face.box_px for one in lost], np.float64)
    shifts = np.array([(time_s - one.last.time_s) * speed for one in lost])
    prices = price(boxes + np.tile(shifts, 2), face.box_px[None].astype(np.float64))
    fits = (prices.distance <= _CARRIED_SIZES) & (prices.log_size <= _AS_LARGE)
    return [lost[place] for place in np.flatnonzero(fits[:, 0]).tolist()]


def _nearest(face: Face, known: Sequence[Face]) -> int | None:
    """Which of some faces is the nearest; None where none of its size is near."""
    if not known:
        return None
    boxes = np.array([one.box_px for one in known], np.float64)
    prices = price(boxes, face.box_px[None].astype(np.float64))
    is_near = (prices.distance <= _BESIDE_SIZES) & (prices.log_size <= _AS_LARGE)
    if not is_near.any():
        return None
    return int(np.where(is_near, prices.distance, math.inf)[:, 0].argmin())
