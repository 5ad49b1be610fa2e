"""Pose and landmarks of aligned crops, by networks that took no part in the swap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.backends.backend import Backend, Session
from engines.backends.openvino import openvino_runtime
from engines.face.alignment import Similarity, kveil_from_landmarks
from engines.types import Landmarks

__all__ = ["GEOMETRY_CROP", "HEAD_CROP", "HEAD_MARGIN", "GeometryProbe", "PictureNetwork"]
__all__ += ["geometry_from_models", "head_from_landmarks", "jittered"]

GEOMETRY_CROP: Final = 128
"""Side of the kveil crops that the network of landmarks is shown, px."""
HEAD_CROP: Final = 96
HEAD_MARGIN: Final = 16
"""The networks of pose are shown the whole head, as in their training: a kveil crop with half of
its side more. In closer crops of untouched faces they contradict their own answers for the
mirrored face."""
_POSE: Final = ("headpose_fsanet_1x1.onnx", "headpose_fsanet_var.onnx")
_LANDMARKS: Final = "pfld_68.onnx"
_MESH: Final = "mediapipe_face_landmark_468.tflite"
_EYE: Final = "iris_landmark.tflite"
_MOST_SHIFT: Final = 0.02
_MOST_SCALE: Final = 0.02

Crops = Sequence[NDArray[np.uint8]]
PictureNetwork = Callable[[NDArray[np.float32]], list[NDArray[np.float32]]]
"""Flat answers on a picture float32[1, S, S, 3] RGB in [0, 1]."""


@dataclass(frozen=True, slots=True)
class GeometryProbe:
    """Reads pose and landmarks off kveil crops; nothing where the networks are absent.

    Attributes:
        pose: networks whose answers are averaged, 64 px in, degrees out.
        landmarks: network of 68 landmarks, 112 px in.
        mesh: network of the face mesh, 192 px in, see `evaluation.expressions`.
        eye: network of lids and iris of one eye, 64 px in, likewise.
    """

    pose: Sequence[Session] = ()
    landmarks: Session | None = None
    mesh: PictureNetwork | None = None
    eye: PictureNetwork | None = None

    def pose_deg(self, crops: Crops) -> NDArray[np.float32] | None:
        """(N, 3) yaw, pitch and roll of N head crops S×S×3 uint8 BGR."""
        if not self.pose or not crops:
            return None
        answers = [_answers(network, crops, 64, 127.5, 128.0) for network in self.pose]
        return np.asarray(np.mean(answers, axis=0), np.float32)

    def marks(self, crops: Crops) -> NDArray[np.float32] | None:
        """(N, 68, 2) landmarks of N crops, in fractions of the crop's side."""
        if self.landmarks is None or not crops:
            return None
        rgb = [np.ascontiguousarray(crop[..., ::-1]) for crop in crops]
        return _answers(self.landmarks, rgb, 112, 0.0, 255.0).reshape(len(crops), 68, 2)


def geometry_from_models(backend: Backend, models: Path) -> GeometryProbe:
    """A probe with whichever of the networks lie in a folder.

    Raises:
        ModelRejected: one of them is not a network.
    """
    pose = [backend.load(models / name) for name in _POSE if (models / name).is_file()]
    marks = models / _LANDMARKS
    landmarks = backend.load(marks) if marks.is_file() else None
    mesh, eye = (
        _picture_network(models / name) if (models / name).is_file() else None
        for name in (_MESH, _EYE)
    )
    return GeometryProbe(pose if len(pose) == len(_POSE) else (), landmarks, mesh, eye)


def _picture_network(path: Path) -> PictureNetwork:
    """A network of TensorFlow Lite, which the backends do not take: it serves to judge alone."""
    core = openvino_runtime().Core()
    network = core.compile_model(core.read_model(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return lambda picture: [np.array(one, np.float32).ravel() for one in network(picture).values()]


def head_from_landmarks(landmarks_px: Landmarks) -> Similarity:
    """Map from the frame to a head crop of side `HEAD_CROP`.

    Args:
        landmarks_px: (5, 2) float32, px of the frame.

    Raises:
        EngineFault: the eyes are not finite or coincide.
    """
    head = kveil_from_landmarks(landmarks_px, HEAD_CROP - 2 * HEAD_MARGIN)
    head[:, 2] += HEAD_MARGIN
    return head


def jittered(crop: NDArray[np.uint8], seed: int) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """A crop as a slightly different alignment would have cut it.

    Args:
        crop: S×S×3 uint8.
        seed: says by how much; at most 2 % of shift and 2 % of scale.

    Returns:
        The S×S×3 crop, and the (2, 3) map from places in it to places in `crop`, both in
        fractions of the side.

    >>> jittered(np.zeros((8, 8, 3), np.uint8), 1)[1].shape
    (2, 3)
    """
    random = np.random.default_rng(seed)
    scale = 1 + random.uniform(-_MOST_SCALE, _MOST_SCALE)
    shift = random.uniform(-_MOST_SHIFT, _MOST_SHIFT, 2)
    size = crop.shape[0]
    back = np.array([[scale, 0, shift[0]], [0, scale, shift[1]]], np.float32)
    pixels = back * np.array([1, 1, size], np.float32)
    how = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    moved = cv2.warpAffine(crop, pixels, (size, size), flags=how, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(moved, np.uint8), back


def _answers(
    network: Session, crops: Crops, size: int, mean: float, scale: float
) -> NDArray[np.float32]:
    name, output = network.inputs[0].name, network.outputs[0].name
    rows = []
    for crop in crops:
        small = cv2.resize(crop, (size, size), interpolation=cv2.INTER_AREA).astype(np.float32)
        tensor = np.ascontiguousarray(((small - mean) / scale).transpose(2, 0, 1)[None], np.float32)
        rows.append(network.run({name: tensor})[output].reshape(-1))
    return np.stack(rows)
