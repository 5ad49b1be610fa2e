"""The dark of a beard below a painted chin, drawn up over its jaw.

The beard of a subject is hidden with the face that wears it, but for what lies below the jaw. A
shaved chin that ends there looks like a mask. What beside a jaw is no skin, and goes on within the
face, is a beard, or shade; collars and rooms end at a chin. One tone is told, which changes slowly
from frame to frame: see `engines.blending.harmony.Retouch`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from engines.blending.head_skin import skin_of
from engines.blending.patches import Patch, identity_mask_of
from engines.face.crop_regions import disc
from engines.pictures import BgrImage
from engines.stylegan.drawing import LUMA, ramp, rise, spread_near

__all__ = ["beard_below", "with_beard"]

_SIDE: Final = 64
"""Side at which it is looked at and drawn, px; it is smooth."""
_RING: Final = 2
"""Width of what is looked at beside a jaw, px of that."""
_LOW: Final = (0.66, 0.86)
"""Shares of a face's height between which jaws begin."""
_WITHIN: Final = 0.03
"""How far within a face what goes on there is looked at, a share of the side."""
_GOES_ON: Final = (20.0, 80.0)
"""Grey levels by which it may differ there."""
_BEARDED: Final = (0.15, 0.5)
"""Shares of a jaw along which that is found of which nothing, and of which all counts."""
_DARKER: Final = 50.0
_HUE: Final = 20.0
"""Grey levels by which a jaw may darken, and change in hue."""
_REACH: Final = 0.065
_SURELY: Final = 0.25
"""Deviation of the blur by which that is spread, a share of the side, and the weight from which all
of it counts."""
_LEAST_LEVEL: Final = 30.0
_LEAST_GAIN: Final = 0.25
"""Grey level below which no place of a painted face counts, and the least it is multiplied by."""
_FAINT: Final = 1.0
"""Grey levels that are not drawn."""

Float32 = NDArray[np.float32]


def beard_below(patch: Patch, head: BgrImage, inside: NDArray[np.bool_]) -> Float32:
    """How much darker a beard is than the painted jaw above it, BGR float32[3] grey levels.

    Args:
        patch: in the tone of its head.
        head: uint8[S, S, 3] what its crop shows of the picture.
        inside: bool[S, S], what of the crop lies in the picture.
    """
    small = (_SIDE, _SIDE)
    original, painted, seen, alpha = (
        np.asarray(cv2.resize(one, small, interpolation=cv2.INTER_AREA), np.float32)
        for one in (head.astype(np.float32), patch.pixels, inside.astype(np.float32), patch.alpha)
    )
    must = identity_mask_of(patch, _SIDE).astype(np.float32)
    jaw = _beside_jaw(must) * seen
    within = spread_near(original, must, _WITHIN * _SIDE)
    apart = np.asarray(np.abs(original - within).max(axis=2), np.float32)
    dark = jaw * (1 - skin_of(original, alpha, must)) * (1 - rise(apart, *_GOES_ON))
    share = float(dark.sum() / max(float(jaw.sum()), 1.0))
    if share <= _BEARDED[0]:
        return np.zeros(3, np.float32)
    left = ((original - painted) * dark[..., None]).sum(axis=(0, 1)) / dark.sum()
    grey = left @ LUMA
    tone = np.clip(grey, -_DARKER, 0) + np.clip(left - grey, -_HUE, _HUE)
    return np.asarray(tone * ramp(share, *_BEARDED), np.float32)


def with_beard(patch: Patch, tone: Float32) -> Patch:
    """The patch with that tone BGR float32[3] along its jaw, fading upwards."""
    if float(np.abs(tone).max()) < _FAINT:
        return patch
    must = identity_mask_of(patch, _SIDE).astype(np.float32)
    near = cv2.GaussianBlur(_beside_jaw(must), (0, 0), _REACH * _SIDE)
    near = near / np.maximum(near, np.float32(_SURELY))
    painted = cv2.resize(patch.pixels, (_SIDE, _SIDE), interpolation=cv2.INTER_AREA)
    gain = 1 + near[..., None] * tone / np.maximum(painted, np.float32(_LEAST_LEVEL))
    size = patch.alpha.shape[::-1]
    wide = cv2.resize(np.maximum(gain, np.float32(_LEAST_GAIN)).astype(np.float32), size)
    return replace(patch, pixels=np.asarray(patch.pixels * wide, np.float32))


def _beside_jaw(must: Float32) -> Float32:
    """Where a head goes on beside a jaw and a chin: float32[S, S] in [0, 1].

    Args:
        must: float32[S, S], 1 within the identity outline.
    """
    rows = np.flatnonzero(must.max(axis=1) > 0)
    if not len(rows):
        return np.zeros_like(must)
    ring = np.asarray(cv2.dilate(must, disc(_RING)), np.float32) - must
    low = rise(np.arange(len(must), dtype=np.float32), *np.quantile(rows, _LOW))
    return np.asarray(ring * low[:, None], np.float32)
