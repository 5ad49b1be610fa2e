"""What the anonymized faces are still good for, measured on a sample of a release."""

from __future__ import annotations

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


@dataclass(frozen=True, slots=True)
class Utility:
    """Utility of one release.

    Attributes:
        redetected: share of outputs in which a detector still sees a face at the place.
        pose_error_deg: mean absolute error of yaw, pitch and roll; NaN without the networks.
        landmark_error: mean normalised error of 68 landmarks; NaN without the network.
    """

    redetected: Proportion
    pose_error_deg: float
    landmark_error: float


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

    def measure(self, originals: Faces, images: NDArray[np.uint8]) -> Utility:
        """Compares a release with its originals.

        Args:
            originals: the faces as they were.
            images: (N, S, S, 3) uint8 BGR release in the same order.
        """
        rows = np.unique(np.linspace(0, len(originals) - 1, self.sample).astype(int))
        before, after = originals.take(rows), images[rows]
        seen = [self._sees(image) for image in after]
        first, second = _crops(before.images), _crops(after)
        pose = _mean_of(pose_error_deg, self._pose("before", first), self._pose("", second))
        marks = _mean_of(landmark_error, self._marks("before", first), self._marks("", second))
        return Utility(clustered(seen, before.persons), pose, marks)

    def _sees(self, image: NDArray[np.uint8]) -> bool:
        middle = np.array(image.shape[:2], np.float32) / 2
        return any(
            (face.box_px[:2] < middle).all() and (face.box_px[2:] > middle).all()
            for face in self.finder.find(image)
        )

    def _pose(self, label: str, crops: NDArray[np.uint8]) -> NDArray[np.float32] | None:
        if not self.pose:
            return None
        key = f"pose {label}"
        if label and key in self._originals:
            return self._originals[key]
        answers = np.mean([_answers(net, crops, 64, 127.5, 128.0) for net in self.pose], axis=0)
        self._originals[key] = np.asarray(answers, np.float32)
        return self._originals[key]

    def _marks(self, label: str, crops: NDArray[np.uint8]) -> NDArray[np.float32] | None:
        if self.landmarks is None:
            return None
        key = f"marks {label}"
        if label and key in self._originals:
            return self._originals[key]
        rgb = np.ascontiguousarray(crops[..., ::-1])
        answers = _answers(self.landmarks, rgb, 112, 0.0, 255.0)
        self._originals[key] = answers.reshape(len(crops), 68, 2) * np.float32(CROP)
        return self._originals[key]


def _mean_of(
    measure: object, before: NDArray[np.float32] | None, after: NDArray[np.float32] | None
) -> float:
    if before is None or after is None or not callable(measure):
        return float("nan")
    return float(np.mean(measure(before, after)))


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
