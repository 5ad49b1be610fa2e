"""What was read of a head in the frames before, so that its outline does not tremble."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from enum import Enum
from typing import Final, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

__all__ = ["HeadMemory", "Reading"]

_NEW: Final = 0.22
"""Share of a new reading: larger follows a turning head sooner, and trembles more."""
_EVERY: Final = 4
_OF: Final = 3
"""Readings from one that is costly to the next, and of how many of these the median counts: one
that went wrong has no part in what is drawn."""
_USES: Final = 3
"""Frames in a row for which what was made of a head is used."""
_STILL: Final = 0.015
"""How far a face's outline may have moved, shares of the patch's side, for what was made of its
head to be used again; larger saves more, and lags behind more."""

_FADES: Final = 0.01
"""Share of what was found most, or weighed, that is forgotten with every reading."""

T = TypeVar("T")
Float32 = NDArray[np.float32]


class Reading(Enum):
    """What is read of a head, over the rays but for colours."""

    HAIR = "where hair begins and ends, and what is hair"
    COLOUR = "what colour hair has"
    PATCH = "how far the patch reaches beyond the surrogate's outline"
    FILLED = "how far the painted face does"
    FACE = "how far the painted face reaches"
    AMOUNT = "how much hair there is"
    TONE = "how hair that stays differs from that, by direction"
    EARS = "where ears are drawn"
    SEEN = "what colour it had where most was seen"


class HeadMemory:
    """Running means of what was read of a head; one for each track."""

    def __init__(self) -> None:
        self._means: dict[Reading, Float32] = {}
        self._rests: Counter[Reading] = Counter()
        self._read: dict[Reading, deque[Float32]] = {}
        self._medians: dict[Reading, Float32] = {}
        self._made: tuple[Float32, object] | None = None
        self._uses = 0
        self._weights: dict[Reading, float] = {}

    def while_still(self, outline: Float32, make: Callable[[], T], mixed: Callable[[T, T], T]) -> T:
        """What is made of a head, used for three frames while the face hardly moves.

        Args:
            outline: float32[RAYS] of the face now; where it moved by more than a little since,
                what was made is made anew.
            make: makes it.
            mixed: what is between one that was used and the next, so that nothing jumps.

        >>> memory, made, face = HeadMemory(), iter(range(9)), np.ones(4, np.float32)
        >>> def look(face: Float32) -> float:
        ...     return memory.while_still(face, lambda: float(next(made)), lambda a, b: (a + b) / 2)
        >>> [look(face) for _ in range(4)]
        [0.0, 0.0, 0.0, 0.5]
        >>> [look(face * n) for n in (1, 2, 2)]
        [0.5, 2.0, 2.0]
        """
        known = None
        if self._made is not None and np.abs(self._made[0] - outline).max() <= _STILL:
            known = cast("T", self._made[1])
            if self._uses < _USES:
                self._uses += 1
                return known
        anew = make() if known is None else mixed(known, make())
        self._made, self._uses = (outline, anew), 1
        return anew

    def renewed(
        self, what: Reading, read: Callable[[], Float32], unlike: float, rows: int | None = None
    ) -> Float32:
        """A costly reading, made now and then, as of the last of them: shaped as `read` returns it.

        Args:
            what: which.
            read: makes it.
            unlike: mean difference of a reading from what is known above which it is made again at
                once: either it went wrong, or hair has come into view.
            rows: how many of the first are compared; all by default.

        >>> memory, made = HeadMemory(), []
        >>> def read() -> Float32:
        ...     made.append(None)
        ...     return np.ones(1, np.float32) if len(made) > 1 else np.zeros(1, np.float32)
        >>> [round(float(memory.renewed(Reading.HAIR, read, 0.2)[0]), 2) for _ in range(7)]
        [0.0, 0.0, 0.0, 0.0, 0.22, 0.56, 0.76]
        >>> len(made)
        3
        """
        if self._rests[what] == 0:
            made = self._read.setdefault(what, deque(maxlen=_OF))
            made.append(read())
            self._medians[what] = np.asarray(np.median(made, axis=0), np.float32)
            is_unlike = np.abs(made[-1] - self._medians[what])[:rows].mean() > unlike
            self._rests[what] = 1 if is_unlike else _EVERY
        self._rests[what] -= 1
        return self.steadied(what, self._medians[what], unlike, rows)

    def most(self, what: Reading, found: float) -> float:
        """The most that was found so far; it fades, by a hundredth each time.

        >>> memory = HeadMemory()
        >>> [round(memory.most(Reading.AMOUNT, one), 3) for one in (2.0, 0.0, 0.0, 3.0)]
        [2.0, 1.98, 1.96, 3.0]
        """
        known = float(self._means.get(what, np.zeros(1, np.float32))[0])
        kept = max(found, known * (1 - _FADES))
        self._means[what] = np.array([kept], np.float32)
        return kept

    def known(self, what: Reading) -> Float32 | None:
        """What was read so far, as it was told last; None where nothing was."""
        return self._means.get(what)

    def weighed(self, what: Reading, found: Float32, weight: float) -> Float32:
        """The mean of what was found so far, by weights that fade in the same way.

        >>> memory = HeadMemory()
        >>> float(memory.weighed(Reading.SEEN, np.float32(4), 3.0))
        4.0
        >>> round(float(memory.weighed(Reading.SEEN, np.float32(8), 1.0)), 2)
        5.01
        """
        total = weight + self._weights.get(what, 0.0) * (1 - _FADES)
        known = self._means.get(what, found)
        mean = np.asarray(known + np.float32(weight / total) * (found - known), np.float32)
        self._means[what], self._weights[what] = mean, total
        return mean

    def steadied(
        self, what: Reading, found: Float32, unlike: float = np.inf, rows: int | None = None
    ) -> Float32:
        """A reading, float32[..., RAYS] or [2, 3], as of all frames so far.

        Args:
            what: which.
            found: in this frame.
            unlike: mean difference from what is known above which it is followed twice as fast.
            rows: how many of the first are compared; all by default.

        >>> memory = HeadMemory()
        >>> readings = [memory.steadied(Reading.HAIR, np.float32([one])) for one in (1, 1, 2)]
        >>> [round(float(one[0]), 2) for one in readings]
        [1.0, 1.0, 1.22]
        """
        known = self._means.get(what)
        if known is not None and np.isfinite(known).all():
            differs = found - known
            share = _NEW * (2 if np.abs(differs[:rows]).mean() > unlike else 1)
            found = np.asarray(known + np.float32(share) * differs, np.float32)
        self._means[what] = found
        return found
