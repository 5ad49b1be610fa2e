"""What the anonymized faces are still good for, measured on a sample of a release."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from evaluation.exposure import FaceFinder
from evaluation.face_geometry import GeometryProbe
from evaluation.faces import CROP, Faces, crop_window
from evaluation.metrics.intervals import Proportion, clustered
from evaluation.metrics.utility import landmark_error, pose_error_deg

__all__ = ["Utility", "UtilityProbe"]

_TURNED_DEG = 15.0
_OPEN_SHARE = 0.2

_Pair = tuple[NDArray[np.float32] | None, NDArray[np.float32] | None]


@dataclass(frozen=True, slots=True)
class Utility:
    """Utility of one release.

    Attributes:
        redetected: share of outputs in which a detector still sees a face at the place.
        pose_error_deg: mean absolute error of yaw, pitch and roll; NaN without the networks.
        landmark_error: mean normalised error of 68 landmarks; NaN without the network.
        protected: share of outputs that show a face and that no judge matches with their own
            original (RP of FPSP Eq. 20, with a threshold in place of its test against the
            least similar picture); None without judges.
        kept: share of outputs that show a face with the head turned to the same side and the
            mouth as open or shut as before (PU of FPSP Eq. 22; the loss rate of Eq. 21, which
            the paper prints upside down, is one less it); None without the networks.
    """

    redetected: Proportion
    pose_error_deg: float
    landmark_error: float
    protected: Proportion | None = None
    kept: Proportion | None = None


@dataclass(slots=True)
class UtilityProbe:
    """Measures utility with the networks that are at hand.

    Attributes:
        finder: detector for the outputs.
        geometry: reads pose and landmarks.
        sample: faces looked at, evenly spread.
    """

    finder: FaceFinder
    geometry: GeometryProbe = field(default_factory=GeometryProbe)
    sample: int = 200
    _originals: dict[str, _Pair] = field(default_factory=dict)

    def measure(
        self,
        originals: Faces,
        images: NDArray[np.uint8],
        matched: NDArray[np.bool_] | None = None,
    ) -> Utility:
        """Compares a release with its originals.

        Args:
            originals: the faces as they were.
            images: (N, S, S, 3) uint8 BGR release in the same order.
            matched: (N,) whether a judge matches an output with its own original.
        """
        rows = np.unique(np.linspace(0, len(originals) - 1, self.sample).astype(int))
        before, after = originals.take(rows), images[rows]
        seen = np.array([self._sees(image) for image in after])
        (pose, marks), (pose_after, marks_after) = self._original(before), self._geometry(after)
        people = before.persons
        return Utility(
            clustered(seen, people),
            _mean_of(pose_error_deg, pose, pose_after),
            _mean_of(landmark_error, marks, marks_after),
            None if matched is None else clustered(seen & ~matched[rows], people),
            _kept((pose, pose_after), (marks, marks_after), seen, people),
        )

    def _sees(self, image: NDArray[np.uint8]) -> bool:
        middle = np.array(image.shape[:2], np.float32) / 2
        return any(
            (face.box_px[:2] < middle).all() and (face.box_px[2:] > middle).all()
            for face in self.finder.find(image)
        )

    def _original(self, faces: Faces) -> _Pair:
        """The same for every release of these faces, so it is read once."""
        key = hashlib.blake2b(np.ascontiguousarray(faces.images).data, digest_size=16).hexdigest()
        if key not in self._originals:
            self._originals[key] = self._geometry(faces.images)
        return self._originals[key]

    def _geometry(self, images: NDArray[np.uint8]) -> _Pair:
        """(N, 3) pose in degrees and (N, 68, 2) landmarks in px of the crop."""
        rows, columns = crop_window()
        crops = list(images[:, rows, columns])
        marks = self.geometry.marks(crops)
        pixels = None if marks is None else np.asarray(marks * np.float32(CROP), np.float32)
        return self.geometry.pose_deg(crops), pixels


def _mean_of(
    measure: object, before: NDArray[np.float32] | None, after: NDArray[np.float32] | None
) -> float:
    if before is None or after is None or not callable(measure):
        return float("nan")
    return float(np.mean(measure(before, after)))


def _kept(
    poses: _Pair, marks: _Pair, seen: NDArray[np.bool_], people: NDArray[np.int64]
) -> Proportion | None:
    """Faces whose head and mouth say the same before and after."""
    if poses[0] is None or poses[1] is None or marks[0] is None or marks[1] is None:
        return None
    turned = _side(poses[0]) == _side(poses[1])
    spoken = _is_open(marks[0]) == _is_open(marks[1])
    return clustered(seen & turned & spoken, people)


def _side(poses: NDArray[np.float32]) -> NDArray[np.int64]:
    """−1, 0 or 1 for a head turned left, forward or right; (N, 3) degrees, yaw first."""
    return np.asarray(np.sign(poses[:, 0]) * (np.abs(poses[:, 0]) > _TURNED_DEG), np.int64)


def _is_open(marks: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Whether the inner lips of (N, 68, 2) iBUG landmarks are apart."""
    height = np.linalg.norm(marks[:, 62] - marks[:, 66], axis=1)
    width = np.linalg.norm(marks[:, 60] - marks[:, 64], axis=1)
    return np.asarray(height > _OPEN_SHARE * np.maximum(width, 1e-6))
