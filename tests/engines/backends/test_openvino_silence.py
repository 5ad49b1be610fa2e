"""Nothing is told to the maker of the runtime: nobody asked, and machines have no way out."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit

_PROGRAM = """
import sys
from engines.backends.openvino import OpenVino
OpenVino()
print([name for name in sys.modules if "telemetry" in name])
"""


def test_loading_the_runtime_loads_nothing_that_reports_it() -> None:
    """The planted fault: importing OpenVINO started a process that called a server of its maker."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        cwd=Path(__file__).resolve().parents[3],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.stdout.strip() == "[]", done.stderr
