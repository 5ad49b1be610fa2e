"""Donors under other people's control, as recognisers see them.

A portrait at rest flatters: what the subjects' pose, expression and light do to a face makes
two of them more alike, or less. So resemblance is judged on pictures painted under the control of
other people.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.backends.openvino import OpenVino
from engines.face.swapper import Swapper
from engines.stylegan.shape import ShapeModel
from training.measure import BATCH, RECOGNISERS, embeddings
from training.sources import is_known_adult

_AT_ONCE: Final = 60
"""Donors; a swapper remembers the textures of so many."""

Float32 = npt.NDArray[np.float32]
Int64 = npt.NDArray[np.int64]
UInt8 = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Shown:
    """How donors look under other people's control.

    Attributes:
        seen: of each recogniser float32[C, N, D], unit vectors under each of C controls.
    """

    seen: dict[str, Float32]

    def mean(self) -> dict[str, Float32]:
        """Of each recogniser float32[N, D], unit vectors of the means over the controls."""
        sums = {name: each.sum(axis=0) for name, each in self.seen.items()}
        return {
            name: each / np.linalg.norm(each, axis=1, keepdims=True) for name, each in sums.items()
        }


def shown(
    swapper: Swapper,
    shape: ShapeModel,
    latents: Float32,
    data: Path,
    models: Path,
    seed: int,
    controls: int,
) -> Shown:
    """Paint donors under the control of other people, drawn from the training crops.

    Args:
        swapper: of the pack.
        shape: of the pack.
        latents: float32[N, L, 512] of the donors.
        data: folder of prepared crops.
        models: folder of the recognisers.
        seed: decides whose control it is.
        controls: people per candidate; more average their own looks out.
    """
    rows = np.flatnonzero(is_known_adult(data))
    drawn = np.random.default_rng(seed).integers(0, len(rows), (len(latents), controls))
    subjects = rows[drawn]
    slices = [slice(start, start + _AT_ONCE) for start in range(0, len(latents), _AT_ONCE)]
    parts = [_shown(swapper, shape, latents[at], subjects[at], data, models) for at in slices]
    return Shown(
        {name: np.concatenate([part.seen[name] for part in parts], axis=1) for name in RECOGNISERS}
    )


def _shown(
    swapper: Swapper,
    shape: ShapeModel,
    latents: Float32,
    subjects: Int64,
    data: Path,
    models: Path,
) -> Shown:
    faces = np.load(data / "faces128.npy", mmap_mode="r")
    labels = np.load(data / "points.npy", mmap_mode="r")
    backend = OpenVino()
    seen: dict[str, list[Float32]] = {name: [] for name in RECOGNISERS}
    for people in subjects.T:
        crops, points = np.ascontiguousarray(faces[people][..., ::-1]), np.asarray(labels[people])
        blends = painted_small(swapper, crops, latents)
        wanted = shape.swapped(points, latents)
        for name, which in RECOGNISERS.items():
            seen[name].append(embeddings(backend, models, which, blends, wanted))
    return Shown({name: np.stack(each) for name, each in seen.items()})


def painted_small(swapper: Swapper, crops: UInt8, latents: Float32) -> UInt8:
    """Paint a donor per crop, as small as the swapper can: recognisers look no closer.

    Args:
        swapper: of the pack.
        crops: uint8[N, S, S, 3] BGR.
        latents: float32[N, L, 512].

    Returns:
        Pictures blended over the crops, uint8[N, s, s, 3].
    """
    size = swapper.sizes[0]
    blends = []
    for start in range(0, len(crops), BATCH):
        part = slice(start, start + BATCH)
        made = swapper.paint(swapper.read(crops[part]), latents[part], size)
        around = np.stack([cv2.resize(crop, (size, size)) for crop in crops[part]])
        alpha = made.alpha[..., None]
        blends.append(made.pixels * alpha + around * (1 - alpha))
    return np.asarray(np.clip(np.concatenate(blends).round(), 0, 255), np.uint8)
