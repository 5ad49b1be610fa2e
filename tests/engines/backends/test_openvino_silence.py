"""Nothing is told to the maker of the runtime: nobody asked, and machines have no way out."""

import pytest

from tests.engines.backends.programs import ran

pytestmark = pytest.mark.unit

_PROGRAM = """
import sys
from engines.backends.openvino import OpenVino
OpenVino()
print([name for name in sys.modules if "telemetry" in name])
"""


def test_loading_the_runtime_loads_nothing_that_reports_it() -> None:
    """The planted fault: importing OpenVINO started a process that called a server of its maker."""
    done = ran(_PROGRAM)
    assert done.stdout.strip() == "[]", done.stderr
