"""Small arrays are not shared among threads that wait for each other."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.unit

_COUNTED = """
import sys
from stream.cli import main as command
sys.argv = ["kveil", "--version"]
try:
    command.main()
except SystemExit:
    pass
import cv2, os
print(cv2.getNumThreads(), os.environ["OPENBLAS_NUM_THREADS"])
"""


def counted(**told: str) -> list[str]:
    """Threads of OpenCV and of OpenBLAS in a process of the command, given its environment."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("OPEN")}
    done = subprocess.run(
        [sys.executable, "-c", _COUNTED],
        capture_output=True,
        text=True,
        check=True,
        env=kept | told,
    )
    return done.stdout.splitlines()[-1].split()


def test_the_command_keeps_arrays_on_one_thread() -> None:
    assert counted() == ["1", "1"]


def test_what_the_environment_says_stays() -> None:
    told = {"OPENCV_FOR_THREADS_NUM": "2", "OPENBLAS_NUM_THREADS": "3"}

    assert counted(**told) == ["2", "3"]
