"""Heads as rays see them: skin beyond the patch, hair, and a wall behind."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engines.polar import RAYS, STEPS, distances

__all__ = ["SKIN", "head_on_rays"]

Float32 = NDArray[np.float32]
SKIN = np.array([90, 110, 150], np.float32)


def head_on_rays(
    begins: Float32 | float,
    ends: Float32 | float,
    hair: tuple[float, float, float] = (25, 30, 40),
    wall: tuple[float, float, float] = (200, 195, 190),
    noise: float = 4.0,
) -> Float32:
    """A head with hair between two distances on all rays: float32[RAYS, STEPS, 3]."""
    first, last = (np.broadcast_to(one, RAYS)[:, None, None] for one in (begins, ends))
    out = distances()[..., None]
    seen = np.where(out < first, SKIN, np.where(out < last, np.array(hair), np.array(wall)))
    grain = np.random.default_rng(3).normal(0, noise, (RAYS, STEPS, 1))
    return np.asarray(seen + grain, np.float32)
