"""Whether a trajectory is a face: what is certainly none gets no cover.

A detector finds curtains and letters with low scores, now and then; it finds faces again and
again, or clearly at least once. The whole trajectory is judged, the look-ahead included, so
that a face which turns out to be one late is covered from its first detection on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from engines.types import Face
from tracker.poses import pose_from_face, size_px
from tracker.settings import TrackerSettings
from tracker.trajectory import Trajectory

__all__ = ["Proof", "has_evidence", "is_covered", "is_face"]


@dataclass(frozen=True, slots=True)
class Proof:
    """One way for a trajectory to be a face.

    Attributes:
        finds: detections that it needs. More: fewer false tracks; more bare faces.
        best_score: score that the best of them needs, 0 to 1. Higher: the same.
    """

    finds: int
    best_score: float


_PROOFS: Final = (Proof(1, 0.5), Proof(2, 0.4), Proof(3, 0.3), Proof(6, 0.0))
_UNLIKELY_PROOFS: Final = (Proof(1, 0.5), Proof(2, 0.4))
"""The same with detections that are large or of faces from the side: what is found so with low
scores, however often, is rather hair, a hand or a gap between people."""
_SMALL_PROOFS: Final = (Proof(1, 0.3), Proof(2, 0.0))
"""The same for small faces, which detectors find with low scores."""
_SMALL_PX: Final = 20.0
"""Size of a box below which a face is small."""
_EARLY_FINDS: Final = 3
"""Detections that cover a track until its evidence is judged."""


def has_evidence(trajectory: Trajectory) -> bool:
    """Whether the detections so far show a face.

    >>> import numpy as np
    >>> weak = Face(np.array([0, 0, 40, 40], np.float32), np.ones((5, 2), np.float32), 0.45)
    >>> seen = Trajectory(scene=0, track_id=1, birth_frame=0)
    >>> seen.observe(0, 0.0, weak)
    >>> once = has_evidence(seen)
    >>> seen.observe(1, 0.04, weak)
    >>> once, has_evidence(seen)
    (False, True)
    """
    if trajectory.is_vouched:
        return True
    if _is_proved(trajectory.believed_hits, trajectory.believed_score, _PROOFS):
        return True
    if _is_proved(trajectory.hits, trajectory.best_score, _UNLIKELY_PROOFS):
        return True
    return _was_small_face(trajectory)


def is_covered(
    trajectory: Trajectory, newest_s: float, ahead_s: float, settings: TrackerSettings
) -> bool:
    """Whether a track is to be covered in a frame.

    Where the look-ahead is too short to wait for evidence, a track that was covered early stays so
    for as long as it is found: else a face that is found weakly now and then would be bare between.

    Args:
        trajectory: the track with all detections known so far.
        newest_s: time of the newest frame that was searched.
        ahead_s: how far the look-ahead reaches beyond a frame, while the stream goes on.
        settings: how long evidence is waited for, and what is covered until then.
    """
    if has_evidence(trajectory):
        return True
    is_shortsighted = ahead_s < settings.evidence_s
    since_s = (trajectory.last if is_shortsighted else trajectory.first).time_s
    if newest_s - since_s >= settings.evidence_s:
        return False
    return trajectory.best_score >= settings.early_score or trajectory.hits >= _EARLY_FINDS


def is_face(face: Face, finds: int = 1) -> bool:
    """Whether some detections, in as many frames, are evidence of a face.

    Args:
        face: the best of them.
        finds: how many there are.

    >>> import numpy as np
    >>> weak = Face(np.array([0, 0, 40, 40], np.float32), np.ones((5, 2), np.float32), 0.45)
    >>> is_face(weak), is_face(weak, 2)
    (False, True)
    """
    is_small = size_px(pose_from_face(face)) < _SMALL_PX
    return _is_proved(finds, face.score, _SMALL_PROOFS if is_small else _PROOFS)


def _was_small_face(trajectory: Trajectory) -> bool:
    """Whether the detections up to the last small one show a small face; it may have grown since.

    Fewer detections than a large face needs are all kept, so none is missed here.
    """
    seen = trajectory.observations
    later = next(
        (place for place, one in enumerate(reversed(seen)) if size_px(one.pose) < _SMALL_PX), None
    )
    if later is None:
        return False
    best_score = max(one.face.score for one in seen[: len(seen) - later])
    return _is_proved(trajectory.hits - later, best_score, _SMALL_PROOFS)


def _is_proved(hits: int, best_score: float, proofs: tuple[Proof, ...]) -> bool:
    return any(hits >= proof.finds and best_score >= proof.best_score for proof in proofs)
