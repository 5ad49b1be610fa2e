"""Exchange parts of people until they are unlike each other, as far as that can be expected.

Embeddings are expected to follow linearly from codes (`training.likeness`), and codes are sums of
parts, so what a part does to an embedding is known before anybody is painted. Everybody in turn
takes, of many parts drawn, the one by which he is expected to pass for the fewest of the others. So
a crowd spreads out: choosing among people who were drawn whole finds none of the combinations that
were not.
"""

import logging
from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from training.likeness import Likeness, passing_of
from training.mixtures import by_group, crowd_drawn, parts_drawn

TRIES: Final = 48
"""Parts that somebody chooses from each time."""
ROUNDS: Final = 2
CROWD: Final = 1200
"""Of the others, how many count, drawn anew for every part."""

Float32 = npt.NDArray[np.float32]
Int64 = npt.NDArray[np.int64]

log = logging.getLogger(__name__)


def spread_out(
    lenders: Float32,
    parts: Float32,
    groups: Int64,
    finish: Callable[[Float32], Float32],
    likeness: Likeness,
    count: int,
    seed: int,
) -> Float32:
    """Make people who are expected to be unlike each other, float32[count, C], finished.

    Args:
        lenders: float32[N, C].
        parts: float32[P, C, C], see `training.parts`.
        groups: int64[N]; somebody's parts are all of one group, and groups lend alike.
        finish: what becomes of sums of parts float32[M, C]; an affine map.
        likeness: of finished people.
        count: wanted.
        seed: decides which parts are drawn.
    """
    random = np.random.default_rng(seed)
    members = by_group(lenders, groups)
    # Part by part, so that a seed draws the people it drew for the bundled pack.
    first = [crowd_drawn(members, part[None], count, random) for part in parts]
    brought = np.concatenate(first)
    size = lenders.shape[1]
    none = likeness.expected(finish(np.zeros((1, size), np.float32)))
    alone = likeness.expected(finish(np.eye(size, dtype=np.float32)))
    effect = {name: each - none[name] for name, each in alone.items()}
    seen = likeness.expected(finish(brought.sum(axis=0)))
    for turn in range(ROUNDS):
        total = 0.0
        for part, own in zip(parts, brought, strict=True):
            crowd = random.permutation(count)[:CROWD]
            for row in random.permutation(count):
                tried = parts_drawn(members[row % len(members)], part, TRIES, random)
                tried[0] = own[row]
                change = tried - own[row]
                found = {name: seen[name][row] + change @ each for name, each in effect.items()}
                others = crowd[crowd != row]
                cost = passing_of(found, {name: each[others] for name, each in seen.items()})
                best = int(np.argmin(cost))
                own[row] = tried[best]
                for name, each in found.items():
                    seen[name][row] = each[best]
                total += float(cost[best])
        log.info("exchange %d: %.5f expected to pass", turn + 1, total / len(parts) / count)
    return finish(brought.sum(axis=0))
