"""What the anonymized faces are still good for, measured on a sample of a release."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.backends.backend import Backend, Session
from evaluation.exposure import FaceFinder
from evaluation.faces import CROP, Faces, crop_window
from evaluation.metrics.intervals import Proportion, clustered
from evaluation.metrics.utility import landmark_error, pose_error_deg

__all__ = ["Utility", "UtilityProbe", "probe_from_models"]

_POSE = ("headpose_fsanet_1x1.onnx", "headpose_fsanet_var.onnx")
_LANDMARKS = "pfld_68.onnx"
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
        pose: networks whose answers are averaged, 64 px in, degrees out.
        landmarks: network of 68 landmarks, 112 px in.
        sample: faces looked at, evenly spread.
    """

    finder: FaceFinder
    pose: Sequence[Session] = ()
    landmarks: Session | None = None
    sample: int = 200
    _originals: dict[str, NDArray[np.float32]] = field(default_factory=dict)

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
        first, second = _crops(before.images), _crops(after)
        poses = self._pose("before", first), self._pose("", second)
        marks = self._marks("before", first), self._marks("", second)
        people = before.persons
        return Utility(
            clustered(seen, people),
            _mean_of(pose_error_deg, *poses),
            _mean_of(landmark_error, *marks),
            None if matched is None else clustered(seen & ~matched[rows], people),
            _kept(poses, marks, seen, people),
        )

    def _sees(self, image: NDArray[np.uint8]) -> bool:
        middle = np.array(image.shape[:2], np.float32) / 2
        return any(
            (face.box_px[:2] < middle).all() and (face.box_px[2:] > middle).all()
            for face in self.finder.find(image)
        )

    def _pose(self, label: str, crops: NDArray[np.uint8]) -> NDArray[np.float32] | None:
        if not self.pose:
            return None
        key = f"pose {label} {_digest(crops)}"
        if label and key in self._originals:
            return self._originals[key]
        nets = [_answers(net, crops, 64, 127.5, 128.0) for net in self.pose]
        answers = np.asarray(np.mean(nets, axis=0), np.float32)
        if label:
            self._originals[key] = answers
        return answers

    def _marks(self, label: str, crops: NDArray[np.uint8]) -> NDArray[np.float32] | None:
        if self.landmarks is None:
            return None
        key = f"marks {label} {_digest(crops)}"
        if label and key in self._originals:
            return self._originals[key]
        rgb = np.ascontiguousarray(crops[..., ::-1])
        answers = _answers(self.landmarks, rgb, 112, 0.0, 255.0)
        points = np.asarray(answers.reshape(len(crops), 68, 2) * np.float32(CROP), np.float32)
        if label:
            self._originals[key] = points
        return points


def _digest(crops: NDArray[np.uint8]) -> str:
    return hashlib.blake2b(np.ascontiguousarray(crops).data, digest_size=16).hexdigest()


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


def _crops(images: NDArray[np.uint8]) -> NDArray[np.uint8]:
    rows, columns = crop_window()
    return images[:, rows, columns]


def _answers(
    network: Session, crops: NDArray[np.uint8], size: int, mean: float, scale: float
) -> NDArray[np.float32]:
    name, output = network.inputs[0].name, network.outputs[0].name
    rows = []
    for crop in crops:
        small = cv2.resize(crop, (size, size), interpolation=cv2.INTER_AREA).astype(np.float32)
        tensor = np.ascontiguousarray(((small - mean) / scale).transpose(2, 0, 1)[None], np.float32)
        rows.append(network.run({name: tensor})[output].reshape(-1))
    return np.stack(rows)


def probe_from_models(
    finder: FaceFinder, backend: Backend, models: Path, sample: int
) -> UtilityProbe:
    """A probe with whichever of the networks lie in a folder."""
    pose = [backend.load(models / name) for name in _POSE if (models / name).is_file()]
    marks = backend.load(models / _LANDMARKS) if (models / _LANDMARKS).is_file() else None
    return UtilityProbe(finder, pose if len(pose) == len(_POSE) else (), marks, sample)
