"""FPSP's fusion (2023, Section 4.2.4): five copies of a face become one picture.

A surrogate and four obscured copies go in; a vector-quantised autoencoder (Eq. 14–15) that
`training.fusion_vae` trained makes one face of them. One network serves every β of Eq. 19:
it is told β as a sixteenth plane.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.backends.backend import Backend, Session
from engines.blending.covers import cover_named
from engines.blending.obscuring import laplace
from engines.errors import ModelRejected
from evaluation.methods.directions import resized

__all__ = ["FUSION_SIZE", "FusionNetwork", "fusion_inputs", "fusion_network", "networks_folder"]

FUSION_SIZE: Final = 64
"""Side of the network's pictures, px."""
_COPIES: Final = 5
_BATCH: Final = 32
_NETWORK: Final = "fusion.onnx"


def networks_folder() -> Path:
    """Where the methods' own small networks lie."""
    return Path(__file__).parent / "networks"


def fusion_inputs(
    crops: NDArray[np.uint8],
    points: NDArray[np.float32],
    surrogates: NDArray[np.uint8],
    noise: np.random.Generator,
) -> NDArray[np.float32]:
    """What the network sees: the surrogate, and the face under four protections.

    Args:
        crops: (N, S, S, 3) uint8 BGR.
        points: (N, 5, 2) float32 landmarks, px.
        surrogates: (N, S, S, 3) uint8 BGR.
        noise: of the Laplace protection.

    Returns:
        (N, 15, 64, 64) float32 in [-1, 1]: surrogate, blindfold, blur, Laplace, cartoon.
    """
    size = crops.shape[1]
    box = np.array([0, 0, size, size], np.float32)
    covers = [cover_named(name) for name in ("bar-mask", "blur", "cartoon")]
    sets = []
    for crop, marks, surrogate in zip(crops, points, surrogates, strict=True):
        blindfold, blur, cartoon = (cover.paint(crop, marks, box) for cover in covers)
        copies = [surrogate, blindfold, blur, laplace(crop, noise=noise), cartoon]
        side = (FUSION_SIZE, FUSION_SIZE)
        small = [cv2.resize(copy, side, interpolation=cv2.INTER_AREA) for copy in copies]
        sets.append(np.concatenate(small, axis=2).transpose(2, 0, 1))
    stacked = np.stack(sets) if sets else np.zeros((0, 3 * _COPIES, FUSION_SIZE, FUSION_SIZE))
    return np.asarray(stacked, np.float32) / np.float32(127.5) - 1


class FusionNetwork:
    """The trained network.

    Args:
        session: `copies` float32[N, 15, 64, 64] in [-1, 1] and `beta` float32[N, 1] ->
            `face` float32[N, 3, 64, 64] BGR in [-1, 1].

    Raises:
        ModelRejected: the network has other inputs or outputs.
    """

    def __init__(self, session: Session) -> None:
        names = {spec.name for spec in session.inputs}, {spec.name for spec in session.outputs}
        if names != ({"copies", "beta"}, {"face"}):
            message = "this is no fusion network; train one with training.fusion_vae"
            raise ModelRejected(message)
        self._session = session

    def fused(
        self, inputs: NDArray[np.float32], beta: NDArray[np.float32], side: int
    ) -> NDArray[np.float32]:
        """One face each.

        Args:
            inputs: (N, 15, 64, 64) float32 of `fusion_inputs`.
            beta: (N,) float32, share of the surrogate (Eq. 19), 0…1; larger hides more.
            side: height and width of the answer, px.

        Returns:
            (N, side, side, 3) float32 BGR, 0…255.

        Raises:
            EngineFault: the network failed.
        """
        parts = []
        for start in range(0, len(inputs), _BATCH):
            part = slice(start, start + _BATCH)
            made = self._session.run({"copies": inputs[part], "beta": beta[part, None]})["face"]
            parts.append((made.transpose(0, 2, 3, 1) + 1) * np.float32(127.5))
        return np.clip(resized(np.concatenate(parts), side), 0, 255)


def fusion_network(backend: Backend) -> FusionNetwork:
    """The network that comes with kveil.

    Raises:
        ModelMissing: it is absent.
        ModelRejected: it is another network.
    """
    return FusionNetwork(backend.load(networks_folder() / _NETWORK))
