"""Pictures that come and go take no fresh pages from the system."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.unit,
    pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="mallopt is glibc's"),
]

_PICTURES = """
import resource, sys
import numpy as np
from stream import allocator
if sys.argv[1]:
    assert getattr(allocator, sys.argv[1])()
def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(50):
        pictures = [np.ones((500, 500, 3), np.float32) for _ in range(4)]
        del pictures
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
faults()
print(faults())
"""


def faults(settings: str) -> int:
    """Pages that 50 rounds of four pictures took from the system, in a process of its own."""
    told = subprocess.run(
        [sys.executable, "-c", _PICTURES, settings], capture_output=True, text=True, check=True
    )
    return int(told.stdout)


def test_freed_pictures_serve_the_next_ones() -> None:
    assert faults("keep_memory_warm") < 0.05 * faults("")


def test_a_service_gives_pictures_back() -> None:
    assert faults("keep_memory_flat") > 0.5 * 50 * 4 * 3_000_000 / 4096
