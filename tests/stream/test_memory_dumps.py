"""No file that the system writes of a crash can hold an original face."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.unit,
    pytest.mark.skipif(sys.platform != "linux", reason="asks Linux"),
]

WORDS = """
import ctypes, resource, socket, sys
from stream.cli import main as command
from stream.crew import worker
from stream.live import srt_bridge

library = ctypes.CDLL(None)
one, other = socket.socketpair()
one.close()
sys.argv = ["kveil", "--version"]
for start in (command.main, lambda: worker.main(other.detach()), srt_bridge.main):
    library.prctl(4, 1, 0, 0, 0)
    try:
        start()
    except (SystemExit, ValueError):
        pass
    print(library.prctl(3, 0, 0, 0, 0))
print(resource.getrlimit(resource.RLIMIT_CORE))
"""


def test_every_process_forbids_dumps_of_its_memory() -> None:
    told = subprocess.run(
        [sys.executable, "-c", WORDS], input="", capture_output=True, text=True, check=True
    )
    assert told.stdout.splitlines()[1:] == ["0", "0", "0", "(0, 0)"]
