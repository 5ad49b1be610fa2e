"""Reads how far eyes are open, which landmarks tell too little of: see `engines.stylegan.lids`."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.backends.backend import Session
from engines.errors import EngineFault, ModelRejected
from engines.stylegan.lids import BOTH_EYES

__all__ = [
    "CORNERS_PX",
    "HEIGHT",
    "WIDTH",
    "LidReader",
    "eye_pictures",
    "maps_of_eyes",
    "normalised",
]

HEIGHT: Final = 32
WIDTH: Final = 48
"""Size of the picture of an eye, px."""
CORNERS_PX: Final = 30.0
"""Distance of an eye's corners in it, px."""
_NARROWEST: Final = 0.6
"""How wide an eye counts at least, of the other one: the far eye of a turned head."""
_EVEN: Final = 4.0
"""Added to the deviation by which pictures are divided, grey levels: larger keeps noise small."""
_FAINT: Final = 1e-6

Float32 = npt.NDArray[np.float32]
UInt8 = npt.NDArray[np.uint8]


class LidReader:
    """Reads how far eyes are open.

    Args:
        network: `eyes` float32[N, 1, HEIGHT, WIDTH], see `normalised` -> `openness` float32[N, 1],
            0 shut to 1 open.

    Raises:
        ModelRejected: its inputs or outputs have other names or shapes.
    """

    def __init__(self, network: Session) -> None:
        fed = {one.name: one.shape[1:] for one in network.inputs}
        told = {one.name: one.shape[1:] for one in network.outputs}
        if fed != {"eyes": (1, HEIGHT, WIDTH)} or told != {"openness": (1,)}:
            raise ModelRejected("this network reads no eyelids; restore the model pack")
        self._network = network

    def read(self, crops: UInt8, points: Float32) -> Float32:
        """How far both eyes of N faces are open: float32[N, 2] in [0, 1].

        Args:
            crops: uint8[N, S, S, 3] BGR.
            points: float32[N, POINTS, 3] landmarks, units of the crop.

        Raises:
            EngineFault: the network failed.
        """
        pairs = [eye_pictures(one, own) for one, own in zip(crops, points, strict=True)]
        fed = normalised(np.concatenate(pairs).astype(np.float32))[:, None]
        told = self._network.run({"eyes": fed})["openness"]
        if not np.isfinite(told).all():
            raise EngineFault("the eyelid network returned values that are not numbers")
        return np.clip(told.reshape(-1, 2), 0, 1).astype(np.float32)


def eye_pictures(crop: UInt8, points: Float32) -> UInt8:
    """Both eyes of a crop, grey, the outer corner on the left: uint8[2, HEIGHT, WIDTH].

    Args:
        crop: uint8[S, S, 3] BGR.
        points: float32[POINTS, 3], crop units.
    """
    grey = cv2.cvtColor(crop, cv2.COLOR_BGR2GRAY)
    made = [
        cv2.warpAffine(
            grey, one, (WIDTH, HEIGHT), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
        )
        for one in maps_of_eyes(points[:, :2] * crop.shape[0] - 0.5)
    ]
    return np.asarray(np.stack(made), np.uint8)


def maps_of_eyes(places: Float32) -> Float32:
    """Affine maps float32[2, 2, 3] from a crop to the pictures of both eyes.

    They put an eye's corners on one level, the outer one to the left.

    Args:
        places: float32[>= MESH_POINTS, 2] landmarks, pixels of the crop.
    """
    outer, inner = places[BOTH_EYES[:, 0]], places[BOTH_EYES[:, 8]]
    widths = np.linalg.norm(inner - outer, axis=1, keepdims=True)
    across = (inner - outer) / np.maximum(widths, np.float32(_FAINT))
    down = np.stack([-across[:, 1], across[:, 0]], axis=1)
    down *= np.where(down[:, 1:] < 0, np.float32(-1), np.float32(1))
    scale = CORNERS_PX / np.maximum(widths, max(_NARROWEST * float(widths.max()), 1.0))
    linear = np.stack([across, down], axis=1) * scale[:, :, None]
    middle = (outer + inner)[:, :, None] / 2
    centre = np.array([[(WIDTH - 1) / 2], [(HEIGHT - 1) / 2]], np.float32)
    return np.concatenate([linear, centre - linear @ middle], axis=2).astype(np.float32)


def normalised(eyes: Float32) -> Float32:
    """Pictures of eyes float32[..., H, W] as the network sees them, in any light and contrast."""
    mean = eyes.mean(axis=(-2, -1), keepdims=True)
    apart = eyes - mean
    deviation = np.sqrt(np.square(apart).mean(axis=(-2, -1), keepdims=True))
    return np.asarray(apart / (deviation + np.float32(_EVEN)), np.float32)
