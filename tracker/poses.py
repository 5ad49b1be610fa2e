"""A face as one vector that can be averaged, interpolated and moved.

A pose is (14,) float64: centre x px, centre y px, log width, log height, then five landmarks
as (x, y) offsets from the centre in units of the box's width and height. Landmarks relative
to the box stay in place on a head that moves or comes nearer.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from engines.types import Face

__all__ = [
    "LANDMARKS",
    "Pose",
    "contain",
    "eye_distance",
    "face_from_pose",
    "grow",
    "pose_from_face",
    "size_px",
]

Pose = NDArray[np.float64]
"""(14,) float64."""

LANDMARKS = slice(4, 14)
"""The landmarks' part of a pose."""

_LARGEST_LOG = 12.0
_SMALLEST_SIDE_PX = 1e-3


def pose_from_face(face: Face) -> Pose:
    """The face's pose.

    >>> box = np.array([0, 0, 2, 2], dtype=np.float32)
    >>> pose_from_face(Face(box, np.ones((5, 2), np.float32), 0.9)).tolist()[:2]
    [1.0, 1.0]
    """
    x0, y0, x1, y1 = face.box_px.tolist()
    x, y = (x0 + x1) / 2, (y0 + y1) / 2
    width, height = max(x1 - x0, _SMALLEST_SIDE_PX), max(y1 - y0, _SMALLEST_SIDE_PX)
    pose = np.empty(14)
    pose[:4] = x, y, math.log(width), math.log(height)
    pose[LANDMARKS] = face.landmarks_px.ravel()
    pose[4::2] -= x
    pose[5::2] -= y
    pose[4::2] /= width
    pose[5::2] /= height
    return pose


def face_from_pose(pose: Pose, score: float) -> Face:
    """Inverse of `pose_from_face`.

    >>> pose = np.zeros(14)
    >>> face_from_pose(pose, 0.5).box_px.tolist()
    [-0.5, -0.5, 0.5, 0.5]
    """
    x, y, log_width, log_height = pose[:4].tolist()
    width, height = _side(log_width), _side(log_height)
    box = (x - width / 2, y - height / 2, x + width / 2, y + height / 2)
    landmarks = pose[LANDMARKS].reshape(5, 2) * (width, height) + (x, y)
    return Face(np.array(box, dtype=np.float32), landmarks.astype(np.float32), score)


def _side(log_side: float) -> float:
    return math.exp(min(max(log_side, -_LARGEST_LOG), _LARGEST_LOG))


def size_px(pose: Pose) -> float:
    """Geometric mean of the box's sides.

    >>> size_px(np.zeros(14))
    1.0
    """
    return _side(float(pose[2] + pose[3]) / 2)


def grow(face: Face, factor: float) -> Face:
    """The face with its box widened about its centre; the landmarks stay.

    >>> box = np.array([0, 0, 2, 2], dtype=np.float32)
    >>> grow(Face(box, np.ones((5, 2), np.float32), 0.9), 1.5).box_px.tolist()
    [-0.5, -0.5, 2.5, 2.5]
    """
    margin = (face.box_px[2:] - face.box_px[:2]) * np.float32((factor - 1.0) / 2)
    box = np.concatenate([face.box_px[:2] - margin, face.box_px[2:] + margin])
    return Face(box.astype(np.float32), face.landmarks_px, face.score)


def contain(face: Face, *others: Face) -> Face:
    """The face with its box widened to hold the boxes of the others.

    >>> first = Face(np.array([0, 0, 2, 2], np.float32), np.ones((5, 2), np.float32), 0.9)
    >>> second = Face(np.array([1, 1, 3, 3], np.float32), np.ones((5, 2), np.float32), 0.9)
    >>> contain(first, second).box_px.tolist()
    [0.0, 0.0, 3.0, 3.0]
    """
    boxes = [face.box_px.tolist(), *(other.box_px.tolist() for other in others)]
    left, top, right, bottom = zip(*boxes, strict=True)
    box = np.array((min(left), min(top), max(right), max(bottom)), dtype=np.float32)
    return Face(box, face.landmarks_px, face.score)


def eye_distance(face: Face) -> float:
    """Distance of the eyes over the height of the box: 0.33 from the front, 0 from the side.

    >>> eyes = np.array([[4, 4], [7, 4], [5, 6], [4, 8], [7, 8]], dtype=np.float32)
    >>> eye_distance(Face(np.array([0, 0, 8, 10], dtype=np.float32), eyes, 0.9))
    0.3
    """
    left, right = face.landmarks_px[:2].astype(np.float64)
    height = max(float(face.box_px[3] - face.box_px[1]), _SMALLEST_SIDE_PX)
    return math.hypot(*(right - left)) / height
