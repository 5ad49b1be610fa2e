"""Heads as rays see them: skin beyond the patch, hair, and a wall behind."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engines.hairline import Hair
from engines.head_traits import HEAD_TRAITS, Trait
from engines.polar import RAYS, REACH, STEPS, UP, distances, rays_from_grid

__all__ = ["SKIN", "DarkHair", "hair_on_rays", "head_on_rays", "surrogate"]

Float32 = NDArray[np.float32]
SKIN = np.array([90, 110, 150], np.float32)


def head_on_rays(
    begins: Float32 | float,
    ends: Float32 | float,
    hair: tuple[float, float, float] = (25, 30, 40),
    wall: tuple[float, float, float] = (200, 195, 190),
    noise: float = 4.0,
) -> Float32:
    """A head with hair between two distances above, and clothes below: float32[RAYS, STEPS, 3]."""
    first, last = (np.broadcast_to(one, RAYS)[:, None, None] for one in (begins, ends))
    out, is_below = distances()[..., None], (UP == 0)[:, None, None]
    seen = np.where(out < first, SKIN, np.where(out < last, np.array(hair), np.array(wall)))
    clothes = np.where(out < 0.55, SKIN, np.array([110, 60, 50], np.float32))
    seen = np.where(is_below, clothes, seen)
    grain = np.random.default_rng(3).normal(0, noise, (RAYS, STEPS, 1))
    return np.asarray(seen + grain, np.float32)


def hair_on_rays(begins: Float32, ends: Float32) -> Hair:
    """Hair between two distances float32[RAYS] of every ray, told surely."""
    is_hair = (distances() > begins[:, None]) & (distances() < ends[:, None])
    return Hair(begins, ends, is_hair.astype(np.float32), np.zeros(RAYS, np.float32))


def surrogate(**traits: float) -> Float32:
    """A surrogate's head, middling but for what is named, float32[HEAD_TRAITS].

    Args:
        traits: names of `Trait` in small letters, 0 to 1.
    """
    own = np.full(HEAD_TRAITS, 0.5, np.float32)
    for name, value in traits.items():
        own[Trait[name.upper()]] = value
    return own


class DarkHair:
    """Reads as hair what is dark, beyond the patch: what a sure reader would say of drawn heads."""

    def read(self, around: Float32, hidden: Float32, skin: Float32) -> Hair:
        out = distances()
        is_hair = (rays_from_grid(around).mean(axis=2) < 80) & (out > hidden[:, None])
        found = is_hair.any(axis=1)
        first, last = is_hair.argmax(axis=1), STEPS - is_hair[:, ::-1].argmax(axis=1)
        step = np.float32(REACH / STEPS)
        begins = np.where(found, np.maximum(first * step, hidden), hidden).astype(np.float32)
        ends = np.where(found, np.maximum(last * step, begins), hidden).astype(np.float32)
        return Hair(begins, ends, is_hair.astype(np.float32), np.zeros(RAYS, np.float32))
