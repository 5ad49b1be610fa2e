"""A stand-in for pycuda, which takes work on the threads alone that have entered its context."""

from __future__ import annotations

import sys
import threading
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest


def installed_driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    """Puts the stand-in in the place of every binding."""
    made = Driver()
    monkeypatch.setitem(sys.modules, "cuda", None)
    monkeypatch.setitem(sys.modules, "cuda.bindings.runtime", None)
    monkeypatch.setitem(sys.modules, "pycuda", ModuleType("pycuda"))
    monkeypatch.setitem(sys.modules, "pycuda.driver", made)
    return made


class Driver(ModuleType):
    """What pycuda offers: a context is on the stack of the thread that pushed it, and no other."""

    def __init__(self) -> None:
        super().__init__("pycuda.driver")
        self.stacks = threading.local()
        self.memory: dict[int, bytes] = {}
        self.live = 0
        self.context = SimpleNamespace(push=self.push, pop=self.pop)

    def init(self) -> None:
        """The driver is there."""

    def Device(self, number: int) -> SimpleNamespace:  # noqa: N802
        return SimpleNamespace(retain_primary_context=lambda: self.context)

    def Stream(self) -> SimpleNamespace:  # noqa: N802
        self.need_context()
        return SimpleNamespace(handle=7, synchronize=self.need_context)

    def mem_alloc(self, nbytes: int) -> Buffer:
        self.need_context()
        return Buffer(self, nbytes)

    def memcpy_htod_async(self, address: int, array: np.ndarray, stream: object) -> None:
        self.need_context()
        self.memory[address] = array.tobytes()

    def memcpy_dtoh_async(self, array: np.ndarray, address: int, stream: object) -> None:
        self.need_context()
        array[...] = np.frombuffer(self.memory[address], array.dtype).reshape(array.shape)

    @property
    def depth(self) -> int:
        return len(getattr(self.stacks, "own", []))

    def push(self) -> None:
        self.stacks.own = [*getattr(self.stacks, "own", []), self.context]

    def pop(self) -> None:
        self.need_context()
        self.stacks.own = self.stacks.own[:-1]

    def need_context(self) -> None:
        if not self.depth:
            raise RuntimeError("invalid device context: none is current on this thread")


class Buffer:
    def __init__(self, driver: Driver, nbytes: int) -> None:
        self.driver = driver
        driver.live += 1

    def __int__(self) -> int:
        return 4096

    def __del__(self) -> None:
        self.driver.live -= bool(self.driver.depth)  # outside of its context it leaks
