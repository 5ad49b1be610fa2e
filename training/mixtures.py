"""How people are mixed into people who do not exist, part by part."""

import numpy as np
import numpy.typing as npt

__all__ = ["by_group", "crowd_drawn", "mixtures", "parts_drawn"]

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
    members = [codes] if groups is None else by_group(codes, groups)
    random = np.random.default_rng(seed)
    return np.asarray(crowd_drawn(members, parts, count, random).sum(axis=0), np.float32)


def by_group(codes: Float32, groups: npt.NDArray[np.int64]) -> list[Float32]:
    """Codes float32[N, C] of each group apart.

    Args:
        codes: float32[N, C].
        groups: int64[N].
    """
    return [codes[groups == name] for name in np.unique(groups)]


def crowd_drawn(
    members: list[Float32], parts: Float32, count: int, random: np.random.Generator
) -> Float32:
    """What each part brings to everybody of a crowd, float32[P, count, C]; groups take turns.

    Args:
        members: of each group float32[N, C].
        parts: float32[P, C, C].
        count: people in the crowd.
        random: decides who is mixed.
    """
    made = np.empty((len(parts), count, parts.shape[1]), np.float32)
    for turn, lending in enumerate(members):
        rows = slice(turn, None, len(members))
        for part, brought in zip(parts, made, strict=True):
            brought[rows] = parts_drawn(lending, part, len(brought[rows]), random)
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
