"""What textures usually look like, and the bounds that keep a surrogate's within it.

A mixture of photographs, stretched away from the average face, has places that no photograph
shows: sockets that are black, a forehead in the shade of a fringe, a red jaw, teeth left of an open
mouth. How bright and of what hue every place of a face is, and how much people differ there, is
kept beside the shape model, at a quarter of a texture's size. What differs by more than people
usually do is bent back towards it; what differs by less, and all finer detail, stays.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.errors import ModelRejected

__all__ = ["UsualTexture", "load_usual", "usual_from_textures"]

SIDE: Final = 64
"""Of the mean and the spreads, px."""
LIGHT_LIMIT: Final = 1.8
"""Deviations that a place's brightness differs from the usual one at most."""
HUE_LIMIT: Final = 0.8
"""The same of its hue."""
_LEAST: Final = 0.01
_KNEE: Final = 4
"""How sharply values bend at their limit; 2 bends all of them somewhat."""
_LUMA: Final = np.array([0.299, 0.587, 0.114], np.float32)

Float32 = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class UsualTexture:
    """Mean and spread of textures, the same on both sides.

    Attributes:
        mean: float32[SIDE, SIDE, 3] RGB, of the texture's range from -1 to 1.
        spread: float32[SIDE, SIDE, 2], deviation of brightness, and of hue.
    """

    mean: Float32
    spread: Float32

    def bounded(self, picture: Float32, limits: Float32) -> Float32:
        """A texture whose places differ from the usual within limits.

        Args:
            picture: float32[S, S, 3] RGB about [-1, 1].
            limits: float32[SIDE, SIDE], share of LIGHT_LIMIT and HUE_LIMIT that is allowed.

        Returns:
            float32[S, S, 3].
        """
        small = cv2.resize(picture, (SIDE, SIDE), interpolation=cv2.INTER_AREA)
        away = np.asarray(small - self.mean, np.float32)
        light = (away @ _LUMA)[..., None]
        hue = away - light
        most = np.maximum(self.spread, _LEAST) * limits[..., None]
        change = _bent(light, most[..., :1] * np.float32(LIGHT_LIMIT)) - light
        size = np.linalg.norm(hue, axis=2, keepdims=True) + np.float32(1e-6)
        change = change + hue * (_bent(size, most[..., 1:] * np.float32(HUE_LIMIT)) / size - 1)
        side = (picture.shape[1], picture.shape[0])
        wide = cv2.resize(change, side, interpolation=cv2.INTER_LINEAR)
        return np.asarray(picture + wide, np.float32)


def _bent(values: Float32, most: Float32) -> Float32:
    """Values bent so that none exceeds its bound; those well below stay."""
    share = np.abs(values / most) ** _KNEE
    return np.asarray(values / (1 + share) ** (1 / _KNEE), np.float32)


def usual_from_textures(textures: Float32) -> UsualTexture:
    """Mean and spread of textures float32[N, 3, S, S] RGB.

    >>> usual_from_textures(np.zeros((2, 3, 128, 128), np.float32)).spread.shape
    (64, 64, 2)
    """
    small = np.stack(
        [
            cv2.resize(one.transpose(1, 2, 0), (SIDE, SIDE), interpolation=cv2.INTER_AREA)
            for one in textures
        ]
    )
    small = np.concatenate([small, small[:, :, ::-1]])
    mean = small.mean(axis=0)
    away = small - mean
    light = (away @ _LUMA)[..., None]
    hue = np.linalg.norm(away - light, axis=3)
    spread = np.stack([np.sqrt(np.square(each).mean(axis=0)) for each in (light[..., 0], hue)], 2)
    return UsualTexture(mean.astype(np.float32), spread.astype(np.float32))


def load_usual(path: Path) -> UsualTexture | None:
    """Read it out of a shape model's file; None where it has none.

    Raises:
        ModelRejected: an array has another shape or is not finite.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            if "usual_mean" not in file.files:
                return None
            mean = np.asarray(file["usual_mean"], np.float32)
            spread = np.asarray(file["usual_spread"], np.float32)
    except (OSError, KeyError, ValueError) as error:
        raise ModelRejected(f"{path.name} has damaged textures; restore the model pack") from error
    fits = mean.shape == (SIDE, SIDE, 3) and spread.shape == (SIDE, SIDE, 2)
    if not fits or not (np.isfinite(mean).all() and np.isfinite(spread).all()):
        raise ModelRejected(f"{path.name} has damaged arrays; restore the model pack")
    return UsualTexture(mean, spread)
