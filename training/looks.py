"""How far a texture is from a photograph's: what can be told of it without a judge.

Faces look pasted together where places are much brighter or darker than people's usually are, where
one side differs from the other, above all one eye from the other, and where skin is full of specks.
"""

from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.crop_regions import filled
from engines.stylegan import topology
from engines.stylegan.retouch import Retouch
from engines.stylegan.warp import TextureFrame

FLAWS: Final = 4
WEIGHTS: Final = np.array([0.6, 1.0, 1.0, 1.0], np.float32)
"""Of the flaws' deviations, in their sum."""
WORST: Final = 0.07
"""Share of people who are refused for a single flaw."""
SIDE: Final = 64
"""Of a picture in which places and sides are compared, px."""
_UNUSUAL: Final = 1.2
"""Deviations from the mean up to which a place is as people's are."""
_LEAST: Final = 0.01
_FINE: Final = 0.01
_LUMA: Final = np.array([0.299, 0.587, 0.114], np.float32)

Float32 = npt.NDArray[np.float32]


class Critic:
    """Finds flaws of textures of one size.

    Args:
        frame: the canonical face that textures are stored on.
        usual: textures that tell what is usual, float32[N, 3, S, S] RGB.
    """

    def __init__(self, frame: TextureFrame, usual: Float32) -> None:
        points = frame.points[: topology.MESH_POINTS] * np.float32(SIDE)
        self._face = filled([points[topology.OVAL_SLICE]], SIDE) > 0
        eyes = filled([points[topology.EYE_LEFT_SLICE], points[topology.EYE_RIGHT_SLICE]], SIDE)
        self._eyes = cv2.dilate(eyes, np.ones((5, 5), np.uint8)) > 0
        size = usual.shape[-1]
        self._skin = Retouch(frame, size).is_skin
        self._soft_px = _FINE * size
        small = np.stack([_reduced(_luma(one)) for one in usual])
        small = np.concatenate([small, small[:, :, ::-1]])
        self._mean, self._spread = small.mean(axis=0), np.maximum(small.std(axis=0), _LEAST)

    def flaws(self, texture: Float32) -> Float32:
        """Of a texture float32[3, S, S] RGB, before it is retouched: float32[FLAWS].

        Unusual places, differing sides, differing eyes, specks; each 0 or more.
        """
        luma = _luma(texture)
        small = _reduced(luma)
        unusual = np.maximum(np.abs(small - self._mean) / self._spread - _UNUSUAL, 0)
        sides = np.abs(small - small[:, ::-1])
        specks = np.abs(luma - cv2.GaussianBlur(luma, (0, 0), self._soft_px))
        return np.array(
            [
                unusual[self._face].mean(),
                sides[self._face].mean(),
                sides[self._eyes].mean(),
                specks[self._skin].mean(),
            ],
            np.float32,
        )


def best(flaws: Float32, count: int) -> npt.NDArray[np.int64]:
    """Who has the least flaws: at most `count` indices, ascending.

    Args:
        flaws: float32[N, FLAWS].
        count: wanted.

    >>> best(np.repeat(np.arange(100, dtype=np.float32)[:, None], FLAWS, 1), 3).tolist()
    [0, 1, 2]
    """
    spread = flaws.std(axis=0) + np.float32(1e-6)
    total = ((flaws - flaws.mean(axis=0)) / spread) @ WEIGHTS
    total[(flaws > np.quantile(flaws, 1 - WORST, axis=0)).any(axis=1)] = np.inf
    order = np.argsort(total, kind="stable")[:count]
    return np.sort(order[np.isfinite(total[order])])


def _luma(texture: Float32) -> Float32:
    return np.tensordot(_LUMA, texture, 1).astype(np.float32)


def _reduced(luma: Float32) -> Float32:
    return np.asarray(cv2.resize(luma, (SIDE, SIDE), interpolation=cv2.INTER_AREA), np.float32)
