"""Crops of one face over time, before and after, and what networks read off them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.face.alignment import Similarity, moved
from evaluation.expressions import expressions_of
from evaluation.face_geometry import (
    GEOMETRY_CROP,
    HEAD_CROP,
    HEAD_MARGIN,
    GeometryProbe,
    jittered,
)
from evaluation.methods.surrogate import oval_alpha
from evaluation.metrics.flicker import flicker_ratio, jitter_ratio, warp_error_ratio
from evaluation.metrics.utility import landmark_error, pose_error_deg
from evaluation.movement import MovementBand, Side, bands_of_face, bands_of_faces

__all__ = ["FollowedFace", "Geometry", "Steadiness", "geometry_of", "movement_of"]
__all__ += ["steadiness_of"]

_LEAST_RUN: Final = 5

Crop = NDArray[np.uint8]


@dataclass(slots=True)
class FollowedFace:
    """One face as long as it was followed.

    Attributes:
        frames: numbers of the frames, ascending; there may be gaps.
        before: kveil crops of the original.
        after: the same places of the anonymized frames.
        maps: `frame_from_crop` of each.
        heads: head crops of both, original first.
    """

    frames: list[int] = field(default_factory=list)
    before: list[Crop] = field(default_factory=list)
    after: list[Crop] = field(default_factory=list)
    maps: list[Similarity] = field(default_factory=list)
    heads: list[tuple[Crop, Crop]] = field(default_factory=list)

    def add(
        self,
        index: int,
        before: Crop,
        after: Crop,
        frame_from_crop: Similarity,
        heads: tuple[Crop, Crop],
    ) -> None:
        """Takes the crops of one frame."""
        self.frames.append(index)
        self.before.append(before)
        self.after.append(after)
        self.maps.append(frame_from_crop)
        self.heads.append(heads)

    def runs(self) -> list[slice]:
        """Stretches of consecutive frames, of five or more."""
        breaks = [place + 1 for place, (a, b) in enumerate(pairwise(self.frames)) if b != a + 1]
        edges = [0, *breaks, len(self.frames)]
        return [slice(a, b) for a, b in pairwise(edges) if b - a >= _LEAST_RUN]


@dataclass(frozen=True, slots=True)
class Geometry:
    """Pose and landmarks of the anonymized face against those of the original; NaN unmeasured.

    Attributes:
        pose_error_deg: mean absolute error of yaw, pitch and roll.
        pose_floor_deg: between the original and a jittered crop of it.
        pose_step_deg: between consecutive frames of the original.
        pose_surroundings_deg: between the original and its own face in the surroundings of
            the anonymized one: what the network makes of those alone.
        landmark_error: mean distance of 68 landmarks ÷ distance of the outer eye corners.
        landmark_floor: between the original and a jittered crop of it, jitter undone.
        landmark_step: between consecutive frames of the original, aligned by the eyes.
        landmark_movement: what is left of the error when each face's mean offset is taken out:
            a surrogate at rest has its brows and lips elsewhere than the subject.
    """

    pose_error_deg: float
    pose_floor_deg: float
    pose_step_deg: float
    pose_surroundings_deg: float
    landmark_error: float
    landmark_floor: float
    landmark_step: float
    landmark_movement: float


@dataclass(frozen=True, slots=True)
class Steadiness:
    """How steady the anonymized face is against the original; medians over faces.

    Attributes:
        flicker: change of brightness between frames, anonymized ÷ original.
        warp_error: error after following the original's motion, anonymized ÷ original.
        jitter: trembling of landmarks, anonymized ÷ original.
        faces: followed faces that were measured.
    """

    flicker: float
    warp_error: float
    jitter: float
    faces: int


def geometry_of(faces: Sequence[FollowedFace], probe: GeometryProbe) -> Geometry:
    """Means over every crop of every face."""
    poses: list[NDArray[np.float32]] = []
    marks: list[NDArray[np.float32]] = []
    for one in faces:
        read = _poses(one, probe)
        if len(read) == 4:
            poses.append(_pose_rows(*read, frames=one.frames))
        shaken = [jittered(crop, frame) for frame, crop in zip(one.frames, one.before, strict=True)]
        seen = _marks(one, probe, shaken)
        if seen:
            steadied = _undone(seen[2], shaken)
            marks.append(_mark_rows(seen[0], seen[1], steadied, one.frames))
    return Geometry(*_column_means(poses, 4), *_column_means(marks, 4))


def movement_of(faces: Sequence[FollowedFace], probe: GeometryProbe) -> list[MovementBand]:
    """How far faces move as their subjects do, by how far heads are turned; none unmeasured."""
    return bands_of_faces(bands for one in faces if (bands := _bands(one, probe)))


def _bands(one: FollowedFace, probe: GeometryProbe) -> list[MovementBand]:
    shaken = [jittered(crop, frame) for frame, crop in zip(one.frames, one.before, strict=True)]
    poses, seen = _poses(one, probe), _marks(one, probe, shaken)
    if len(poses) != 4 or not seen:
        return []
    crops = (one.before, one.after, [crop for crop, _ in shaken])
    original, *others = (
        expressions_of(side, marks, probe) for side, marks in zip(crops, seen, strict=True)
    )
    placed = (seen[1], _undone(seen[2], shaken))
    after, floor = (
        Side(
            {"pose": pose_error_deg(poses[0], pose), "landmarks": landmark_error(seen[0], marks)},
            signals,
        )
        for pose, marks, signals in zip(poses[1:3], placed, others, strict=True)
    )
    return bands_of_face(poses[0][:, 0], original, after, floor)


def _marks(
    one: FollowedFace, probe: GeometryProbe, shaken: Sequence[tuple[Crop, NDArray[np.float32]]]
) -> list[NDArray[np.float32]]:
    """Landmarks of crops: original, anonymized, jittered. Empty without a network."""
    sides = (one.before, one.after, [crop for crop, _ in shaken])
    return [found for crops in sides if (found := probe.marks(crops)) is not None]


def _undone(
    marks: NDArray[np.float32], shaken: Sequence[tuple[Crop, NDArray[np.float32]]]
) -> NDArray[np.float32]:
    """Landmarks (N, 68, 2) of jittered crops where they lie in the crops themselves."""
    back = np.stack([undo for _, undo in shaken])
    return np.asarray(marks @ back[:, :, :2].transpose(0, 2, 1) + back[:, None, :, 2], np.float32)


def _poses(one: FollowedFace, probe: GeometryProbe) -> list[NDArray[np.float32]]:
    """Poses of heads: original, anonymized, jittered, and own face in new surroundings.

    Empty without a network.
    """
    before, after = [head for head, _ in one.heads], [head for _, head in one.heads]
    shaken = [jittered(head, frame)[0] for frame, head in zip(one.frames, before, strict=True)]
    sides = (before, after, shaken, _framed(before, after))
    return [found for heads in sides if (found := probe.pose_deg(heads)) is not None]


def steadiness_of(faces: Sequence[FollowedFace], probe: GeometryProbe) -> Steadiness:
    """Medians over the faces that were seen in five consecutive frames or more."""
    rows = []
    for one in faces:
        for run in one.runs():
            before, after = one.before[run], one.after[run]
            jitter = _jitter(before, after, one.maps[run], probe)
            rows.append((flicker_ratio(before, after), warp_error_ratio(before, after), jitter))
    if not rows:
        return Steadiness(float("nan"), float("nan"), float("nan"), 0)
    flicker, warp, jitter = np.median(np.array(rows), axis=0).tolist()
    return Steadiness(flicker, warp, jitter, sum(bool(one.runs()) for one in faces))


def _jitter(
    before: Sequence[Crop], after: Sequence[Crop], maps: Sequence[Similarity], probe: GeometryProbe
) -> float:
    first, second = probe.marks(before), probe.marks(after)
    if first is None or second is None:
        return float("nan")
    # In the frame's own pixels: the crop's map trembles with the detector's landmarks.
    placed = [
        np.stack([moved(one, row * GEOMETRY_CROP) for one, row in zip(maps, marks, strict=True)])
        for marks in (first, second)
    ]
    return jitter_ratio(placed[0], placed[1])


def _pose_rows(
    before: NDArray[np.float32],
    after: NDArray[np.float32],
    shaken: NDArray[np.float32],
    framed: NDArray[np.float32],
    *,
    frames: Sequence[int],
) -> NDArray[np.float32]:
    step = _of_steps(pose_error_deg(before[1:], before[:-1]), frames)
    after_deg, shaken_deg, framed_deg = (
        pose_error_deg(before, other) for other in (after, shaken, framed)
    )
    return np.stack([after_deg, shaken_deg, step, framed_deg], axis=1)


def _framed(faces: Sequence[Crop], surroundings: Sequence[Crop]) -> list[Crop]:
    """Faces of head crops in the surroundings of others."""
    alpha = np.pad(oval_alpha(HEAD_CROP - 2 * HEAD_MARGIN), HEAD_MARGIN)[..., None]
    return [
        np.asarray(np.rint(alpha * face + (1 - alpha) * around), np.uint8)
        for face, around in zip(faces, surroundings, strict=True)
    ]


def _mark_rows(
    before: NDArray[np.float32],
    after: NDArray[np.float32],
    shaken: NDArray[np.float32],
    frames: Sequence[int],
) -> NDArray[np.float32]:
    step = _of_steps(landmark_error(before[1:], before[:-1]), frames)
    offset = (after - before).mean(axis=0)
    errors = [landmark_error(before, other) for other in (after, shaken, after - offset)]
    return np.stack([*errors[:2], step, errors[2]], axis=1)


def _of_steps(values: NDArray[np.float32], frames: Sequence[int]) -> NDArray[np.float32]:
    """Values of pairs of neighbours, NaN where a frame is missing between them."""
    full = np.full(len(frames), np.nan, np.float32)
    is_next = np.diff(np.array(frames)) == 1
    full[1:][is_next] = values[is_next]
    return full


def _column_means(rows: Sequence[NDArray[np.float32]], columns: int) -> list[float]:
    if not rows:
        return [float("nan")] * columns
    table = np.concatenate(rows)
    known = np.isfinite(table)
    sums = np.where(known, table, 0).sum(axis=0, dtype=np.float64)
    return [
        float(total / count) if count else float("nan")
        for total, count in zip(sums, known.sum(axis=0), strict=True)
    ]
