"""The order in which donors are dealt: secret, and nobody early who looks like somebody dealt.

A plain shuffle deals look-alikes as often as chance has it, and then two people in one picture pass
for one. Here, of those not yet dealt, the next is always one who resembles the fewest of those who
are; among equals a keyed shuffle decides. So the first few hundred of a large population resemble
nobody among each other, as a maximal independent set of the graph of look-alikes. The graph is as
public as the donors are; where a shuffle starts in it, only the key tells.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gallery.secrets import KeyedRandom

__all__ = ["Indices", "dealt"]

Indices = NDArray[np.intp]


def dealt(random: KeyedRandom, pool: Indices, alike: Indices, count: int) -> Indices:
    """The first so many of a pool, in the order in which they are dealt.

    Args:
        random: keyed stream; drawn from.
        pool: (n,) different rows of the population.
        alike: (M, 2) rows of the population that look alike, each pair once.
        count: how many, at most n.

    Returns:
        (count,) rows. Fewer are the beginning of more.

    >>> pairs = np.array([[0, 1], [2, 3]])
    >>> order = dealt(KeyedRandom(b"k" * 32), np.arange(4), pairs, 4).tolist()
    >>> {order[0] // 2, order[1] // 2} == {0, 1}
    True
    """
    if not len(alike):
        return pool[random.sample(len(pool), count)]
    shuffled = pool[random.sample(len(pool), len(pool))]
    starts, neighbours = _neighbours(shuffled, alike)
    resembled = np.zeros(len(pool), np.int64)
    order = np.empty(count, np.intp)
    for place in range(count):
        chosen = int(resembled.argmin())
        order[place] = chosen
        resembled[neighbours[starts[chosen] : starts[chosen + 1]]] += 1
        resembled[chosen] = np.iinfo(np.int64).max // 2
    return shuffled[order]


def _neighbours(pool: Indices, alike: Indices) -> tuple[Indices, Indices]:
    """Look-alikes within a pool: where those of each place start, (n + 1,), and who they are."""
    places = np.full(max(int(pool.max()), int(alike.max())) + 1, -1, np.intp)
    places[pool] = np.arange(len(pool))
    within = places[alike]
    within = within[(within >= 0).all(axis=1)]
    both = np.concatenate([within, within[:, ::-1]])
    both = both[np.argsort(both[:, 0], kind="stable")]
    return np.searchsorted(both[:, 0], np.arange(len(pool) + 1)), both[:, 1]
