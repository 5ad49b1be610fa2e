"""The processes that draw faces: started when they are first needed, replaced when they die."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import psutil

from stream.crew.member import Member
from stream.crew.messages import Hello
from stream.crew.shared_blocks import SharedBlocks, can_share

__all__ = ["FaceCrew", "crew_size", "spare_memory"]

_MOST_MEMBERS: Final = 8
"""As many as the machine is given without being asked; each needs the memory of its networks."""
_MEMBER_BYTES: Final = 1 << 29
"""What one of them may need."""
_GROUPS: Final = Path("/sys/fs/cgroup")
_OWN_GROUP: Final = Path("/proc/self/cgroup")
_MOST_DEATHS: Final = 8
"""Processes that are replaced, in all; a fault that kills them again and again is left alone."""
_START_S: Final = 60.0
_RECORDED_AHEAD: Final = 2
_LIVE_AHEAD: Final = 1
"""Frames that members are given before the first one is completed: with two, they always have
something to do; each delays a stream by a frame."""


def crew_size(wanted: int, cores: int, spare_bytes: int) -> int:
    """How many processes draw faces besides this one; 0 where it draws them all.

    Args:
        wanted: as many; 0 for half of the cores, but two at least where there are two, and no
            more than fit into half of the memory; 1 for this process alone.
        cores: that may be used.
        spare_bytes: memory that may be used.

    >>> spare = 64 << 30
    >>> [crew_size(0, cores, spare) for cores in (1, 2, 4, 8, 64)]
    [0, 2, 2, 4, 8]
    >>> crew_size(1, 64, spare), crew_size(12, 4, spare), crew_size(0, 64, 3 << 30)
    (0, 12, 3)
    """
    if not can_share():
        return 0
    if wanted == 0:
        wanted = min(max(cores // 2, 2), cores, _MOST_MEMBERS, spare_bytes // (2 * _MEMBER_BYTES))
    return 0 if wanted == 1 else wanted


def spare_memory() -> int:
    """Bytes that the machine has to spare, and the control group that this process is in.

    0 where the system does not tell, as in a sandbox without `/proc`: then no process is added.
    """
    try:
        spare = int(psutil.virtual_memory().available)
    except OSError:
        return 0
    try:
        group = _GROUPS / _OWN_GROUP.read_text().strip().rpartition("::")[2].lstrip("/")
        limit, used = ((group / name).read_text() for name in ("memory.max", "memory.current"))
        return min(spare, max(int(limit) - int(used), 0))
    except (OSError, ValueError):  # no such group, or one without a limit
        return spare


class FaceCrew:
    """Members, and the memory that is shared with them; for all streams of a process.

    Args:
        hello: how members open their networks.
        size: how many there are.
        deadline_s: how long an answer may take before its member counts as hung.
        is_patient: `members` waits until all are ready the first time, so that the same input
            is always drawn by the same processes.
        make: starts a member.
    """

    def __init__(
        self,
        hello: Hello,
        size: int,
        deadline_s: float,
        *,
        is_patient: bool,
        make: Callable[[Hello, SharedBlocks], Member] = Member,
    ) -> None:
        self.blocks = SharedBlocks()
        self.deadline_s = deadline_s
        self.size = size
        self.ahead = _RECORDED_AHEAD if is_patient else _LIVE_AHEAD
        self._make = partial(make, hello, self.blocks)
        self._is_patient = is_patient
        self._members: list[Member] = []
        self._deaths = 0
        self._untold = 0
        self._numbers = itertools.count(1)
        self._streams = itertools.count(1)
        self._lock = threading.Lock()

    def number(self) -> int:
        """A number for a request; none is given twice."""
        return next(self._numbers)

    def stream(self) -> int:
        """A number for a stream; none is given twice."""
        return next(self._streams)

    def members(self) -> list[Member]:
        """Those that are ready; starts them, and others in place of those that died."""
        with self._lock:
            if not self._members:
                self._members = [self._make() for _ in range(self.size)]
                if self._is_patient:
                    self._await_all()
            else:
                self._replace_dead()
            return [one for one in self._members if one.is_ready]

    def take(self) -> Member | None:
        """The member that draws the fewest tracks, for one more; None where none is ready."""
        ready = self.members()
        if not ready:
            return None
        with self._lock:
            chosen = min(ready, key=lambda one: one.work)
            chosen.work += 1
            return chosen

    def give_back(self, member: Member) -> None:
        """Told that one track of this member has ended."""
        with self._lock:
            member.work -= 1

    def forget(self, stream: int) -> None:
        """Told that a stream has ended."""
        with self._lock:
            members = list(self._members)
        for member in members:
            member.forget(stream)

    def told(self) -> list[str]:
        """What went wrong since this was last asked, in one line each."""
        with self._lock:
            count, self._untold = self._untold, 0
        if not count:
            return []
        return [f"{count} processes that draw faces died; their faces were covered meanwhile"]

    def close(self) -> None:
        """Ends all members."""
        with self._lock:
            members, self._members, self.size = self._members, [], 0
        for member in members:
            member.kill()
        self.blocks.close()

    def _await_all(self) -> None:
        end_s = time.monotonic() + _START_S
        for member in self._members:
            member.wait_until_ready(max(end_s - time.monotonic(), 0.0))

    def _replace_dead(self) -> None:
        for place, member in enumerate(self._members):
            if member.is_dead and self._deaths < _MOST_DEATHS:
                self._deaths += 1
                self._untold += 1
                self._members[place] = self._make()
