"""Which hair a surrogate wears: a few numbers that follow from its latent.

The texture ends at the hairline, so hair is drawn, see `engines.hair_cap`. Traits tell one
surrogate's from another's: without them everybody has the same hair, and recognisers take a tenth
of all people for one another. A projection of the latent that nothing else looks at keeps them
the same wherever the surrogate is worn, and apart from its face.
"""

from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from engines.hair_cap import HAIR_TRAITS

__all__ = ["traits_of_latents"]

_FOLDS: Final = 3.0
"""How often a trait runs to and fro over one unit of latent; more parts like latents further."""
_SEED: Final = 5

Float32 = npt.NDArray[np.float32]


def traits_of_latents(latents: Float32) -> Float32:
    """Traits of w+ latents float32[N, L, C], evenly spread: float32[N, HAIR_TRAITS] in [0, 1].

    >>> traits_of_latents(np.zeros((1, 14, 512), np.float32)).tolist()
    [[0.0, 0.0, 0.0, 0.0]]
    """
    along = latents.mean(axis=1) @ _directions(latents.shape[2])
    # A triangle wave: near latents have near traits.
    return np.asarray(np.abs((_FOLDS * along + 1) % 2 - 1), np.float32)


@lru_cache(maxsize=2)
def _directions(channels: int) -> Float32:
    """Unit columns float32[channels, HAIR_TRAITS]."""
    drawn = np.random.default_rng(_SEED).standard_normal((channels, HAIR_TRAITS))
    return np.asarray(drawn / np.linalg.norm(drawn, axis=0), np.float32)
