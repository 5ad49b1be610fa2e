"""Makes the hair around a painted face as bright as the surrogate's.

How light hair is beside the skin tells people apart. Strands and the hue stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.head_memory import HeadMemory
from engines.head_traits import Trait
from engines.polar import DOWN, UP, distances
from engines.seam import LUMA, brightness, farthest, skin_likeness
from engines.stylegan.drawing import between, rise

__all__ = ["HairTone", "hair_tone"]

_BRIGHTNESS: Final = (0.3, 0.8)
"""Brightness of hair as a share of the painted skin's, of the least trait and the greatest."""
_FAIR: Final = np.array([0.88, 1.08, 0.96], np.float32)
"""Hue of fair hair beside the skin's, BGR."""
_CONTRAST: Final = (0.6, 1.8)
_SHEEN: Final = 30.0
"""How much less or more contrast hair may get, and what is added to brightness before two are
divided: black hair shines as other hair does."""
_BELOW: Final = (0.1, 0.5)
"""How far down rays point between which hair ends to be looked for."""
_READ: Final = 0.15
_ALIKE: Final = 80.0
"""How far beyond the patch its colour is read, and the difference, grey levels, at which something
is no more that hair."""
_MIXED: Final = 60.0
"""Difference of brightness, grey levels, at which a pixel is something else as well."""
_FAINT: Final = 1e-3

Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class HairTone:
    """What makes the hair of a picture another one's.

    Attributes:
        weight: float32[RAYS, STEPS], how much of every place is hair.
        mean: float32[3] BGR of the hair as it is.
        wanted: float32[3] BGR as it shall be.
        contrast: of its strands, over what they have.
    """

    weight: Float32
    mean: Float32
    wanted: Float32
    contrast: float

    def shift(self, pixels: Float32, weight: Float32) -> Float32:
        """What must be added to pixels float32[H, W, 3] of a weight float32[H, W].

        Where hair and what is behind it mix in a pixel, only the hair's share changes.
        """
        away = (brightness(pixels) - np.float32(self.mean @ LUMA)) / np.float32(_MIXED)
        share = weight * cv2.exp(-away * away)
        more = np.float32(self.contrast - 1)
        # Plane by plane: broadcasting along a last axis of three takes several times as long.
        planes = [
            share * (plane * more + level)
            for plane, level in zip(
                cv2.split(pixels), self.wanted - self.mean * (more + 1), strict=True
            )
        ]
        return np.asarray(cv2.merge(planes), np.float32)


def hair_tone(
    around: Float32,
    head: Float32,
    hidden: Float32,
    skin: Float32,
    traits: Float32,
    memory: HeadMemory | None = None,
) -> HairTone:
    """Reads hair off the rays, and says what the surrogate makes of it.

    Args:
        around: float32[RAYS, STEPS, 3] BGR.
        head: float32[RAYS, STEPS], see `engines.reshaping.headness`.
        hidden: float32[RAYS], where the patch ends; hair is read beyond it, above the face.
        skin: float32[3] BGR of the painted face.
        traits: float32[HEAD_TRAITS] of the surrogate.
        memory: of the track; what was read before counts too.
    """
    beyond = distances() - hidden[:, None]
    weight = head * (1 - skin_likeness(around, skin))
    seen = weight * ((beyond > 0) & (beyond < _READ)) * (UP * UP)[:, None]
    mean = (around * seen[..., None]).sum(axis=(0, 1)) / (seen.sum() + np.float32(_FAINT))
    if memory is not None:
        mean = memory.colour(mean)
    apart = farthest(around - mean) / np.float32(_ALIKE)
    weight = weight * np.exp(-apart * apart) * (1 - rise(DOWN, *_BELOW))[:, None]
    luma, skin_luma = (max(float(one @ LUMA), 1.0) for one in (mean, skin))
    own = between(_BRIGHTNESS, float(traits[Trait.HAIR_BRIGHTNESS])) * skin_luma
    if own <= luma:
        wanted = mean * np.float32(own / luma)
    else:
        fair = skin * _FAIR
        wanted = mean + np.float32((own - luma) / max(float(fair @ LUMA), 1.0)) * fair
    contrast = float(np.clip((own + _SHEEN) / (luma + _SHEEN), *_CONTRAST))
    weight, mean, wanted = (np.asarray(one, np.float32) for one in (weight, mean, wanted))
    return HairTone(weight, mean, wanted, contrast)
