"""Foreheads up to the hairline, above where a painted face ends.

Landmarks of faces end half way up the forehead. Above, the skin of the painted forehead runs on
(normalised convolution, Knutsson and Westin 1993) as far as the surrogate's hair leaves it bare,
and gets darker as the skull bends away.
"""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.hair_cap import HairCap
from engines.painted_head import Surrounded
from engines.stylegan.drawing import between, rise

__all__ = ["forehead_colour", "forehead_weight"]

_SKULL: Final = (0.92, 0.82)
"""Distances from the skull's middle, 1 where hair ends, between which a forehead ends."""
_TEMPLES: Final = (1.0, 0.8)
"""Half widths of the upper face beside its middle between which it ends."""
_EDGE: Final = (0.035, 0.012)
"""Half width over which it gives way to hair combed back, and to a fringe, shares of the patch's
side."""
_ENDS: Final = (0.3, 0.15)
"""Heights of the outline below its top between which the painted face is all there is."""
_READ: Final = (0.02, 0.16)
_INSIDE: Final = 0.04
"""Where the painted forehead is looked at: heights of the outline below its top, and how far inside
it, a share of the patch's side."""
_RUN_ON: Final = 0.07
_MEAN: Final = 0.03
"""Deviation of the blur by which its colour runs on, a share of the patch's side, and the weight of
its mean, which takes over farther away."""
_COARSE: Final = 4
"""How much smaller it runs on."""
_BEND: Final = (0.0, -0.3)
_DARKER: Final = 0.12
"""Heights below the top between which it becomes darker, and by how much."""

Float32 = NDArray[np.float32]


def forehead_weight(lie: Surrounded, cap: HairCap, low: float) -> Float32:
    """How much of every pixel is bare forehead: float32[S, S] in [0, 1].

    Args:
        lie: where the painted head lies.
        cap: its hair.
        low: how low that comes down, see `engines.painted_head.Trait`.
    """
    soft = between(_EDGE, low) * lie.unit
    bare = rise(cap.hairline, -soft, soft)
    beside = np.abs(lie.across(slice(None)))
    within = rise(beside, *_TEMPLES) * rise(lie.down(slice(None)), *_ENDS)
    return np.asarray(bare * rise(cap.away, *_SKULL) * within, np.float32)


def forehead_colour(painted: Float32, lie: Surrounded, skin: Float32) -> Float32:
    """The painted forehead's skin, running on around it: float32[S, S, 3].

    Args:
        painted: float32[S, S, 3], the painted face where it lies, 0…255.
        lie: the same of its outline.
        skin: float32[3], mean of the painted face, which counts where no forehead is in view.
    """
    down = lie.down(slice(None))
    read = (lie.depth > _INSIDE * lie.unit) & (down > _READ[0]) & (down < _READ[1])
    if read.any():
        skin = np.asarray(cv2.mean(painted, read.astype(np.uint8))[:3], np.float32)
    seen = read.astype(np.float32)
    parts = cv2.merge([*cv2.split(painted), np.ones_like(seen)]) * cv2.merge([seen] * 4)
    side = len(painted)
    small = cv2.resize(parts, (side // _COARSE, side // _COARSE), interpolation=cv2.INTER_AREA)
    small = cv2.GaussianBlur(small, (0, 0), _RUN_ON * lie.unit / _COARSE)
    forehead = small[..., :3] + np.float32(_MEAN) * skin
    forehead /= small[..., 3:] + np.float32(_MEAN)
    forehead = cv2.resize(forehead, (side, side), interpolation=cv2.INTER_LINEAR)
    bent = 1 - np.float32(_DARKER) * rise(down, *_BEND)
    return np.asarray(forehead * cv2.merge([np.broadcast_to(bent, read.shape)] * 3), np.float32)
