"""Reads how high brows are, which landmarks tell too little of: raised ones are read too low.

A brow is a dark bar between paler skin above and below it. Where such a bar lies higher than the
landmarks have it, within reach, they go there; a fringe, which has no skin above it, is none.
Other landmarks, and what follows from them all, such as where a face ends, stay as they were read.
"""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from engines.stylegan.drawing import brightness, ramp
from engines.stylegan.lids import BOTH_EYES
from engines.stylegan.topology import BROW_LEFT_SLICE, BROW_RIGHT_SLICE

__all__ = ["brows_raised", "with_brows_raised"]

_STEPS: Final = np.arange(-0.055, 0.0051, 0.005, dtype=np.float32)
"""How much lower than read a brow is looked for, crop units: lower ones are lids in shade."""
_USUAL: Final = 0.05
"""Deviation of where they lie, crop units: larger takes folds of foreheads for brows."""
_CLEARLY: Final = 0.02
"""By how much darker, a share of the skin, one place must be than others to be taken alone."""
_SEEN: Final = (0.04, 0.1)
"""How dark a bar is, a share of the skin, that does not count, and that counts in full."""
_ENOUGH: Final = 0.12
"""How dark a bar is from which it is a brow: of several the nearest is, and the edge of hair above
a forehead, which may be darker, is none."""
_BESIDE: Final = 0.02
"""How far beyond a brow skin is looked for, crop units, and its thickness besides."""
_DOWN: Final = np.linspace(0, 1, 4, dtype=np.float32)[:, None]
_SOFT: Final = 0.008
"""Deviation of the blur under which they are looked at, a share of the side."""
_FAINT: Final = 8.0
_BROWS: Final = (BROW_LEFT_SLICE, BROW_RIGHT_SLICE)

Float32 = npt.NDArray[np.float32]


def brows_raised(crop: npt.NDArray[np.uint8], points: Float32) -> float:
    """How much higher than read both brows lie, distances of the eyes.

    Args:
        crop: uint8[S, S, 3] BGR; the eyes are on one level.
        points: float32[POINTS, 3], crop units.
    """
    soft = cv2.GaussianBlur(brightness(crop), (0, 0), _SOFT * len(crop))
    luma = np.asarray(soft, np.float32)
    # Hair may hang over one side: the brow that is raised less tells of both.
    lower = max(_lower_by(luma, points[part, :2]) for part in _BROWS)
    return -lower / float(_eyes_apart(points[None])[0])


def with_brows_raised(points: Float32, raised: Float32) -> Float32:
    """Landmarks float32[N, POINTS, 3], crop units, with brows that lie so much higher.

    Args:
        points: of crops whose eyes are on one level.
        raised: float32[N] of `brows_raised`.
    """
    moved = points.copy()
    up = (raised * _eyes_apart(points))[:, None]
    for part in _BROWS:
        moved[:, part, 1] -= up
    return moved


def _eyes_apart(points: Float32) -> Float32:
    """Distance of the eyes float32[N] of points [N, POINTS, 3], at least a trace."""
    apart = points[:, BOTH_EYES, :2].mean(axis=2)
    return np.asarray(np.linalg.norm(apart[:, 1] - apart[:, 0], axis=1) + 1e-6, np.float32)


def _lower_by(luma: Float32, brow: Float32) -> float:
    """How much lower than read a brow float32[10, 2] lies, crop units."""
    under, over = brow[:5], brow[:4:-1]
    edges = np.zeros((2, 9, 2))
    edges[:, ::2] = under, over
    edges[:, 1::2] = (edges[:, 2::2] - edges[:, :-1:2]) / 2 + edges[:, :-1:2]
    low, apart = edges[0].T[:, None], (edges[1] - edges[0]).T[:, None]
    x, y = np.asarray(low + apart * _DOWN, np.float32)
    thick = float(np.abs(apart[1]).mean()) + _BESIDE
    reach = round(thick / float(_STEPS[1] - _STEPS[0]))
    step = _STEPS[1] - _STEPS[0]
    places = np.arange(-reach, len(_STEPS) + reach, dtype=np.float32) * step + _STEPS[0]
    size = np.float32(len(luma))
    across = np.tile(x * size - 0.5, (len(places), 1))
    down = np.concatenate([(y + one) * size - 0.5 for one in places])
    pixels = cv2.remap(luma, across, down, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    level = pixels.reshape(len(places), -1).mean(axis=1)
    skin = np.minimum(level[: len(_STEPS)], level[2 * reach :])
    bar = 1 - (level[reach : reach + len(_STEPS)] + _FAINT) / (skin + _FAINT)
    seen = np.minimum(bar, _ENOUGH)
    weight = np.exp((seen - seen.max()) / _CLEARLY - np.square(_STEPS / _USUAL) / 2)
    found = float((weight * _STEPS).sum() / weight.sum())
    return found * ramp(float(bar.max()), *_SEEN)
