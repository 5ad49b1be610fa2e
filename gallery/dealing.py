"""The order in which donors are dealt: secret, and nobody early who looks like somebody dealt.

A plain shuffle deals look-alikes as often as chance has it, and then two people in one picture pass
for one. Here, of those not yet dealt, the next is always one who resembles the fewest of those who
are; among equals a keyed shuffle decides. So the first few hundred of a large population resemble
nobody among each other, as a maximal independent set of the graph of look-alikes. The graph is as
public as the donors are; where a shuffle starts in it, only the key tells.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gallery.secrets import KeyedRandom

__all__ = ["Deals", "Indices", "LookAlikes", "dealt", "look_alikes"]

_KEPT: Final = 64
"""Orders that are remembered, of some kilobytes each."""
_LEAST_DEALT: Final = 64
"""Cards that are dealt at once where fewer are asked for."""

Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class LookAlikes:
    """Who looks like whom in a population of n.

    Attributes:
        starts: (n + 1,) where the look-alikes of each row start in `others`.
        others: (2M,) rows.
    """

    starts: Indices
    others: Indices

    def of(self, row: int) -> Indices:
        """Rows that look like a row, a view."""
        return self.others[self.starts[row] : self.starts[row + 1]]


def look_alikes(pairs: Indices, population: int) -> LookAlikes:
    """Both sides of every pair, sorted once for all deals.

    Args:
        pairs: (M, 2) rows of the population that look alike, each pair once.
        population: n, how many there are.

    >>> look_alikes(np.array([[0, 2], [1, 2]]), 3).of(2).tolist()
    [0, 1]
    """
    both = np.concatenate([pairs, pairs[:, ::-1]])
    both = both[np.argsort(both[:, 0], kind="stable")]
    return LookAlikes(np.searchsorted(both[:, 0], np.arange(population + 1)), both[:, 1])


def dealt(random: KeyedRandom, pool: Indices, alike: LookAlikes, count: int) -> Indices:
    """The first so many of a pool, in the order in which they are dealt.

    Args:
        random: keyed stream; drawn from.
        pool: (n,) different rows of the population.
        alike: who looks like whom in the population.
        count: how many, at most n.

    Returns:
        (count,) rows. Fewer are the beginning of more.

    >>> alike = look_alikes(np.array([[0, 1], [2, 3]]), 4)
    >>> order = dealt(KeyedRandom(b"k" * 32), np.arange(4), alike, 4).tolist()
    >>> {order[0] // 2, order[1] // 2} == {0, 1}
    True
    """
    if not len(alike.others):
        return pool[random.sample(len(pool), count)]
    shuffled = pool[random.sample(len(pool), len(pool))]
    nowhere = len(pool)  # the place of whoever is not in the pool
    places = np.full(len(alike.starts) - 1, nowhere, np.intp)
    places[shuffled] = np.arange(len(pool))
    resembled = np.zeros(len(pool) + 1, np.int64)
    order = np.empty(count, np.intp)
    for turn in range(count):
        chosen = int(resembled[:nowhere].argmin())
        order[turn] = chosen
        resembled[places[alike.of(shuffled[chosen])]] += 1
        resembled[chosen] = np.iinfo(np.int64).max // 2
    return shuffled[order]


class Deals:
    """Orders that were drawn from keyed streams, remembered: every draw of a scope asks for them.

    Not for several threads.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[bytes, bytes], Indices] = OrderedDict()

    def deck(self, random: KeyedRandom, pool: Indices, alike: LookAlikes, count: int) -> Indices:
        """The same as `dealt`, or more.

        Args:
            random: only a child of it is drawn from.
            pool: see `dealt`.
            alike: see `dealt`.
            count: how many at least, at most as many as the pool has.
        """
        key = (random.child("deck name").token(16), pool.tobytes())
        known = self._kept.get(key)
        if known is None or len(known) < count:
            more = max(count, _LEAST_DEALT, 0 if known is None else 2 * len(known))
            known = dealt(random.child("donors"), pool, alike, min(more, len(pool)))
        self._keep(key, known)
        return known

    def order(self, stream: bytes, what: bytes, make: Callable[[], Indices]) -> Indices:
        """What was made before of a stream for a purpose; made now where it was not."""
        key = (stream, what)
        known = self._kept.get(key)
        if known is None:
            known = make()
        self._keep(key, known)
        return known

    def forget(self) -> None:
        """Forgets all orders."""
        self._kept.clear()

    def _keep(self, key: tuple[bytes, bytes], order: Indices) -> None:
        self._kept[key] = order
        self._kept.move_to_end(key)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
