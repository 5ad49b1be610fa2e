"""Whether a face is followed well enough to be swapped, by the frames around it too.

What the reader says of one frame alone is as noisy as the frame: of a small or blurred face it is
sure and unsure in turns. So frames are taken together: a *run* is followed from its first frame
that was read to its last one, through short gaps in which the face could not be read, but for those
in which something passed before it. As far as frames ahead are known, runs are swapped as a whole,
and what is read for a moment between covers stays covered.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from typing import Final

from engines.face.face_look import Look

__all__ = [
    "FOLLOWING",
    "SLACK_S",
    "Run",
    "end_beside",
    "gap_around",
    "is_behind",
    "is_lifted",
    "run_around",
]

SLACK_S: Final = 0.005
"""Seconds by which timestamps of a steady rate are off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """When a face is swapped, when covered.

    Attributes:
        hold_s: time that a face must go on to be followed for its cover to be lifted; where fewer
            frames ahead are known, the time before counts too. Longer flips less, and covers more
            of the faces that come and go.
        bridged_s: longest gap, between two frames in which the face was read, that is bridged.
            Longer flips less, and shows surrogates that move on over a head that turned away.
        carried_s: longest time before the first frame in which a face was read, and after the last,
            through which it is carried along with its pixels where the track begins and ends so.
            Longer flips less, and shows landmarks that nothing confirms.
        kept: doubt up to which a face counts as read beside frames in which it is read well, over
            that of those frames. Larger flips less, and shows landmarks that are farther off.
        least_read: share of the frames of that time in which the face must be read well for its
            cover to be lifted.
    """

    hold_s: float = 0.7
    bridged_s: float = 0.3
    carried_s: float = 0.1
    kept: float = 1.25
    least_read: float = 0.4


FOLLOWING: Final = Following()


@dataclass(frozen=True, slots=True)
class Run:
    """Frames in which a face is followed, without a gap that is too long.

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
    after = bisect_right(read, index, key=attrgetter("index"))
    if after in (0, len(read)) or read[after - 1].index == index:
        return None
    return read[after - 1], read[after]


def end_beside(looks: Sequence[Look], read: Sequence[Look], own: Look) -> Look | None:
    """The nearest look that was read, of a face that is not read any more, or was not yet.

    Args:
        looks: all of the face, in order.
        read: those in which it was read.
        own: of the frame, not read.

    Returns:
        None where the track begins earlier, or goes on for longer, than a face is carried.
    """
    longest_s = FOLLOWING.carried_s + SLACK_S
    place = bisect_left(read, own.index, key=attrgetter("index"))
    if 0 < place == len(read) and looks[-1].time_s - read[-1].time_s <= longest_s:
        return read[-1]
    if place == 0 and read and read[0].time_s - looks[0].time_s <= longest_s:
        return read[0]
    return None


def run_around(
    read: Sequence[Look], index: int, is_joined: Callable[[Look, Look], bool]
) -> Run | None:
    """The frames around one in which the face is followed; None where it is not in that one.

    Args:
        read: looks in which the face was read, in order.
        index: of the frame.
        is_joined: whether the gap between two of them, one after the other, is bridged; not asked
            where there is none.
    """
    first = last = bisect_right(read, index, key=attrgetter("index")) - 1
    gap = gap_around(read, index)
    if gap is None and (first < 0 or read[first].index != index):
        return None
    if gap is not None and not is_joined(*gap):
        return None
    longest_s = FOLLOWING.bridged_s + SLACK_S
    is_next = [
        after.index - before.index == 1 and after.time_s - before.time_s <= longest_s
        for before, after in pairwise(read)
    ]
    while first > 0 and (is_next[first - 1] or is_joined(read[first - 1], read[first])):
        first -= 1
    while last + 1 < len(read) and (is_next[last] or is_joined(read[last], read[last + 1])):
        last += 1
    return Run(read[first], read[last])


def is_lifted(
    run: Run, looks: Sequence[Look], time_s: float, lost_s: float, limit: float, *, is_new: bool
) -> bool:
    """Whether a face that was covered, or was not there, is swapped from a frame of a run on.

    Args:
        run: that the frame lies in.
        looks: all of the face, in order.
        time_s: time of the frame.
        lost_s: of the last one in which the face was not followed.
        limit: doubt up to which it is read well.
        is_new: the face was not there before; what is known ahead is enough then, or as long a time
            as gaps are bridged.
    """
    if not _is_dense(run, looks, time_s, limit):
        return False
    if run.last.index < looks[-1].index:
        least_s = FOLLOWING.bridged_s if is_new else FOLLOWING.hold_s
        return run.last.time_s - time_s >= least_s - SLACK_S
    followed_s = run.last.time_s - max(run.first.time_s, lost_s)
    return is_new or followed_s >= FOLLOWING.hold_s - SLACK_S


def _is_dense(run: Run, looks: Sequence[Look], time_s: float, limit: float) -> bool:
    """Whether the face is read well in enough of the next frames, or of the last ones known."""
    first_s = max(run.first.time_s, min(time_s, run.last.time_s - FOLLOWING.hold_s)) - SLACK_S
    last_s = min(run.last.time_s, first_s + FOLLOWING.hold_s + 2 * SLACK_S)
    well = [look.doubt <= limit for look in looks if first_s <= look.time_s <= last_s]
    return sum(well) >= FOLLOWING.least_read * len(well)


def is_behind(looks: Sequence[Look], index: int) -> bool:
    """Whether something is in front of the face in a frame, and not in that frame alone: noise.

    Args:
        looks: all of the face, in order.
        index: of the frame.
    """
    place = bisect_left(looks, index, key=attrgetter("index"))
    if place == len(looks) or looks[place].index != index or not looks[place].is_hidden:
        return False
    beside = [*looks[max(place - 1, 0) : place], *looks[place + 1 : place + 2]]
    return len(beside) < 2 or any(look.is_hidden for look in beside)
