"""How people are mixed into people who do not exist, part by part."""

import numpy as np
import numpy.typing as npt

__all__ = ["mixtures"]

Float32 = npt.NDArray[np.float32]


def mixtures(codes: Float32, parts: Float32, count: int, seed: int) -> Float32:
    """Make people of whom every part mixes two people, in any share: float32[count, C].

    A part may be nearly one person's, a whole face never is. A mean of two lies nearer to the
    average than they do; it is stretched back.

    Args:
        codes: float32[N, C] of people, about 0, N >= 2.
        parts: float32[P, C, C], what each part of somebody brings; they sum to the identity.
        count: of people to make.
        seed: decides who is mixed.
    """
    random = np.random.default_rng(seed)
    brought = [_part_drawn(codes, part, count, random) for part in parts]
    return np.asarray(np.sum(brought, axis=0), np.float32)


def _part_drawn(
    members: Float32, part: Float32, count: int, random: np.random.Generator
) -> Float32:
    """What one part of people brings, each time mixed of two: float32[count, C]."""
    first = random.integers(0, len(members), count)
    second = (first + random.integers(1, len(members), count)) % len(members)
    share = random.random((count, 1), np.float32)
    length = np.sqrt(np.square(share) + np.square(1 - share))
    mixed = (share * members[first] + (1 - share) * members[second]) / length
    return np.asarray(mixed @ part, np.float32)
