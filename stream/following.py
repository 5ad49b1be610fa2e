"""Whether a face is followed well enough to be swapped, by the frames around it too.

What the reader says of one frame alone is as noisy as the frame: of a small or blurred face it is
sure and unsure in turns. So a face is swapped when it has been, or is going to be, followed for a
while, and is then carried through short gaps in which it cannot be read. A cover thus comes and
goes rarely, and where frames ahead are known it ends at once.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from typing import Final

from engines.face_look import Look

__all__ = ["FOLLOWING", "Stretch", "gap_around", "stretch_around"]

_SLACK_S: Final = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """When a face is swapped, when covered.

    Attributes:
        hold_s: time that a face must be followed, frames ahead included, for its cover to be
            lifted. Longer flips less, and covers more of the faces that come and go.
        bridged_s: longest gap, between two frames in which the face was read, that is bridged.
            Longer flips less, and shows surrogates that move on over a head that turned away.
        kept: doubt up to which a swapped face counts as read, over that from which a cover is
            lifted. Larger flips less, and shows landmarks that are farther off.
        least_read: share of the frames of a stretch in which the face must be read for its cover
            to be lifted.
    """

    hold_s: float = 0.5
    bridged_s: float = 0.3
    kept: float = 1.25
    least_read: float = 0.5


FOLLOWING: Final = Following()


@dataclass(frozen=True, slots=True)
class Stretch:
    """Frames around one in which a face is followed, without a gap that is too long.

    Attributes:
        first: the earliest look that was read.
        last: the latest.
    """

    first: Look
    last: Look


def gap_around(read: Sequence[Look], index: int) -> tuple[Look, Look] | None:
    """The looks before and after a frame that was not read; None where one is missing.

    Args:
        read: looks in which the face was read, in order.
        index: of the frame.
    """
    before = bisect_left(read, index, key=attrgetter("index"))
    after = bisect_right(read, index, key=attrgetter("index"))
    if before == 0 or after == len(read):
        return None
    return read[before - 1], read[after]


def _is_bridged(before: Look, after: Look) -> bool:
    """Whether the gap between two looks is short enough."""
    return after.time_s - before.time_s <= FOLLOWING.bridged_s + _SLACK_S


def stretch_around(read: Sequence[Look], index: int) -> Stretch | None:
    """The frames around one in which the face is followed; None where it is not in that one.

    Args:
        read: looks in which the face was read, in order.
        index: of the frame.
    """
    parts: list[list[Look]] = [[look] for look in read[:1]]
    for before, after in pairwise(read):
        if _is_bridged(before, after):
            parts[-1].append(after)
        else:
            parts.append([after])
    for part in parts:
        if part[0].index <= index <= part[-1].index:
            return Stretch(part[0], part[-1])
    return None
