"""What eyes a surrogate has: a few numbers that follow from its latent.

The texture has no irises, see `engines.stylegan.eyes`. Projections of the latent that nothing else
looks at keep them the same in every scene, and apart from the face.
"""

from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from engines.stylegan.eyes import EYE_TRAITS

__all__ = ["eyes_from_latents"]

_FOLDS: Final = 3.0
"""How often a trait runs to and fro over one unit of latent; more parts like latents further."""
_EYES_SEED: Final = 7

Float32 = npt.NDArray[np.float32]


def eyes_from_latents(latents: Float32) -> Float32:
    """Traits of w+ latents float32[N, L, C], evenly spread: float32[N, EYE_TRAITS] in [0, 1]."""
    return _projected(latents, EYE_TRAITS, _EYES_SEED)


def _projected(latents: Float32, count: int, seed: int) -> Float32:
    along = latents.mean(axis=1) @ _directions(latents.shape[2], count, seed)
    # A triangle wave: near latents have near traits.
    return np.asarray(np.abs((_FOLDS * along + 1) % 2 - 1), np.float32)


@lru_cache(maxsize=4)
def _directions(channels: int, count: int, seed: int) -> Float32:
    """Unit columns float32[channels, count]."""
    drawn = np.random.default_rng(seed).standard_normal((channels, count))
    return np.asarray(drawn / np.linalg.norm(drawn, axis=0), np.float32)
