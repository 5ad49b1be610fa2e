"""Memory that this process and those it started can see, and that has no name.

Pictures of cameras lie in it. It belongs to no file system, so nothing of it is left when the
processes end, however they do, and no other process can open it.
"""

from __future__ import annotations

import mmap
import os
import sys
import threading
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engines.errors import EngineFault

__all__ = ["MappedBlock", "SharedBlocks", "can_share"]

_LEAST_BYTES: Final = 1 << 16
_MOST_BYTES: Final = 1 << 31
"""All blocks of a process together: two dozen pictures of 8K."""


def can_share() -> bool:
    """Whether this system has memory without a name."""
    return sys.platform == "linux" and hasattr(os, "memfd_create")


@dataclass(frozen=True, slots=True)
class MappedBlock:
    """A block as one process sees it.

    Attributes:
        number: of the block.
        descriptor: of its memory; -1 where it was closed after mapping.
        content: uint8[size], shared.
    """

    number: int
    descriptor: int
    content: NDArray[np.uint8] = field(repr=False)

    @classmethod
    def of(cls, number: int, descriptor: int, size: int) -> MappedBlock:
        """Maps the memory behind a descriptor."""
        return cls(number, descriptor, np.frombuffer(mmap.mmap(descriptor, size), np.uint8))


class SharedBlocks:
    """Blocks that are taken, given back and taken again.

    Args:
        most_bytes: of all blocks together.
    """

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._free: defaultdict[int, list[MappedBlock]] = defaultdict(list)
        self._all: dict[int, MappedBlock] = {}
        self._count = 0
        self._lock = threading.Lock()

    @property
    def numbers(self) -> frozenset[int]:
        """Of all blocks there are."""
        with self._lock:
            return frozenset(self._all)

    def take(self, least_bytes: int) -> MappedBlock:
        """A block of at least this size, of any content.

        Raises:
            EngineFault: there would be too many.
        """
        size = 1 << (max(least_bytes, _LEAST_BYTES) - 1).bit_length()
        with self._lock:
            if self._free[size]:
                return self._free[size].pop()
            if self._bytes() + size > self._most_bytes:
                self._drop_free()
            if self._bytes() + size > self._most_bytes:
                raise EngineFault("too many pictures wait for the processes that draw faces")
            self._count += 1
            return self._made(self._count, size)

    def give_back(self, block: MappedBlock) -> None:
        """Lets others take it; nobody may use it any more."""
        with self._lock:
            if block.number in self._all:
                self._free[block.content.size].append(block)

    def close(self) -> None:
        """Frees all blocks; those in use as soon as nobody looks at them."""
        with self._lock:
            for block in self._all.values():
                os.close(block.descriptor)
            self._all.clear()
            self._free.clear()

    def _bytes(self) -> int:
        return sum(block.content.size for block in self._all.values())

    def _made(self, number: int, size: int) -> MappedBlock:
        descriptor = os.memfd_create("kveil", os.MFD_CLOEXEC)
        try:
            os.ftruncate(descriptor, size)
            block = MappedBlock.of(number, descriptor, size)
        except BaseException:
            os.close(descriptor)
            raise
        self._all[number] = block
        return block

    def _drop_free(self) -> None:
        for block in [one for some in self._free.values() for one in some]:
            os.close(block.descriptor)
            del self._all[block.number]
        self._free.clear()
