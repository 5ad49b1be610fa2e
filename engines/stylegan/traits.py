"""What head and eyes a surrogate has: a few numbers that follow from its latent.

The texture ends at hairline and jaw and has no irises, see `engines.reshaping` and
`engines.stylegan.eyes`. Traits tell one surrogate's from another's:
without them everybody has the same, and recognisers take a tenth of all people for one another.
Projections of the latent that nothing else looks at keep them the same wherever the surrogate is
worn, and apart from its face.
"""

from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from engines.head_traits import HEAD_TRAITS
from engines.stylegan.drawing import rise
from engines.stylegan.eyes import EYE_TRAITS

__all__ = ["eyes_from_latents", "head_from_latents"]

_FOLDS: Final = 3.0
"""How often a trait runs to and fro over one unit of latent; more parts like latents further."""
_HEAD_SEED, _EYES_SEED = 5, 7
_ENDS: Final = (0.15, 0.85)
"""From where on a head's traits are at their ends: middling heads are told apart least."""

Float32 = npt.NDArray[np.float32]


def head_from_latents(latents: Float32) -> Float32:
    """Traits of w+ latents float32[N, L, C]: float32[N, HEAD_TRAITS] in [0, 1], many at the ends.

    >>> head_from_latents(np.zeros((1, 14, 512), np.float32)).tolist()
    [[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]
    """
    return rise(_projected(latents, HEAD_TRAITS, _HEAD_SEED), *_ENDS)


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
