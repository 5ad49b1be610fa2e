"""A signal finds a stack to run on, in whatever order backends come and go."""

import pytest

from tests.engines.backends.programs import ran

pytestmark = pytest.mark.unit

_PROGRAM = """
import faulthandler, gc, signal
from engines.backends.openvino import OpenVino
faulthandler.enable()
first, second = OpenVino(), OpenVino()
assert first.processor == second.processor
del first
gc.collect()
del second
gc.collect()
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_interruption_after_backends_have_gone_is_no_crash() -> None:
    done = ran(_PROGRAM)
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr
