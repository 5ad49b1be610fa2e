"""How people are mixed into people who do not exist."""

from typing import Final

import numpy as np
import numpy.typing as npt

MIXED: Final = 3
"""People whose codes make one donor; more make smoother faces that resemble each other."""
EVENNESS: Final = 3.0
"""Concentration of the Dirichlet weights of a mixture; larger mixes more evenly."""
STRETCH: Final = 1.45
"""Of a donor away from the average face: a linear texture paints people weaker than they are,
and so more alike. Larger ones have harder features."""

Float32 = npt.NDArray[np.float32]


def mixtures(codes: Float32, count: int, seed: int) -> Float32:
    """Mix MIXED people each, stretched: float32[count, C].

    A mean of people lies nearer to the average face than they do; it is stretched back, and by
    STRETCH beyond.

    Args:
        codes: float32[N, C] of the people, N >= MIXED.
        count: of mixtures.
        seed: decides them.
    """
    random = np.random.default_rng(seed)
    weights = random.dirichlet([EVENNESS] * MIXED, count)
    chosen = np.argsort(random.random((count, len(codes))), axis=1)[:, :MIXED]
    mixed = np.einsum("nm,nmc->nc", weights, codes[chosen])
    mixed *= STRETCH / np.linalg.norm(weights, axis=1, keepdims=True)
    return np.asarray(mixed, np.float32)


def surrogates(codes: Float32, count: int, seed: int) -> Float32:
    """Mix two mixtures each, in any share, as a gallery may: float32[count, C]."""
    random = np.random.default_rng(seed)
    pairs = mixtures(codes, 2 * count, seed).reshape(count, 2, -1)
    share = random.random((count, 1)).astype(np.float32)
    norm = np.sqrt(np.square(share) + np.square(1 - share))
    return np.asarray((share * pairs[:, 0] + (1 - share) * pairs[:, 1]) / norm, np.float32)
