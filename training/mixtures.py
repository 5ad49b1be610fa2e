"""How people are mixed into people who do not exist, part by part."""

import numpy as np
import numpy.typing as npt

__all__ = ["mixtures", "parts_drawn"]

Float32 = npt.NDArray[np.float32]


def mixtures(
    codes: Float32,
    parts: Float32,
    count: int,
    seed: int,
    groups: npt.NDArray[np.int64] | None = None,
) -> Float32:
    """Make people of whom every part mixes two people, in any share: float32[count, C].

    A part may be nearly one person's, a whole face never is. A mean of two lies nearer to the
    average than they do; it is stretched back.

    Args:
        codes: float32[N, C] of people, about 0.
        parts: float32[P, C, C], what each part of somebody brings; they sum to the identity.
        count: of people to make.
        seed: decides who is mixed.
        groups: int64[N]; somebody's parts are all of one group, and groups lend as much as each
            other. One group if left out.
    """
    random = np.random.default_rng(seed)
    of = np.zeros(len(codes), np.int64) if groups is None else groups
    names = np.unique(of)
    made = np.zeros((count, codes.shape[1]), np.float32)
    for turn, name in enumerate(names):
        members = codes[of == name]
        rows = slice(turn, None, len(names))
        for part in parts:
            made[rows] += parts_drawn(members, part, len(made[rows]), random)
    return made


def parts_drawn(
    members: Float32, part: Float32, count: int, random: np.random.Generator
) -> Float32:
    """Draw what one part of people may bring, each time mixed of two: float32[count, C].

    Args:
        members: float32[N, C] of those who lend, N >= 2.
        part: float32[C, C].
        count: wanted.
        random: decides who is mixed.
    """
    first = random.integers(0, len(members), count)
    second = (first + random.integers(1, len(members), count)) % len(members)
    share = random.random((count, 1), np.float32)
    length = np.sqrt(np.square(share) + np.square(1 - share))
    mixed = (share * members[first] + (1 - share) * members[second]) / length
    return np.asarray(mixed @ part, np.float32)
