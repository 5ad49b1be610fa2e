"""What faces do, read off kveil crops: brows, mouth, lids, and where the eyes look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from evaluation.face_geometry import GeometryProbe, PictureNetwork

__all__ = ["GAZE", "SIGNALS", "expressions_of"]

SIGNALS: Final = ("lids", "mouth", "smile", "brows")
"""Signals that shall rise and fall with the subject's."""
GAZE: Final = "gaze"
_MESH_PX: Final = 192
_MESH_PAD: Final = 0.25
_EYE_PX: Final = 64
_EYE_ROOM: Final = 2.3
"""Side of the square that the eye network looks at, in widths of the eye."""
_EYES: Final = ((36, 39), (45, 42))
"""Outer and inner corner of both eyes among 68 landmarks."""
_MESH_EYES: Final = (33, 263)
_MESH_NOSE: Final = (168, 2)
_MESH_BROWS: Final = (
    46, 53, 52, 65, 55, 107, 66, 105, 63, 70,
    276, 283, 282, 295, 285, 336, 296, 334, 293, 300,
)  # fmt: skip
_MESH_MOUTH: Final = (61, 291)
_LIPS: Final = ((61, 67), (62, 66), (63, 65))
"""Inner lips, upper and lower, among 68 landmarks."""
_EYEBALL: Final = 2.5
"""Width of an eye in radii of the eyeball (30 and 12 mm)."""

Crops = Sequence[NDArray[np.uint8]]
Float32 = NDArray[np.float32]


def expressions_of(crops: Crops, marks: Float32, probe: GeometryProbe) -> Mapping[str, Float32]:
    """Signals float32[N] of `SIGNALS`, and `GAZE` float32[N, 2], to the right and down, degrees.

    Lengths are shares of the distance of the outer eye corners, gaps of lids of the eye's width.
    What needs a network that the probe has not is left out.

    Args:
        crops: N crops S×S×3 uint8 BGR.
        marks: float32[N, 68, 2] landmarks, shares of the side.
        probe: the networks.
    """
    apart = np.linalg.norm(marks[:, 36] - marks[:, 45], axis=1)
    gaps = [np.linalg.norm(marks[:, upper] - marks[:, lower], axis=1) for upper, lower in _LIPS]
    found = {"mouth": np.asarray(np.mean(gaps, axis=0) / np.maximum(apart, 1e-6), np.float32)}
    if probe.mesh is not None:
        found |= _by_mesh(np.stack([_mesh(crop, probe.mesh) for crop in crops]))
    if probe.eye is not None:
        both = np.stack(
            [_eyes(crop, one, probe.eye) for crop, one in zip(crops, marks, strict=True)]
        )
        found["lids"] = both[..., 0].mean(axis=1)
        sines = np.clip(_EYEBALL * both[..., 1:].mean(axis=1), -1, 1)
        found[GAZE] = np.asarray(np.degrees(np.arcsin(sines)), np.float32)
    return found


def _by_mesh(mesh: Float32) -> dict[str, Float32]:
    """Brows' height and the mouth's width of meshes float32[N, 468, 3], whatever the pose."""
    first, last = (mesh[:, corner] for corner in _MESH_EYES)
    apart = np.linalg.norm(last - first, axis=1, keepdims=True)
    across = (last - first) / apart
    upwards = mesh[:, _MESH_NOSE[0]] - mesh[:, _MESH_NOSE[1]]
    upwards -= (upwards * across).sum(axis=1, keepdims=True) * across
    upwards /= np.linalg.norm(upwards, axis=1, keepdims=True)
    above = mesh[:, _MESH_BROWS].mean(axis=1) - (first + last) / 2
    left, right = (mesh[:, corner] for corner in _MESH_MOUTH)
    return {
        "brows": np.asarray((above * upwards).sum(axis=1) / apart[:, 0], np.float32),
        "smile": np.asarray(np.linalg.norm(right - left, axis=1) / apart[:, 0], np.float32),
    }


def _mesh(crop: NDArray[np.uint8], network: PictureNetwork) -> Float32:
    """The mesh of one crop, float32[468, 3]."""
    pad = round(crop.shape[0] * _MESH_PAD)
    wide = cv2.copyMakeBorder(crop, pad, pad, pad, pad, cv2.BORDER_REPLICATE)
    return _answers(wide, _MESH_PX, network)[0][: 468 * 3].reshape(468, 3)


def _eyes(crop: NDArray[np.uint8], marks: Float32, network: PictureNetwork) -> Float32:
    """Gap of the lids, and the iris to the right and below the middle: float32[2, 3]."""
    return np.stack([_eye(crop, marks, side, network) for side in range(2)])


def _eye(crop: NDArray[np.uint8], marks: Float32, side: int, network: PictureNetwork) -> Float32:
    """One eye; the network knows those on the left, those on the right are mirrored for it."""
    outer, inner = marks[list(_EYES[side])] * crop.shape[0]
    mirrored = np.float32(1 - 2 * side)
    across = (inner - outer) * mirrored
    width = max(float(np.linalg.norm(across)), 1e-3)
    across = across / width
    turn = np.array([across, [-across[1], across[0]]], np.float32)
    turn *= np.float32(_EYE_PX / (_EYE_ROOM * width))
    shift = _EYE_PX / 2 - turn @ ((outer + inner) / 2)
    way = np.hstack([turn, shift[:, None]]).astype(np.float32)
    seen = cv2.warpAffine(crop, way, (_EYE_PX, _EYE_PX), borderMode=cv2.BORDER_REPLICATE)
    answers = _answers(seen[:, ::-1] if side else seen, _EYE_PX, network)
    contour, iris = (one.reshape(-1, 3)[:, :2] for one in sorted(answers, key=len, reverse=True))
    corners = contour[[0, 8]]
    wide = max(float(np.linalg.norm(corners[1] - corners[0])), 1e-3)
    gap = float(np.linalg.norm(contour[11:14] - contour[3:6], axis=1).mean())
    away = iris[0] - corners.mean(axis=0)
    return np.array([gap, away[0] * mirrored, away[1]], np.float32) / np.float32(wide)


def _answers(picture: cv2.typing.MatLike, size: int, network: PictureNetwork) -> list[Float32]:
    """Flat answers of a network that takes one RGB picture, [1, size, size, 3] in [0, 1]."""
    small = cv2.resize(picture, (size, size), interpolation=cv2.INTER_AREA)[..., ::-1]
    return network(np.ascontiguousarray(small[None], np.float32) / np.float32(255))
